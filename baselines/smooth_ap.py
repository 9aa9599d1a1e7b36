"""Maximises average precision with a sigmoid for the step that counts who ranks above a positive.

The query counts as one of its positives, as in the code that the paper compares with. (The class of this name in
pytorch-metric-learning is wrong on most batches.)
"""

from functools import partial

import torch
from torch import Tensor, nn

from baselines._average_precision import RankLoss, WithContrast

TITLE = "Smooth-AP"
SOURCE = "Brown et al. 2020"
GROUP = "paper"
YEAR = 2020
SAMPLER = "balanced"
PARAMS = {
    "tau": 0.01,  # temperature of the sigmoid, as in the paper's comparison
    "lam": 1.0,  # weight of the AP term; 1 − lam goes to the contrastive term
    "pos_margin": 0.9,  # δ+ of the contrastive term
    "neg_margin": 0.6,  # δ−
}


def sigmoid(x: Tensor, scratch: Tensor, tau: float) -> tuple[Tensor, Tensor]:
    """σ(x / τ) and its derivative σ (1 − σ) / τ."""
    x.div_(tau).sigmoid_()
    torch.addcmul(x, x, x, value=-1, out=scratch)
    return x, scratch.div_(tau)


def smooth_ap(s: Tensor, labels: Tensor, tau: float) -> Tensor:
    step = partial(sigmoid, tau=tau)
    return RankLoss.apply(s, labels, step, step)


def build(*, num_classes: int, embedding_dim: int, tau: float, **weights) -> nn.Module:
    return WithContrast(partial(smooth_ap, tau=tau), **weights)
