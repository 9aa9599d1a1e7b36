"""H-AP, ASI and NDCG: how well a ranking follows a hierarchy of labels, from the ranks that `ranks.py` finds.

The grade of a sample is the number of levels that it shares with the query: L for the same class, 0 for nothing in common.
H-AP (Ramzi et al. 2022, HAPPIER) gives a sample of grade g the relevance (g/L) / number of samples of that grade; NDCG
has gains 2^g − 1; ASI (Sun et al. 2021) is the mean, over depths up to the number of relevant samples, of the share of
the ideal ranking's grades that the ranking has found.
"""

from collections.abc import Sequence

import numpy as np

from benchmark.evaluation.checks import Checked
from benchmark.evaluation.ranks import Positives, Ranks
from benchmark.evaluation.similarity import Array

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

    def set(self, rows: Array, ranks: Sequence[Ranks]) -> None:
        """The scores of the queries of a block, from the ranks of their positives at each level."""
        kept = ranks[-1].counts > 0
        if not kept.any():
            return
        rows, counts = (
            rows[kept],
            np.stack([of_level.counts[kept] for of_level in ranks]),
        )  # (levels, queries)
        rank = ranks[-1].flat()  # of everything relevant, query after query, ascending within each
        count = counts[-1]
        query = np.repeat(np.arange(len(rows)), count)
        start = np.cumsum(count) - count
        grade = np.ones(len(rank), dtype=np.int64)
        for of_level in ranks[:-1]:
            grade[
                _places(query, rank, np.repeat(np.arange(len(rows)), of_level.counts[kept]), of_level.flat())
            ] += 1
        # Samples of grade 1, 2, … of each query: those of a level without those of the finer one.
        total = counts[::-1] - np.concatenate(
            [counts[-2::-1], np.zeros_like(counts[:1])]
        )  # (grades, queries)
        self._scores[rows, 0] = _hap(rank, grade, query, start, total)
        self._scores[rows, 1] = (
            np.add.reduceat(_set_intersection(rank, grade, query, start, total), start) / count
        )
        gained = np.add.reduceat((2.0**grade - 1) * self._discount[rank - 1], start)
        # 2^g − 1 = 1 + 2 + … + 2^(g−1), and a sample of grade g is a positive of the g coarsest levels.
        gains = 2.0 ** np.arange(len(ranks) - 1, -1, -1)
        self._scores[rows, 2] = gained / (gains[:, None] * self._ideal[counts]).sum(axis=0)

    def means(self) -> dict[str, float]:
        total = self._scores[self._counted].sum(axis=0) / max(int(self._counted.sum()), 1)
        return dict(zip(NAMES, total.tolist(), strict=True))


def _places(query: Array, rank: Array, finer_query: Array, finer: Array) -> Array:
    """Where the positives of a finer level stand among those of the coarsest."""
    width = int(rank.max()) + 1
    return np.minimum(np.searchsorted(query * width + rank, finer_query * width + finer), len(rank) - 1)


def _hap(rank: Array, grade: Array, query: Array, start: Array, total: Array) -> Array:
    """H-AP of each query: the mean over relevant samples of min(relevance, relevance) with all before, by rank."""
    grades = np.arange(1, len(total) + 1)
    relevance = grades[:, None] / len(total) / np.maximum(total, 1)  # (grades, queries)
    own = relevance[grade - 1, query]
    shared = np.zeros(len(rank))
    for g in grades:
        shared += np.minimum(own, relevance[g - 1, query]) * _within(grade == g, query, start)
    return np.add.reduceat(shared / rank, start) / (relevance * total).sum(axis=0)


def _set_intersection(rank: Array, grade: Array, query: Array, start: Array, total: Array) -> Array:
    """The share of the ideal ranking that is found within each depth, up to the number of relevant samples."""
    depth = np.arange(1, len(rank) + 1) - start[query]
    common = np.zeros(len(rank), dtype=np.int64)
    for g in range(1, len(total) + 1):
        better = total[g:].sum(axis=0)[query]  # samples of a higher grade come first in the ideal ranking
        reached = np.zeros(len(rank), dtype=bool)
        early = (grade == g) & (rank <= total.sum(axis=0)[query])
        reached[start[query[early]] + rank[early] - 1] = True
        common += np.minimum(_within(reached, query, start), np.clip(depth - better, 0, total[g - 1][query]))
    return common / depth


def _within(mask: Array, query: Array, start: Array) -> Array:
    """How many are set from the first entry of the query up to each entry."""
    count = np.cumsum(mask)
    return count - (count[start] - mask[start])[query]
