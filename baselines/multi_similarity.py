"""Weighs every pair by how hard it is among the pairs of its anchor: a soft maximum over positives and over negatives."""

from pytorch_metric_learning.losses import MultiSimilarityLoss
from torch import nn

TITLE = "MS"
SOURCE = "Wang et al. 2019"
GROUP = "paper"
YEAR = 2019
SAMPLER = "balanced"
PARAMS = {
    "alpha": 2.0,  # of positive pairs, as in the paper's comparison
    "beta": 50.0,  # of negative pairs
    "base": 0.5,  # similarity that both are measured from
}


def build(*, num_classes: int, embedding_dim: int, alpha: float, beta: float, base: float) -> nn.Module:
    return MultiSimilarityLoss(alpha=alpha, beta=beta, base=base)
