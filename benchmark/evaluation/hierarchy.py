"""H-AP, ASI and NDCG: how well a ranking follows a hierarchy of labels, from the ranks that `ranks.py` finds.

The grade of a sample is the number of levels that it shares with the query: L for the same class, 0 for nothing in common.
H-AP (Ramzi et al. 2022, HAPPIER) gives a sample of grade g the relevance (g/L) / number of samples of that grade; NDCG
has gains 2^g − 1; ASI (Sun et al. 2021) is the mean, over depths up to the number of relevant samples, of the share of
the ideal ranking's grades that the ranking has found.
"""

from collections.abc import Sequence

import numpy as np

from benchmark.evaluation.inputs import Inputs
from benchmark.evaluation.positives import Positives
from benchmark.evaluation.ranks import Ranks

Array = np.ndarray
NAMES = ("H-AP", "ASI", "NDCG")


class Hierarchy:
    """Scores of each query over all levels."""

    def __init__(self, positives: Sequence[Positives]) -> None:
        self._counted = positives[-1].counts > 0
        self._scores = np.zeros((len(self._counted), len(NAMES)))
        longest = int(max(positives[-1].counts.max(), 1))
        self._discount = 1 / np.log2(np.arange(2, len(positives[-1].gallery) + 2))  # at rank 1, 2, …
        self._ideal = np.concatenate([[0.0], np.cumsum(self._discount[:longest])])

    @classmethod
    def of(cls, data: Inputs, positives: Sequence[Positives]) -> "Hierarchy | None":
        """None where the labels are no hierarchy: one level, or a level that does not coarsen the one before."""
        if len(positives) == 1:
            return None
        labels = np.concatenate([y.cpu().numpy() for y in (data.query_labels, data.gallery_labels)])
        for level in range(1, len(positives)):
            pairs = np.unique(labels[:, level - 1 : level + 1], axis=0)
            if len(np.unique(pairs[:, 0])) < len(pairs):
                return None
        return cls(positives)

    def set(self, rows: Array, ranks: Sequence[Ranks]) -> None:
        for row, query in enumerate(rows):
            if ranks[-1].counts[row]:
                self._scores[query] = self._query([of_level[row] for of_level in ranks])

    def means(self) -> dict[str, float]:
        total = self._scores[self._counted].sum(axis=0) / max(int(self._counted.sum()), 1)
        return dict(zip(NAMES, total.tolist(), strict=True))

    def _query(self, ranks: list[Array]) -> tuple[float, float, float]:
        top = len(ranks)  # levels; grade 1 is the coarsest
        rank = ranks[-1]  # of everything relevant, ascending
        grade = np.ones(len(rank), dtype=np.int64)
        for finer in ranks[-2::-1]:
            grade[np.searchsorted(rank, finer)] += 1
        found = np.stack([np.cumsum(grade == g) for g in range(1, top + 1)])  # (grades, relevant)
        total = found[:, -1]
        relevance = np.arange(1, top + 1) / top / np.maximum(total, 1)
        shared = np.minimum(relevance[grade - 1], relevance[:, None])  # (grades, relevant)
        hap = float(((shared * found).sum(0) / rank).sum() / (relevance * total).sum())
        return hap, _set_intersection(rank, found, total), self._ndcg(ranks)

    def _ndcg(self, ranks: list[Array]) -> float:
        # A sample of grade g is a positive of g levels, and 2^g − 1 = 1 + 2 + … + 2^(g−1): sum over levels.
        gains = [2.0 ** (len(ranks) - 1 - level) for level in range(len(ranks))]
        found = sum(g * float(self._discount[r - 1].sum()) for g, r in zip(gains, ranks, strict=True))
        return found / sum(g * float(self._ideal[len(r)]) for g, r in zip(gains, ranks, strict=True))


def _set_intersection(rank: Array, found: Array, total: Array) -> float:
    depth = np.arange(1, len(rank) + 1)
    reached = np.searchsorted(rank, depth, side="right")  # relevant samples within each depth
    have = np.concatenate([np.zeros((len(found), 1), dtype=found.dtype), found], axis=1)[:, reached]
    better = np.cumsum(total[::-1])[::-1] - total  # samples of a higher grade come first in the ideal ranking
    ideal = np.clip(depth - better[:, None], 0, total[:, None])
    return float((np.minimum(have, ideal).sum(0) / depth).mean())
