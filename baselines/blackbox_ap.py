"""Maximises average precision with exact ranks, whose gradient is read off a second, perturbed ranking.

Positives are handicapped and negatives favoured by half the margin before ranking. (Public code draws the size of the handicap at
random; the publication does not, and nor does this.) The query counts as one of its positives, as for the other AP surrogates.
"""

from functools import partial

import torch
from torch import Tensor, nn

from baselines._average_precision import WithContrast

TITLE = "Blackbox-AP"
SOURCE = "Rolínek et al. 2020"
GROUP = "paper"
YEAR = 2020
SAMPLER = "balanced"
PARAMS = {
    "strength": 4.0,  # λ of black-box differentiation, how far the second ranking is perturbed, as in the paper's comparison
    "margin": 0.02,
    "lam": 1.0,  # weight of the AP term; 1 − lam goes to the contrastive term
    "pos_margin": 0.9,  # δ+ of the contrastive term
    "neg_margin": 0.6,  # δ−
}


class Rank(torch.autograd.Function):
    """Ranks of each row divided by its length, the largest first; backward: how they change along the gradient."""

    @staticmethod
    def forward(ctx, scores: Tensor, strength: float) -> Tensor:
        result = ranks(scores)
        ctx.save_for_backward(scores, result)
        ctx.strength = strength
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad: Tensor):
        scores, result = ctx.saved_tensors
        return (ranks(scores + ctx.strength * grad) - result) / ctx.strength, None


def ranks(scores: Tensor) -> Tensor:
    n = scores.shape[1]
    order = scores.argsort(dim=1, descending=True, stable=True)  # (n, n)
    place = torch.arange(1, n + 1, device=scores.device, dtype=scores.dtype) / n
    return torch.empty_like(scores).scatter_(1, order, place.expand_as(scores))


def blackbox_ap(s: Tensor, labels: Tensor, strength: float, margin: float) -> Tensor:
    same = (labels[:, None] == labels[None, :]).to(s.dtype)  # (n, n)
    rank = Rank.apply(s - margin * (same - 0.5), strength)  # (n, n)
    order = rank.detach().argsort(dim=1)
    above = same.gather(1, order).cumsum(dim=1)  # (n, n) positives up to here, in ranked order
    among = torch.empty_like(above).scatter_(1, order, above) / len(s)  # (n, n) rank among the positives
    return 1 - ((among / rank * same).sum(dim=1) / same.sum(dim=1)).mean()


def build(*, num_classes: int, embedding_dim: int, strength: float, margin: float, **weights) -> nn.Module:
    return WithContrast(partial(blackbox_ap, strength=strength, margin=margin), **weights)
