"""Maximises average precision through an upper bound of the rank that keeps its gradient, with a contrastive term.

SupAP counts positives with the exact step, without gradient, and a negative that is above by x with
    σ(x / τ)         for x ≤ 0
    ½ + σ(x / τ)     for 0 < x ≤ δ
    ρ x + offset     beyond: however wrong the rank, the gradient does not vanish
"""

from functools import partial

import torch
from torch import Tensor, nn

from baselines._average_precision import RankLoss, WithContrast

TITLE = "Roadmap"
SOURCE = "Ramzi et al. 2021"
GROUP = "paper"
YEAR = 2021
SAMPLER = "balanced"
PARAMS = {
    "tau": 0.01,  # τ, as in the paper's comparison, like the rest
    "delta": 0.05,  # δ
    "rho": 100.0,  # ρ
    "offset": 1.44,
    "lam": 0.5,  # weight of SupAP; 1 − lam goes to the contrastive term
    "pos_margin": 0.9,  # δ+ of the contrastive term
    "neg_margin": 0.6,  # δ−
}


def step(x: Tensor, scratch: Tensor) -> tuple[Tensor, Tensor]:
    return x.ge_(0), scratch.zero_()


def bound(x: Tensor, scratch: Tensor, tau: float, delta: float, rho: float, offset: float) -> tuple[Tensor, Tensor]:
    sigma = torch.div(x, tau, out=scratch).sigmoid_()
    slope = torch.addcmul(sigma, sigma, sigma, value=-1).div_(tau)
    far, value = x > delta, sigma.add_(x > 0, alpha=0.5)
    torch.where(far, x.mul_(rho).add_(offset), value, out=value)
    return value, slope.masked_fill_(far, rho)


def sup_ap(s: Tensor, labels: Tensor, tau: float, delta: float, rho: float, offset: float) -> Tensor:
    return RankLoss.apply(s, labels, step, partial(bound, tau=tau, delta=delta, rho=rho, offset=offset))


def build(
    *, num_classes: int, embedding_dim: int, tau: float, delta: float, rho: float, offset: float, **weights: float
) -> nn.Module:
    return WithContrast(partial(sup_ap, tau=tau, delta=delta, rho=rho, offset=offset), **weights)
