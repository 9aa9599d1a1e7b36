"""Ranks by how many levels of the label hierarchy a sample shares with the query: hierarchical average precision.

A sample that shares g of L levels with the query has the relevance r = (g / L)^α / number of such samples. With H-rank(p) the sum
of min(r_j, r_p) over the samples j above p, p included, H-AP = Σ_p H-rank(p) / rank(p) / Σ r. Samples of fewer levels above p
count in its rank by the bound of `roadmap.py`, the others by the exact step, without gradient, as in H-rank. Added to it is a
cluster term, the softmax of `normalized_softmax.py` over the classes of the finest level:
    L = (1 − λ) (1 − H-AP) + λ L_cluster.

As the official code, which continues the bound beyond δ at ρ (x − δ) + offset; the paper's Roadmap does without − δ. A data set
with one level has Roadmap's AP. The query is one of its relevant samples; queries without another are left out.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from baselines import normalized_softmax
from baselines._average_precision import ByQuery
from baselines._loss import Seen
from baselines._proxies import ProxyLoss

TITLE = "HAPPIER"
SOURCE = "Ramzi et al. 2022"
GROUP = "since"
YEAR = 2022
SAMPLER = "balanced"
PROXIES = True
NEEDS = ("levels",)
PARAMS = {
    "tau": 0.01,  # τ, official code, like the rest
    "delta": 0.05,  # δ
    "rho": 100.0,  # ρ
    "offset": 1.44,
    "alpha": 1.0,  # α, how much finer levels weigh
    "lam": 0.1,  # λ, weight of the cluster term
    "temperature": 0.05,  # of the cluster term
}
SEARCH = {"lam": {"low": 0.1, "high": 0.5}}  # the official code has configurations for both ends


def bound(x: Tensor, tau: float, delta: float, rho: float, offset: float) -> Tensor:
    near = torch.sigmoid(x / tau) + 0.5 * (x > 0)
    return torch.where(x > delta, rho * (x - delta) + offset, near)


def cost(scores: Tensor, rows: Tensor, places: Tensor, grades: Tensor, alpha: float, **constants) -> Tensor:
    """Sum over queries of 1 − H-AP. scores (b, n); places (b, c) of what shares a level with the query."""
    grade = grades[rows]  # (b, n)
    counts = torch.zeros(len(rows), int(grades.max()) + 1, device=scores.device, dtype=scores.dtype)
    counts.scatter_add_(1, grade, torch.ones_like(scores))
    relevance = (grade.to(scores.dtype) / grades.max()) ** alpha / counts.gather(1, grade)  # (b, n)
    own, own_grade, own_relevance = (t.gather(1, places)[:, :, None] for t in (scores, grade, relevance))
    x = scores[:, None, :] - own  # (b, c, n)
    above = (x >= 0).to(x.dtype)
    step = torch.where(grade[:, None, :] < own_grade, bound(x, **constants), above)
    itself = places[:, :, None]
    rank = 1 + step.scatter(2, itself, 0).sum(dim=2)  # (b, c)
    shared = (above * torch.minimum(relevance[:, None, :], own_relevance)).scatter(2, itself, 0).sum(dim=2)
    hap = ((own_relevance[:, :, 0] + shared) / rank).sum(dim=1) / relevance.sum(dim=1)
    return (1 - hap).sum()


class Happier(nn.Module):
    def __init__(self, cluster: nn.Module, lam: float, **constants: Any):
        super().__init__()
        self.cluster, self.lam, self.constants = cluster, lam, constants
        self.parts: dict[str, Tensor] = {}

    def forward(self, f: Tensor, rows: Tensor, seen: Seen) -> Tensor:
        levels = seen.levels
        grades = (levels[:, None, :] == levels[None, :, :]).sum(dim=2)  # (n, n)
        ap = ByQuery.apply(f @ f.T, levels[:, -1], partial(cost, grades=grades, **self.constants))
        cluster = self.cluster(f, rows)
        self.parts = {"ap": ap.detach(), "cluster": cluster.detach()}
        return (1 - self.lam) * ap + self.lam * cluster


def build(
    *, num_classes: int, embedding_dim: int, generator: torch.Generator, temperature: float, **params: float
) -> nn.Module:
    size = {"num_classes": num_classes, "embedding_dim": embedding_dim}
    cluster = normalized_softmax.build(**size, temperature=temperature, generator=generator).loss
    return ProxyLoss(Happier(cluster, **params), num_classes)
