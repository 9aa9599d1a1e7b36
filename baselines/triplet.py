"""Makes each negative farther than each positive by a margin, on triplets mined by distance.

Triplet margin loss on normalised Euclidean distances; negatives are drawn so that all distances come up about equally often.
"""

import torch
from pytorch_metric_learning.losses import TripletMarginLoss
from torch import nn

from baselines._distance_weighted import DistanceWeighted

TITLE = "Triplet"
SOURCE = "Weinberger, Blitzer, Saul 2005; distance-weighted mining: Wu et al. 2017"
GROUP = "paper"
YEAR = 2005
SAMPLER = "balanced"
PARAMS = {
    "margin": 0.05,  # on normalised L2, as in the paper's comparison
    "cutoff": 0.5,  # distances below count as this
    "nonzero_loss_cutoff": 1.4,  # negatives farther away are never drawn
}


def build(
    *, num_classes: int, embedding_dim: int, margin: float, generator: torch.Generator, **cutoffs: float
) -> nn.Module:
    return DistanceWeighted(TripletMarginLoss(margin=margin), generator=generator, **cutoffs)
