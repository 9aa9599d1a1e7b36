"""What the ranks of its positives say about each query: first rank, average precision, average precision at R.

Filled block by block from `ranks.py`, turned into the means that a table prints by `means`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.evaluation.ranks import Ranks

Array = np.ndarray


@dataclass(frozen=True)
class Scores:
    """One level of the labels; queries without a positive are left out of every mean."""

    first: Array  # (queries,) rank of the best positive
    average_precision: Array  # (queries,)
    average_precision_at_r: Array  # (queries,)
    positives: Array  # (queries,) how many there are in the gallery

    @classmethod
    def empty(cls, positives: Array) -> "Scores":
        n = len(positives)
        return cls(np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n), positives)

    def set(self, queries: Array, ranks: Ranks) -> None:
        queries, count = queries[ranks.counts > 0], ranks.counts[ranks.counts > 0]
        if not len(queries):
            return
        rank = ranks.flat()
        start = np.cumsum(count) - count
        place = np.arange(1, len(rank) + 1) - np.repeat(start, count)  # among the positives
        precision = place / rank
        r = self.positives[queries]
        self.first[queries] = rank[start]
        self.average_precision[queries] = np.add.reduceat(precision, start) / r
        precision[rank > np.repeat(r, count)] = 0
        self.average_precision_at_r[queries] = np.add.reduceat(precision, start) / r

    def means(self, ks: Sequence[int]) -> dict[str, float]:
        counted = self.positives > 0
        total = int(counted.sum())
        share = max(total, 1)  # with no query to count every mean is 0, never NaN
        result: dict[str, float] = {f"R@{k}": int((self.first[counted] <= k).sum()) / share for k in ks}
        result["mAP"] = float(self.average_precision[counted].sum()) / share
        result["mAP@R"] = float(self.average_precision_at_r[counted].sum()) / share
        return result | {"queries": total, "excluded": len(counted) - total}
