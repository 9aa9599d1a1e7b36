"""A loss on triplets mined by distance: negatives are drawn so that all distances come up about equally often (Wu et al. 2017).

For `triplet.py` and `margin.py`.
"""

import torch
from pytorch_metric_learning.miners import DistanceWeightedMiner
from torch import Tensor, nn


class DistanceWeighted(nn.Module):
    def __init__(self, loss: nn.Module, cutoff: float, nonzero_loss_cutoff: float, generator: torch.Generator):
        super().__init__()
        self.loss, self.generator = loss, generator
        self.miner = DistanceWeightedMiner(cutoff, nonzero_loss_cutoff)

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
