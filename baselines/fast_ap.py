"""Maximises average precision of distances that are counted in a soft histogram."""

from pytorch_metric_learning.losses import FastAPLoss
from torch import nn

TITLE = "Fast-AP"
SOURCE = "Cakir et al. 2019"
GROUP = "paper"
YEAR = 2019
SAMPLER = "balanced"
PARAMS = {
    "bins": 10  # as in the paper's comparison
}


def build(*, num_classes: int, embedding_dim: int, bins: int) -> nn.Module:
    return FastAPLoss(num_bins=bins)
