"""Pulls positives below a distance β and pushes negatives above it, by a margin, on triplets mined by distance.

    Σ over mined (a, p, n) of (d_ap − β + α)₊ + (β − d_an + α)₊, divided by the number of terms that are not 0,

with d the Euclidean distance of unit embeddings and negatives drawn by distance as for `triplet.py`. The publication also
learns β (one number, one a class or one a sample); as a proxy it would learn at 100 times the rate of the network, so here it
is fixed, as in the library, and searched.
"""

import torch
from pytorch_metric_learning.losses import MarginLoss
from torch import nn

from baselines._distance_weighted import DistanceWeighted

TITLE = "Margin"
SOURCE = "Wu et al. 2017"
GROUP = "since"
YEAR = 2017
SAMPLER = "balanced"
PARAMS = {
    "margin": 0.2,  # α, publication
    "beta": 1.2,  # β, publication: its initial value
    "cutoff": 0.5,  # distances below count as this, publication
    "nonzero_loss_cutoff": 1.4,  # negatives farther away are never drawn, publication
}
SEARCH = {"beta": {"low": 0.6, "high": 1.2}}  # Roth et al. 2020 use 0.6 and 1.2


def build(
    *, num_classes: int, embedding_dim: int, margin: float, beta: float, generator: torch.Generator, **cutoffs: float
) -> nn.Module:
    return DistanceWeighted(MarginLoss(margin=margin, beta=beta), generator=generator, **cutoffs)
