"""DIML: the nearest by cosine, ranked again by how well the parts of two images match (Zhao et al., ICCV 2021).

An image is a grid of cells of its feature map, each embedded like the pooled map: unit vectors aᵢ, and the pooled embedding
ā. The structural similarity of two images is Σᵢⱼ Tᵢⱼ sᵢⱼ with sᵢⱼ = ⟨aᵢ, bⱼ⟩ and T the entropic optimal transport plan of cost
1 − s, ε = 0.05, by 100 Sinkhorn steps. Its marginals are cross-correlations: the weight of aᵢ is max(0, ⟨aᵢ, b̄⟩), that of bⱼ
max(0, ⟨bⱼ, ā⟩), each divided by their sum. The K nearest by cosine (and those as near as the last of them) are ordered by
structural similarity plus cosine; what lies behind them stays. No training: any network whose maps are at hand.

Source: the authors' code (github.com/wl-zhao/DIML, utilities/diml.py and evaluation/eval_diml.py). Where it is not what the
definition says, the definition is followed:
- K means K: the code orders the nearest max(K) and cuts at K after that, so smaller K saw candidates that are not theirs.
- Every pair has its 100 steps. The code stops when the scaling factors of all candidates of a query change by less than 0.1
  on average: that depends on the unit of the factors, and one pair's value on the others. Steps cost little here.
- Weights sum to 1. The code divides by their sum + 1e-5, so that no plan has both marginals.
Cases that the definition leaves open: where no cell of an image correlates with the other image (its weights would be 0/0, as
for a map of zeros), its cells weigh alike; a cell of zeros has similarity 0 to all; a query with 64 or more behind its K-th
that are as near (a collapsed embedding) is left as it was, since which of them are candidates would be chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmark.errors import UserError
from benchmark.evaluation.checks import Checked, embeddings
from benchmark.evaluation.neighbours import TIED, Neighbours
from benchmark.evaluation.rerank import Reranking
from benchmark.evaluation.similarity import TIE, Array, unit_rows

EPS = 0.05  # of the entropic regularisation
STEPS = 100  # of Sinkhorn
LEAST_EPS = 0.01  # below, exp(−2 / ε) and what it is divided into leave the range of float64
VALUES = 2**20  # similarities of cells that are worked on at a time


@dataclass(frozen=True)
class Maps:
    """The cells of queries and gallery: (n, cells, d), any length; without a gallery, as the embeddings they belong to."""

    query: object
    gallery: object = None
    eps: float = EPS
    steps: int = STEPS

    def rerankings(self, lists: Neighbours, data: Checked, ks: Sequence[int]) -> Iterator[Reranking]:
        """The neighbour lists with their new scores, for each K; `lists` hold the largest K at least."""
        if not self.eps >= LEAST_EPS or self.steps < 1:
            raise UserError(
                f"eps = {self.eps!r}, steps = {self.steps!r}: expected eps from {LEAST_EPS} and steps from 1 on"
            )
        if (self.gallery is None) != data.leave_one_out:
            raise UserError("give cells of the gallery where there is a gallery, and only there: Maps(query, gallery)")
        query = _Side.of(self.query, data.query, "query")
        gallery = query if data.leave_one_out else _Side.of(self.gallery, data.gallery, "gallery")
        cuts = [lists.cut(k) for k in ks]
        inside = [_candidates(cut, k) for cut, k in zip(cuts, ks, strict=True)]
        wanted = np.zeros(lists.cosine.shape, dtype=bool)
        for some in inside:
            wanted[:, : some.shape[1]] |= some
        score = self._scores(lists, wanted, query, gallery)
        for cut, some in zip(cuts, inside, strict=True):
            yield Reranking(cut, some, score[:, : some.shape[1]])

    def _scores(self, lists: Neighbours, wanted: Array, query: "_Side", gallery: "_Side") -> Array:
        """Structural similarity plus cosine of those that are wanted, (queries, longest), a few queries at a time."""
        score = np.full(wanted.shape, -np.inf)
        pairs = max(1, VALUES // (query.cells.shape[1] * gallery.cells.shape[1]))
        rows = np.flatnonzero(wanted.any(axis=1))
        counts = wanted[rows].sum(axis=1)
        blocks = (np.cumsum(counts) - counts) // pairs
        for some in np.split(rows, np.flatnonzero(np.diff(blocks)) + 1) if len(rows) else []:
            parts = [_compared(query, gallery, int(row), lists.index[row, wanted[row]]) for row in some]
            s, u, v = (torch.cat(part) for part in zip(*parts, strict=True))
            found = (transport(s, u, v, self.eps, self.steps) * s).sum(dim=(1, 2))
            row, place = np.nonzero(wanted[some])
            score[some[row], place] = found.numpy() + lists.cosine[some[row], place]
        return score


@dataclass(frozen=True)
class _Side:
    cells: Tensor  # (n, cells, d) as given
    scale: Tensor  # (n, cells) float64: what makes them unit length; 0 for a cell of zeros
    center: Tensor  # (n, d) float64 unit rows: the pooled embeddings

    @classmethod
    def of(cls, given: object, pooled: Tensor, name: str) -> "_Side":
        cells = given if isinstance(given, Tensor) else torch.from_numpy(np.asarray(given))
        n, d = pooled.shape
        if cells.ndim != 3 or cells.shape[0] != n or cells.shape[1] == 0 or cells.shape[2] != d:
            raise UserError(
                f"{name} cells have shape {tuple(cells.shape)}; expected ({n}, cells, {d}), as the embeddings"
            )
        flat = embeddings(cells.reshape(-1, d), f"{name} cell").cpu()
        if flat.dtype == torch.float64:
            flat = unit_rows(flat)
        norm = torch.cat([part.double().norm(dim=1) for part in flat.split(2**16)])
        scale = torch.where(norm > 0, 1 / norm, 0.0)
        return cls(flat.view(cells.shape), scale.view(cells.shape[:2]), unit_rows(pooled).cpu())


def _candidates(cut: Neighbours, k: int) -> Array:
    """Which members of lists cut at K are ranked again: all, but for lists that ties made too long to know them all."""
    inside = cut.cosine > -np.inf
    return inside & (inside.sum(axis=1, keepdims=True) < k + TIED)


def _compared(query: _Side, gallery: _Side, row: int, index: Array) -> tuple[Tensor, Tensor, Tensor]:
    """Of a query and some of the gallery: similarities of cells (pairs, cells, cells), and the weights of both grids."""
    which = torch.from_numpy(index)
    own, others = query.cells[row].double(), gallery.cells[which].double()  # (cells, d), (pairs, cells, d)
    own = own * query.scale[row, :, None]
    scale = gallery.scale[which]  # (pairs, cells)
    s = (own @ others.flatten(0, 1).T).view(len(own), *scale.shape).transpose(0, 1) * scale[:, None, :]
    u = gallery.center[which] @ own.T  # (pairs, cells)
    v = (others @ query.center[row]) * scale
    return s, _marginal(u), _marginal(v)


def _marginal(correlation: Tensor) -> Tensor:
    """Weights (n, cells) that sum to 1: the positive part of a correlation, or all alike where it has none."""
    weight = torch.where(correlation > TIE, correlation, 0.0)
    total = weight.sum(dim=1, keepdim=True)
    return torch.where(total > 0, weight / total.clamp_min(TIE), 1 / weight.shape[1])


def transport(s: Tensor, u: Tensor, v: Tensor, eps: float = EPS, steps: int = STEPS) -> Tensor:
    """The plans (n, a, b) of cost 1 − s with marginals u (n, a) and v (n, b): of these, v holds after every step."""
    kernel = torch.exp((s - 1) / eps)
    turned = kernel.transpose(1, 2).contiguous()
    c = torch.ones_like(v)
    for _ in range(steps):
        r = u / torch.bmm(kernel, c.unsqueeze(2)).squeeze(2)
        c = v / torch.bmm(turned, r.unsqueeze(2)).squeeze(2)
    return r.unsqueeze(2) * kernel * c.unsqueeze(1)
