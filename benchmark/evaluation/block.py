"""Similarities of some queries to the whole gallery, and what their rounding errors leave undecided.

Made by `similarity.py`, read by everything that ranks: `ranks.py`, `neighbours.py`, `recall.py`.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from benchmark.evaluation.similarity import Similarities

Array = np.ndarray

TIE = 1e-12  # float64 cosines that differ by at most this are equal: far above their error, far below float32 input
UNDECIDED = 1 / 256  # share of doubtful comparisons above which float64 for the whole block is cheaper


class Undecided(Exception):
    """Too many comparisons within the rounding error of float32: the block has to be done in float64."""


class Block:
    """Similarities of some queries to the whole gallery; -inf for the query itself in leave-one-out."""

    def __init__(self, source: "Similarities", rows: Array, values: Array) -> None:
        self.source = source
        self.rows = rows  # (rows,) indices of the queries
        self.values = values  # (rows, gallery) float32, or float64 where float32 left too much undecided
        self.double = values.dtype == np.float64
        self._doubts = values.size * UNDECIDED
        self._ordered: Array | None = None

    @property
    def is_ordered(self) -> bool:
        return self._ordered is not None

    @property
    def ordered(self) -> Array:
        """The values with each row ascending: without their indices they sort several times faster."""
        if self._ordered is None:
            self._ordered = self.source.reused("ordered", self.values)
            self._ordered[:] = self.values
            threads = torch.get_num_threads()
            if threads == 1 or self.values.size < 1_000_000:
                self._ordered.sort(axis=1)
            else:
                with ThreadPoolExecutor(threads) as pool:
                    list(pool.map(lambda part: part.sort(axis=1), np.array_split(self._ordered, threads)))
        return self._ordered

    def window(self, values: Array) -> tuple[Array, Array]:
        """What lies below the first is certainly less similar than `values`, above the second at least as similar."""
        if self.double:
            center, unit = values - TIE, 2.0**-53
        else:
            center, unit = values, 2.0**-24
        # A sum of d products is rounded d times, at partial sums of at most (1 + |sum|) / 2 for unit vectors. This is at least
        # 1.4 times what was seen over random, clustered, collapsed, sparse and one-signed embeddings of 2 to 512 dimensions.
        margin = values.dtype.type(unit * (6 + self.source.dimensions**0.5)) * (1 + np.abs(values))
        return center - margin, center + margin

    def cosines(self, rows: Array, columns: Array) -> Array:
        """Float64 cosines of pairs: the query in a row of the block, and a sample of the gallery."""
        return self.source.cosines(self.rows[rows], columns)

    def settles(self, comparisons: int) -> bool:
        """Whether so many more doubtful comparisons are worth making one by one; in float32 there is float64 instead."""
        self._doubts -= comparisons
        if self._doubts < 0 and not self.double:
            raise Undecided
        return self._doubts >= 0
