"""The contrastive term that the contextual loss and the AP surrogates are combined with.

The same function as `contrastive.py` (pytorch-metric-learning's ContrastiveLoss on cosines), written on the similarity matrix
that those losses already have, because lists of all n² pairs do not fit large batches.
"""

import torch
from torch import Tensor


def contrastive(s: Tensor, labels: Tensor, pos_margin: float, neg_margin: float) -> Tensor:
    """Mean of (δ+ − s)₊ over violating positive pairs plus mean of (s − δ−)₊ over violating negative pairs."""
    same = labels[:, None] == labels[None, :]  # (n, n)
    below = torch.where(same.fill_diagonal_(False), pos_margin - s, 0).clamp(min=0)  # (n, n)
    above = torch.where(labels[:, None] != labels[None, :], s - neg_margin, 0).clamp(min=0)  # (n, n)
    return _mean_of_positive(below) + _mean_of_positive(above)


def _mean_of_positive(x: Tensor) -> Tensor:
    return x.sum() / (x > 0).sum().clamp(min=1)
