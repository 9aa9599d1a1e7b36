"""H-AP, ASI and NDCG: how well a ranking follows a hierarchy of labels, from the ranks that `ranks.py` finds.

The grade of a sample is the number of levels that it shares with the query: L for the same class, 0 for nothing in common.
H-AP (Ramzi et al. 2022, HAPPIER) gives a sample of grade g the relevance (g/L) / number of samples of that grade; NDCG
has gains 2^g − 1; ASI (Sun et al. 2021) is the mean, over depths up to the number of relevant samples, of the share of
the ideal ranking's grades that the ranking has found.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from benchmark.evaluation.checks import Checked
from benchmark.evaluation.ranks import Positives, Ranks
from benchmark.evaluation.similarity import Array

NAMES = ("H-AP", "ASI", "NDCG")


class Hierarchy:
    """Scores of each query over all levels."""

    def __init__(self, positives: Sequence[Positives]) -> None:
        self._counts = np.stack([p.counts for p in positives])  # (levels, queries)
        self._scores = np.zeros((self._counts.shape[1], len(NAMES)))
        longest = int(max(self._counts.max(), 1))
        self._gain = 2.0 ** np.arange(len(positives) + 1) - 1  # of grade 0, 1, …
        self._discount = 1 / np.log2(np.arange(2, len(positives[-1].gallery) + 2))  # at rank 1, 2, …
        self._ideal = np.concatenate([[0.0], np.cumsum(self._discount[:longest])])

    @classmethod
    def of(cls, data: Checked, positives: Sequence[Positives]) -> "Hierarchy | None":
        """None where the labels are no hierarchy: one level, or a level that does not coarsen the one before."""
        if len(positives) == 1:
            return None
        labels = np.concatenate([y.cpu().numpy() for y in (data.query_labels, data.gallery_labels)])
        for level in range(1, len(positives)):
            pairs = np.unique(labels[:, level - 1 : level + 1], axis=0)
            if len(np.unique(pairs[:, 0])) < len(pairs):
                return None
        return cls(positives)

    def set(self, rows: Array, found: Array, relevant: Ranks) -> None:
        """The scores of queries of equal labels, from what `hits` found and the ranks of the positives of the coarsest level."""
        levels, counts = len(self._counts), self._counts[:, rows[0]].tolist()
        count = counts[-1]
        if count == 0:
            return
        # Samples of grade 1, 2, … and how many of them are reached at each rank: those of a level without those of the finer.
        total = np.array([*(coarse - fine for coarse, fine in pairwise(counts[::-1])), counts[0]])
        reached = [np.cumsum((found >> level) & 1, axis=1, dtype=np.int32) for level in range(levels)]
        reached = [*(coarse - fine for coarse, fine in pairwise(reached[::-1])), reached[0]]
        start = np.arange(len(rows)) * count
        place = relevant.rank + np.repeat(np.arange(len(rows)) * found.shape[1] - 1, count)
        grade = np.bitwise_count(found.take(place)).astype(np.intp)
        self._scores[rows, 0] = _hap(relevant.rank, grade, total, [r.take(place) for r in reached], start)
        self._scores[rows, 1] = np.add.reduceat(_set_intersection(total, reached).ravel(), start) / count
        gained = np.add.reduceat(self._gain.take(grade) * self._discount.take(relevant.rank - 1), start)
        # 2^g − 1 = 1 + 2 + … + 2^(g−1), and a sample of grade g is a positive of the g coarsest levels.
        gains = 2.0 ** np.arange(levels - 1, -1, -1)
        self._scores[rows, 2] = gained / (gains * self._ideal[counts]).sum()

    def means(self) -> dict[str, float]:
        counted = self._counts[-1] > 0
        total = self._scores[counted].sum(axis=0) / max(int(counted.sum()), 1)
        return dict(zip(NAMES, total.tolist(), strict=True))


def _hap(rank: Array, grade: Array, total: Array, within: list[Array], start: Array) -> Array:
    """H-AP of each query: the mean over relevant samples of min(relevance, relevance) with all before, by rank."""
    grades = np.arange(1, len(total) + 1)
    relevance = grades / len(total) / np.maximum(total, 1)
    shared = np.zeros(len(rank))
    for own, reached in zip(relevance, within, strict=True):
        shared += np.append(0, np.minimum(relevance, own)).take(grade) * reached
    return np.add.reduceat(shared / rank, start) / (relevance * total).sum()


def _set_intersection(total: Array, reached: list[Array]) -> Array:
    """The share of the ideal ranking that is found within each depth up to the number of relevant samples."""
    depth = np.arange(1, total.sum() + 1, dtype=np.int32)
    common = np.zeros((len(reached[0]), len(depth)), dtype=np.int32)
    for g, of_grade in enumerate(reached):
        better = total[g + 1 :].sum()  # samples of a higher grade come first in the ideal ranking
        common += np.minimum(of_grade[:, : len(depth)], np.clip(depth - better, 0, total[g]).astype(np.int32))
    return common / depth.astype(np.float64)
