"""Pulls positive pairs above one cosine similarity and pushes negative pairs below another.

Mean of (δ+ − s)₊ over violating positive pairs plus mean of (s − δ−)₊ over violating negative pairs.
"""

from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.losses import ContrastiveLoss
from torch import nn

TITLE = "Contrastive"
SOURCE = "Hadsell, Chopra, LeCun 2006"
GROUP = "paper"
YEAR = 2006
SAMPLER = "balanced"
PARAMS = {
    "pos_margin": 0.9,  # δ+, paper, note on the contrastive loss
    "neg_margin": 0.6,  # δ−, the same
}


def build(*, num_classes: int, embedding_dim: int, pos_margin: float, neg_margin: float) -> nn.Module:
    return ContrastiveLoss(pos_margin=pos_margin, neg_margin=neg_margin, distance=CosineSimilarity())
