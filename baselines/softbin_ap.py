"""Maximises average precision of similarities that are counted in soft bins, from the most similar bin down.

Each similarity is shared linearly between the two nearest of the bin centres, which span [−1, 1] evenly. The query counts as
one of its positives, as for the other AP surrogates.
"""

from functools import partial

import torch
from torch import Tensor, nn

from baselines._average_precision import WithContrast

TITLE = "Softbin-AP"
SOURCE = "Revaud et al. 2019"
GROUP = "paper"
YEAR = 2019
SAMPLER = "balanced"
PARAMS = {
    "bins": 20,  # as in the paper's comparison
    "lam": 1.0,  # weight of the AP term; 1 − lam goes to the contrastive term
    "pos_margin": 0.9,  # δ+ of the contrastive term
    "neg_margin": 0.6,  # δ−
}


def softbin_ap(s: Tensor, labels: Tensor, bins: int) -> Tensor:
    same = (labels[:, None] == labels[None, :]).to(s.dtype)  # (n, n)
    place = ((1 - s) * ((bins - 1) / 2)).clamp(0, bins - 1)  # (n, n) in bins, from the most similar
    lower = place.detach().nan_to_num().floor().clamp(max=bins - 2)
    share = place - lower  # (n, n) of the bin below; 1 − share of the bin above
    lower = lower.long()

    def counts(weight: Tensor | float) -> Tensor:
        empty = s.new_zeros(len(s), bins)
        return empty.scatter_add(1, lower, (1 - share) * weight).scatter_add(1, lower + 1, share * weight)

    every, right = counts(1.0), counts(same)  # (n, bins)
    precision = right.cumsum(dim=1) / every.cumsum(dim=1).clamp(min=torch.finfo(s.dtype).eps)
    return 1 - ((precision * right).sum(dim=1) / same.sum(dim=1)).mean()


def build(*, num_classes: int, embedding_dim: int, bins: int, **weights) -> nn.Module:
    return WithContrast(partial(softbin_ap, bins=bins), **weights)
