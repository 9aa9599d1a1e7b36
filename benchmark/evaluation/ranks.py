"""Ranks of the positives of each query, by counting: no ranking of the gallery is ever made.

The rank of the j-th best positive is j plus the number of negatives at least as similar: a tie counts against the query,
so an embedding that collapsed to a point scores as badly as it is, whatever the order of the gallery.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from benchmark.evaluation.positives import Positives
from benchmark.evaluation.similarity import TIE, Array, Block

FEW = 10  # positives up to which a pass over the row for each is faster than sorting the row
BELOW = -4.0  # stands for no similarity; lower than any cosine, and finite so that sums with it stay numbers


@dataclass(frozen=True)
class Ranks:
    """Ranks from 1 of the positives of the queries of a block, ascending; the first `counts` of each row are valid."""

    rank: Array  # (queries, most)
    counts: Array  # (queries,)

    def __getitem__(self, row: int) -> Array:
        return self.rank[row, : self.counts[row]]

    def flat(self) -> Array:
        return self.rank[np.arange(self.rank.shape[1]) < self.counts[:, None]]


def block_ranks(block: Block, levels: Sequence[Positives]) -> list[Ranks]:
    """The ranks of the positives of each level."""
    many = max(int(positives.counts[block.rows].max()) for positives in levels) > FEW
    ordered = sorted_rows(block.values) if many else None
    return [_ranks(block, positives, ordered) for positives in levels]


def sorted_rows(values: Array) -> Array:
    """A copy with each row ascending; values alone sort several times faster than values with their indices."""
    ordered = values.copy()
    threads = torch.get_num_threads()
    if threads == 1 or values.size < 1_000_000:
        ordered.sort(axis=1)
        return ordered
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: part.sort(axis=1), np.array_split(ordered, threads)))
    return ordered


def _ranks(block: Block, positives: Positives, ordered: Array | None) -> Ranks:
    counts = positives.counts[block.rows]
    members, own = _best_first(block, positives, max(int(counts.max()), 1))
    margin = block.margin(own)
    low, high = own - margin, own + margin  # outside of these the order is certain
    ascending = own[:, ::-1].copy()
    before = _counted(block.values, ordered, low, counts, "left") - _found(ascending, low, "left")
    if not block.exact:
        most = before
        before = _counted(block.values, ordered, high, counts, "right") - _found(ascending, high, "right")
        doubtful = (before != most) & (np.arange(own.shape[1]) < counts[:, None])
        block.doubt(int((most - before)[doubtful].sum()))
        for row in doubtful.any(axis=1).nonzero()[0]:
            columns = doubtful[row].nonzero()[0]
            bounds = zip(low[row, columns].tolist(), high[row, columns].tolist(), strict=True)
            before[row, columns] += _settled(block, row, positives, members[row, columns], list(bounds))
    before[np.arange(own.shape[1]) >= counts[:, None]] = np.iinfo(np.int64).max // 2
    before.sort(axis=1)
    return Ranks(before + np.arange(1, own.shape[1] + 1), counts)


def _best_first(block: Block, positives: Positives, most: int) -> tuple[Array, Array]:
    """The positives of each query and their similarities, the most similar first, padded to `most`."""
    members, valid = positives.members(block.rows)
    own = np.where(valid, np.take_along_axis(block.values, members, axis=1), block.values.dtype.type(BELOW))
    order = np.argsort(-own, axis=1)[:, :most]
    return np.take_along_axis(members, order, axis=1), np.take_along_axis(own, order, axis=1)


def _found(ascending: Array, thresholds: Array, side: str) -> Array:
    """How many values of each row are at or above ("left") or strictly above ("right") its thresholds."""
    below = torch.searchsorted(torch.from_numpy(ascending), torch.from_numpy(thresholds), side=side)
    return ascending.shape[1] - below.numpy()


def _counted(values: Array, ordered: Array | None, thresholds: Array, counts: Array, side: str) -> Array:
    """The same for rows in any order; only the first `counts` thresholds of a row are looked at."""
    if ordered is not None:
        return _found(ordered, thresholds, side)
    compare = np.greater_equal if side == "left" else np.greater
    mask = np.empty(values.shape[1], dtype=bool)
    result = np.zeros(thresholds.shape, dtype=np.int64)
    for row, (row_thresholds, count) in enumerate(zip(thresholds.tolist(), counts.tolist(), strict=True)):
        row_values = values[row]
        result[row, :count] = [np.count_nonzero(compare(row_values, t, mask)) for t in row_thresholds[:count]]
    return result


def _settled(
    block: Block, row: int, positives: Positives, members: Array, bounds: list[tuple[float, float]]
) -> Array:
    """For some positives of a query, how many of the negatives within their bounds come first by float64 cosines."""
    values = block.values[row]
    near = [((values >= low) & (values <= high)).nonzero()[0] for low, high in bounds]
    columns = np.concatenate(near)
    cosines = block.cosines(row, np.concatenate([members, columns]))
    own, cosines = cosines[: len(members)], cosines[len(members) :]
    positive = np.repeat(np.arange(len(members)), [len(n) for n in near])  # the positive each is compared with
    earlier = (cosines >= own[positive] - TIE) & positives.differs(int(block.rows[row]), columns)
    return np.bincount(positive[earlier], minlength=len(members))
