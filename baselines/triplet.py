"""Makes each negative farther than each positive by a margin, on triplets mined by distance.

Triplet margin loss on normalised Euclidean distances; negatives are drawn so that all distances come up about equally often.
"""

import torch
from pytorch_metric_learning.losses import TripletMarginLoss
from pytorch_metric_learning.miners import DistanceWeightedMiner
from torch import Tensor, nn

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


class MinedTriplet(nn.Module):
    def __init__(self, margin: float, miner: nn.Module, generator: torch.Generator):
        super().__init__()
        self.loss, self.miner, self.generator = TripletMarginLoss(margin=margin), miner, generator

    def forward(self, f: Tensor, labels: Tensor) -> Tensor:
        return self.loss(f, labels, self.mined(f.detach().cpu(), labels.cpu()))

    def mined(self, f: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
        """Triplets (anchor, positive, negative), always drawn on the CPU so that every device gets the same.

        The miner draws from torch's global generator: for the length of the call this module's generator takes its place.
        """
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.generator.get_state())
            triplets = self.miner(f, labels)
            self.generator.set_state(torch.get_rng_state())
        return triplets


def build(
    *,
    num_classes: int,
    embedding_dim: int,
    margin: float,
    cutoff: float,
    nonzero_loss_cutoff: float,
    generator: torch.Generator,
) -> nn.Module:
    return MinedTriplet(margin, DistanceWeightedMiner(cutoff, nonzero_loss_cutoff), generator)
