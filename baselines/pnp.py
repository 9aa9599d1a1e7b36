"""Penalises the negatives that stand before a positive, and leaves the order of positives alone.

For a query q and each of its positives p (itself among them), N = Σ_{negatives n} σ((s_qn − s_qp) / τ) counts the negatives
before p. The loss is the mean over p, and over the queries with another positive, of a function of N:
    O: N    Ds: log(1 + N)    Dq: 1 − 1 / (1 + N)^α    Iu: (1 + N) log(1 + N)    Ib: (b N − log(1 + b N)) / b²
The D variants let go of positives that are far down (outliers), the I variants insist on them. The same numbers as the
library's class, which holds all n³ differences: 4 GB at a batch of 1,024, here megabytes.
"""

from functools import partial

from torch import Tensor, nn

from baselines._average_precision import ByQuery
from benchmark.errors import unknown

TITLE = "PNP"
SOURCE = "Li et al. 2022"
GROUP = "since"
YEAR = 2022
SAMPLER = "balanced"
PARAMS = {
    "variant": "Dq",  # the authors' best; O, Ds, Iu, Ib
    "alpha": 4.0,  # α of Dq, README of the authors' code
    "tau": 0.01,  # τ, publication
    "b": 2.0,  # b of Ib, the library's
}
SEARCH = {"alpha": {"low": 1.0, "high": 8.0, "log": True}}
VARIANTS = ("O", "Ds", "Dq", "Iu", "Ib")


def penalty(N: Tensor, variant: str, alpha: float, b: float) -> Tensor:
    if variant == "Ds":
        return N.log1p()
    if variant == "Dq":
        return 1 - (1 + N) ** -alpha
    if variant == "Iu":
        return (1 + N) * N.log1p()
    if variant == "Ib":
        return (b * N - (b * N).log1p()) / b**2
    return N


def cost(scores: Tensor, rows: Tensor, places: Tensor, tau: float, **shape) -> Tensor:
    b, c = places.shape
    own = scores.gather(1, places)  # (b, c)
    before = ((scores[:, None, :] - own[:, :, None]) / tau).sigmoid()  # (b, c, n)
    N = before.scatter(2, places[:, None, :].expand(b, c, c), 0).sum(dim=2)  # (b, c)
    return penalty(N, **shape).mean(dim=1).sum()


class PNP(nn.Module):
    def __init__(self, **params):
        super().__init__()
        if params["variant"] not in VARIANTS:
            raise unknown("variant of pnp", params["variant"], VARIANTS)
        self.cost = partial(cost, **params)

    def forward(self, f: Tensor, labels: Tensor) -> Tensor:
        return ByQuery.apply(f @ f.T, labels, self.cost)


def build(*, num_classes: int, embedding_dim: int, **params) -> nn.Module:
    return PNP(**params)
