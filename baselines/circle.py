"""Pulls and pushes each pair in proportion to its distance from where it should be, in one soft maximum an anchor.

For an anchor with positives s_p and negatives s_n, and margin m,
    L = log( 1 + Σ_n exp(γ α_n (s_n − m)) · Σ_p exp(−γ α_p (s_p − (1 − m))) ),
    α_p = (1 + m − s_p)₊ and α_n = (s_n + m)₊ without gradient,
averaged over the anchors that have both and a loss above 0. γ is called `scale` here, since `gamma` weighs the regulariser.
"""

from pytorch_metric_learning.losses import CircleLoss
from torch import nn

TITLE = "Circle"
SOURCE = "Sun et al. 2020"
GROUP = "since"
YEAR = 2020
SAMPLER = "balanced"
PARAMS = {
    "margin": 0.4,  # m, publication: fine-grained retrieval (0.25 for faces and persons)
    "scale": 80.0,  # γ, publication: fine-grained retrieval (256 for faces, 128 for persons)
}
SEARCH = {"margin": {"low": 0.25, "high": 0.4}}


def build(*, num_classes: int, embedding_dim: int, margin: float, scale: float) -> nn.Module:
    return CircleLoss(m=margin, gamma=scale)
