"""Maximises Recall@k for several k at once, with sigmoids for the two steps that count.

For a query q with positives P, r_qx = 1 + Σ_{z ≠ q, x} σ((s_qz − s_qx) / τ₂) is the rank of a positive x, and
    R@k = Σ_{x∈P} σ((k − r_qx) / τ₁) / min(k, |P|),    loss = 1 − mean over k, and over the queries that have a positive.
SiMix adds virtual samples to the batch, queries and positives alike: α f_i + (1 − α) f_j for every pair of a class, α uniform
on (0, 1), not normalised, so that their similarities are mixtures of similarities.

The authors' code differs from the publication, which this file follows: there the query itself stands in its own ranking, so
that k is in effect k − 1; τ₁ is k instead of 1; sums above k are cut to k. The publication's batches of 392 to 4,000 by two
passes over the network are another regime than the 128 of the comparison.
"""

from functools import partial

import torch
from torch import Tensor, nn

from baselines._average_precision import ByQuery

TITLE = "RS@k"
SOURCE = "Patel, Tolias, Matas 2022"
GROUP = "since"
YEAR = 2022
SAMPLER = "balanced"
PARAMS = {
    "ks": "1 2 4 8 16",  # publication, section 4
    "tau1": 1.0,  # τ₁, of the step at k, publication
    "tau2": 0.01,  # τ₂, of the step that ranks, publication
    "simix": 0,  # 1: a virtual sample for each pair of a class
}
SEARCH = {"simix": [0, 1]}  # the publication reports both


def cost(scores: Tensor, rows: Tensor, places: Tensor, ks: list[int], tau1: float, tau2: float) -> Tensor:
    """Sum over queries of 1 − the mean over k of R@k."""
    b, c = places.shape
    places = places[places != rows[:, None]].view(b, c - 1)  # (b, p) without the query
    own = scores.gather(1, places)  # (b, p)
    above = ((scores[:, None, :] - own[:, :, None]) / tau2).sigmoid()  # (b, p, n)
    absent = torch.stack([places, rows[:, None].expand_as(places)], dim=2)  # (b, p, 2) x and q themselves
    rank = 1 + above.scatter(2, absent, 0).sum(dim=2)  # (b, p)
    k = torch.tensor(ks, device=scores.device, dtype=scores.dtype)
    inside = ((k - rank[:, :, None]) / tau1).sigmoid().sum(dim=1)  # (b, k)
    return (1 - (inside / k.clamp(max=c - 1)).mean(dim=1)).sum()


class RecallAtK(nn.Module):
    def __init__(self, ks: str, tau1: float, tau2: float, simix: int, generator: torch.Generator):
        super().__init__()
        self.simix, self.generator = simix, generator
        self.cost = partial(cost, ks=[int(k) for k in ks.split()], tau1=tau1, tau2=tau2)

    def forward(self, f: Tensor, labels: Tensor) -> Tensor:
        if self.simix:
            f, labels = self.mixed(f, labels)
        return ByQuery.apply(f @ f.T, labels, self.cost)

    def mixed(self, f: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        i, j = (labels[:, None] == labels[None, :]).triu(diagonal=1).nonzero().T  # (pairs,)
        alpha = torch.rand(len(i), 1, generator=self.generator, dtype=torch.float64).to(f)
        return torch.cat([f, alpha * f[i] + (1 - alpha) * f[j]]), torch.cat([labels, labels[i]])


def build(*, num_classes: int, embedding_dim: int, generator: torch.Generator, **params) -> nn.Module:
    return RecallAtK(generator=generator, **params)
