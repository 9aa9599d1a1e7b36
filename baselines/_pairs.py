"""Pairs: a sparse n × n matrix as the list of its places (i, j), for the contextual loss on neighbour lists.

A product of two such matrices is a walk i → p → j along two lists (`walks`); a product with a tall dense one is a weighted sum of
its rows (`times`). Used by `_contextual_lists.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

WALKS = 2_000_000  # walks that are listed at a time: bounds memory


@dataclass(frozen=True)
class Pairs:
    """Pairs (i, j), sorted by i."""

    i: Tensor  # (m,)
    j: Tensor  # (m,)
    size: Tensor  # (n,) pairs of each i
    start: Tensor  # (n,) where they begin

    @classmethod
    def of(cls, i: Tensor, j: Tensor, n: int) -> "Pairs":
        size = torch.bincount(i, minlength=n)
        return cls(i, j, size, size.cumsum(0) - size)

    def walks(self, middle: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """All (e, q): entry e of `middle`, and each pair q whose i is middle[e]; in parts that fit in memory."""
        size, start = self.size[middle], self.start[middle]
        end = size.cumsum(0)
        first = 0
        while first < len(middle):
            done = int(end[first - 1]) if first else 0
            last = max(first + 1, int(torch.searchsorted(end, done + WALKS, right=True)))
            part = slice(first, last)
            e = torch.repeat_interleave(size[part])  # (walks,) from 0
            offset = start[part] - (end[part] - size[part] - done)
            yield e + first, torch.arange(len(e), device=e.device) + offset[e]
            first = last

    def times(self, rows: Tensor, weight: Tensor | None = None) -> Tensor:
        """The matrix, with `weight` (m,) or 1 at its places, times `rows` (n, d)."""
        return F.embedding_bag(self.j, rows, self.start, mode="sum", per_sample_weights=weight)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where the pairs of rows first … last − 1 begin and end."""
        end = int(self.start[last]) if last < len(self.start) else len(self.i)
        return int(self.start[first]), end


def at(values: Tensor, index: Tensor) -> Tensor:
    return values.index_select(0, index)  # half the time of values[index]
