"""Which samples share a query's label, their ranks, and the scores that follow: one level of the labels at a time.

The rank of the j-th best positive is j plus the number of negatives at least as similar: a tie counts against the query,
so an embedding that collapsed to a point scores as badly as it is, whatever the order of the gallery.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from benchmark.evaluation.checks import Checked
from benchmark.evaluation.similarity import TIE, Array, Block


@dataclass(frozen=True)
class Positives:
    query: Array  # (queries,) labels
    gallery: Array  # (gallery,) labels
    order: Array  # (gallery,) indices sorted by label
    start: Array  # (queries,) where the query's label begins in `order`
    stop: Array  # (queries,) and where it ends
    counts: Array  # (queries,) number of positives, the query itself not counted
    leave_one_out: bool

    @classmethod
    def of(cls, data: Checked, level: int) -> "Positives":
        query, gallery = (y[:, level].cpu().numpy() for y in (data.query_labels, data.gallery_labels))
        order = np.argsort(gallery, kind="stable")
        ranked = gallery[order]
        start, stop = (np.searchsorted(ranked, query, side=side) for side in ("left", "right"))
        return cls(query, gallery, order, start, stop, stop - start - data.leave_one_out, data.leave_one_out)

    def members(self, queries: Array) -> tuple[Array, Array]:
        """Gallery indices of the positives, (queries, most), and which of them are: not padding, not the query."""
        width = max(int((self.stop - self.start)[queries].max()), 1)
        place = self.start[queries, None] + np.arange(width)
        found = self.order[np.minimum(place, len(self.order) - 1)]
        valid = place < self.stop[queries, None]
        return found, valid & (found != queries[:, None]) if self.leave_one_out else valid


FEW = 10  # positives up to which a pass over the row for each is faster than sorting the row
NEVER = 2**62  # negatives before what is no positive
BELOW = -4.0  # stands for no similarity; lower than any cosine, and finite so that sums with it stay numbers
SETTLED = 2**16  # similarities as good as equal, in a part of a block, that are worth a cosine each


@dataclass(frozen=True)
class Ranks:
    """Ranks from 1 of the positives of some queries, one query after the other, ascending within each."""

    rank: Array  # (positives,)
    counts: Array  # (queries,)

    @classmethod
    def of_rows(cls, before: Array, counts: Array) -> "Ranks":
        """From the number of negatives before each of the first `counts` positives of a row, in any order."""
        place = np.arange(before.shape[1])
        valid = place < counts[:, None]
        return cls((np.sort(before, axis=1) + place + 1)[valid], counts)

    @classmethod
    def of_hits(cls, hit: Array, counts: Array) -> "Ranks":
        """From positives (True) and negatives in the order of the ranking."""
        row = np.arange(len(hit)) * hit.shape[1] - 1
        return cls(np.flatnonzero(hit) - np.repeat(row, counts), counts)


def hits(block: Block, levels: Sequence[Positives]) -> Array:
    """The labels that the samples share with queries of equal labels, in the order of the ranking: bit l for level l.

    One sort of a row serves all levels: of whole numbers that hold the similarity and, in their last bits, the shared labels.
    """
    bits, alone = len(levels), block.source.leave_one_out
    same = np.zeros(block.source.size, np.min_scalar_type(2**bits - 1))
    for level, positives in enumerate(levels):
        same |= (positives.query[block.rows[0]] == positives.gallery).astype(same.dtype) << level
    own = np.arange(len(block.rows)), block.rows
    gap = block.values.max() - block.values
    if alone:
        gap[own] = 0
    unit = max(float(gap.max()) / (2 ** (31 - bits) - 2), 4 * TIE)
    gap *= 1 / unit
    key = gap.astype(np.int32)
    key <<= bits
    key |= same
    if alone:
        key[own] = np.iinfo(np.int32).max
    ranked = np.sort(key, axis=1)[:, : key.shape[1] - alone]
    found = (ranked & (2**bits - 1)).astype(same.dtype)
    _settle(block, bits, same, key, ranked, found)
    return found


def _settle(block: Block, bits: int, same: Array, key: Array, ranked: Array, found: Array) -> None:
    """Puts similarities that are less than two units apart in the order of their float64 cosines, ties against the query."""
    width = ranked.shape[1]
    near = np.zeros(ranked.shape, dtype=bool)  # to the one before
    np.less(ranked[:, 1:] - ranked[:, :-1], 2 << bits, out=near[:, 1:])
    grouped = near.copy()
    grouped[:, :-1] |= near[:, 1:]
    place = np.flatnonzero(grouped)
    first = ~near.ravel()[place]  # of its group
    start = np.flatnonzero(first)
    if not len(place):
        return
    shared = found.ravel()[place]
    mixed = np.maximum.reduceat(shared, start) != np.minimum.reduceat(shared, start)
    place = place[np.repeat(mixed, np.diff(start, append=len(place)))]
    if not len(place):
        return
    first = ~near.ravel()[place]
    group, edge = np.cumsum(first), np.flatnonzero(first)
    row = place // width
    if len(edge) <= 4 * len(key):  # look for the few, or sort once more for the many
        least = ranked.ravel()[place[edge]]
        most = ranked.ravel()[place[np.append(edge[1:], len(place)) - 1]]
        keys = key[row[edge]]  # (groups, gallery)
        column = np.nonzero((keys >= least[:, None]) & (keys <= most[:, None]))[1]
    else:
        column = np.argsort(key, axis=1)[row, place - row * width]
    cosine = block.cosines(row, column) if len(row) <= SETTLED else block.values[row, column]
    settled = np.zeros(len(place), found.dtype)
    for level in range(bits):
        hit = same[column] >> level & 1
        settled |= hit[np.lexsort((hit, TIE * hit - cosine, group))] << level
    found.ravel()[place] = settled


def counted_ranks(block: Block, positives: Positives) -> Ranks:
    """The ranks of few positives, by a pass over the row for each."""
    counts = positives.counts[block.rows]
    members, own = _best_first(block, positives, max(int(counts.max()), 1))
    low, high = block.window(own)
    ascending = own[:, ::-1].copy()
    before = _counted(block.values, high, counts, np.greater) - _found(ascending, high, "right")
    most = _counted(block.values, low, counts, np.greater_equal) - _found(ascending, low, "left")
    valid = np.arange(own.shape[1]) < counts[:, None]
    doubtful = (before != most) & valid
    if block.settles(int((most - before)[doubtful].sum())):
        rows = doubtful.nonzero()[0]
        before[doubtful] += _settled(block, positives, rows, members[doubtful], low[doubtful], high[doubtful])
    before[~valid] = NEVER
    return Ranks.of_rows(before, counts)


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


def _counted(values: Array, thresholds: Array, counts: Array, compare: np.ufunc) -> Array:
    """The same for rows in any order; only the first `counts` thresholds of a row are looked at."""
    mask = np.empty(values.shape[1], dtype=bool)
    result = np.zeros(thresholds.shape, dtype=np.int64)
    for row, (row_thresholds, count) in enumerate(zip(thresholds.tolist(), counts.tolist(), strict=True)):
        row_values = values[row]
        result[row, :count] = [np.count_nonzero(compare(row_values, t, mask)) for t in row_thresholds[:count]]
    return result


def _settled(block: Block, positives: Positives, rows: Array, members: Array, low: Array, high: Array) -> Array:
    """For some positives, how many of the negatives between low and high come first by their float64 cosines."""
    near = []
    for row, least, most in zip(rows, low.tolist(), high.tolist(), strict=True):
        values = block.values[row]
        near.append(((values >= least) & (values <= most)).nonzero()[0])
    columns = np.concatenate([np.empty(0, dtype=np.int64), *near])
    positive = np.repeat(np.arange(len(rows)), [len(n) for n in near])  # the positive each is compared with
    other = positives.gallery[columns] != positives.query[block.rows[rows[positive]]]
    columns, positive = columns[other], positive[other]
    own, cosines = block.cosines(rows, members), block.cosines(rows[positive], columns)
    return np.bincount(positive[cosines >= own[positive] - TIE], minlength=len(rows))


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
        rank = ranks.rank
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
