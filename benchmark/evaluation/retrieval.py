"""Recall@k, mAP and mAP@R (appendix I.3), at every level of the labels, in one pass over the similarities.

Called by the trainer at the end of a run and by `python -m benchmark evaluate`. Exact at any size: blocked over queries,
with ranks from counts (`ranks.py`) of similarities that are as good as float64 (`similarity.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.evaluation.hierarchy import Hierarchy
from benchmark.evaluation.inputs import Inputs, checked, recall_ks
from benchmark.evaluation.positives import Positives
from benchmark.evaluation.ranks import Ranks, block_ranks
from benchmark.evaluation.similarity import Array, Similarities


@dataclass(frozen=True)
class Scores:
    """What the ranks of its positives say about each query, at one level."""

    first: Array  # (queries,) rank of the best positive
    average_precision: Array  # (queries,)
    average_precision_at_r: Array  # (queries,)
    positives: Array  # (queries,) their number; queries with none are left out of every mean

    @classmethod
    def empty(cls, positives: Array) -> "Scores":
        n = len(positives)
        return cls(np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n), positives)

    def set(self, rows: Array, ranks: Ranks) -> None:
        rows, count = rows[ranks.counts > 0], ranks.counts[ranks.counts > 0]
        if not len(rows):
            return
        rank = ranks.flat()
        start = np.cumsum(count) - count
        place = np.arange(1, len(rank) + 1) - np.repeat(start, count)  # among the positives
        precision = place / rank
        self.first[rows] = rank[start]
        self.average_precision[rows] = np.add.reduceat(precision, start) / count
        precision[rank > np.repeat(count, count)] = 0
        self.average_precision_at_r[rows] = np.add.reduceat(precision, start) / count

    def means(self, ks: Sequence[int]) -> dict[str, float]:
        counted = self.positives > 0
        total = int(counted.sum())
        share = max(total, 1)  # with no query to count every mean is 0, never NaN
        result: dict[str, float] = {f"R@{k}": int((self.first[counted] <= k).sum()) / share for k in ks}
        result["mAP"] = float(self.average_precision[counted].sum()) / share
        result["mAP@R"] = float(self.average_precision_at_r[counted].sum()) / share
        return result | {"queries": total, "excluded": len(counted) - total}


def retrieval_metrics(
    query: object,
    query_labels: object,
    gallery: object = None,
    gallery_labels: object = None,
    ks: Sequence[int] = (1, 2, 4, 8),
    *,
    levels: Sequence[str] | None = None,
    memory_mb: int = 512,
) -> dict[str, float]:
    """R@k, mAP and mAP@R by cosine similarity, as fractions, with the number of queries they are means of.

    Without a gallery each sample is searched among all others. Labels are integers, (n,) or (n, levels) with the finest first;
    with several levels the keys end in "/0", "/1", … or in the names given as `levels`, and where each level is a coarsening
    of the one before, "H-AP", "ASI" and "NDCG" are added. A tie (cosines within 1e-12) counts against the query. Queries
    without a positive in the gallery are left out of the means and counted as "excluded".
    """
    ks = recall_ks(ks)
    data = checked(query, query_labels, gallery, gallery_labels, levels)
    similarities = Similarities(data.query, data.gallery, data.leave_one_out, memory_mb)
    positives = [Positives.of(data, level) for level in range(len(data.levels))]
    scores = [Scores.empty(p.counts) for p in positives]
    hierarchy = Hierarchy.of(data, positives)
    for rows, ranks in similarities.map(_by_positives(positives), lambda block: block_ranks(block, positives)):
        for of_level, found in zip(scores, ranks, strict=True):
            of_level.set(rows, found)
        if hierarchy is not None:
            hierarchy.set(rows, ranks)
    return _named(data, scores, ks) | ({} if hierarchy is None else hierarchy.means())


def _by_positives(positives: Sequence[Positives]) -> Array:
    """Queries that have a positive, those with few first: then a block either counts or sorts, not both."""
    most = np.max([p.counts for p in positives], axis=0)
    order = np.argsort(most, kind="stable")
    return order[most[order] > 0]


def _named(data: Inputs, scores: Sequence[Scores], ks: Sequence[int]) -> dict[str, float]:
    return {
        data.key(name, level): value
        for level, of_level in enumerate(scores)
        for name, value in of_level.means(ks).items()
    }
