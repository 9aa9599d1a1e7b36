"""The nearest samples of the gallery, exactly, for re-ranking and for the health of the embedding space.

A list holds all that are as similar as its last member (a tie is never cut by chance), up to `TIED` beyond the number asked for.
"""

from dataclasses import dataclass

import numpy as np

from benchmark.evaluation.checks import embeddings
from benchmark.evaluation.similarity import TIE, Array, Block, Similarities

TIED = 64  # members that ties may add; a collapsed embedding would make lists as long as the gallery


@dataclass(frozen=True)
class Neighbours:
    """Lists of gallery indices, most similar first, equally similar by index; the query itself is not in its list."""

    index: Array  # (queries, longest); padded with the size of the gallery
    cosine: Array  # (queries, longest) float64; padded with -inf
    gallery: int  # its size

    @classmethod
    def empty(cls, queries: int, gallery: int, count: int) -> "Neighbours":
        width = min(count + TIED, gallery)
        return cls(np.full((queries, width), gallery), np.full((queries, width), -np.inf), gallery)

    def set(self, queries: Array, found: "Neighbours") -> None:
        self.index[queries, : found.index.shape[1]] = found.index
        self.cosine[queries, : found.index.shape[1]] = found.cosine

    def cut(self, count: int) -> "Neighbours":
        """The lists up to `count` members, and those as similar as the last of these."""
        last = self.cosine[:, min(count, self.cosine.shape[1]) - 1, None] if count else np.inf
        kept = (self.cosine >= last - TIE) & (self.cosine > -np.inf)
        width = max(int(kept.sum(axis=1).max()), 1)
        kept, index, cosine = kept[:, :width], self.index[:, :width], self.cosine[:, :width]
        return Neighbours(np.where(kept, index, self.gallery), np.where(kept, cosine, -np.inf), self.gallery)


def neighbours(query: object, gallery: object = None, k: int = 10) -> Neighbours:
    """The `k` nearest samples of the gallery to each query, or of the other queries if there is no gallery."""
    q = embeddings(query, "query")
    g = q if gallery is None else embeddings(gallery, "gallery").to(q.device)
    similarities = Similarities(q, g, leave_one_out=gallery is None)
    result = Neighbours.empty(len(q), len(g), k)
    similarities.each(np.arange(len(q)), lambda block: result.set(block.rows, block_neighbours(block, k)))
    return result


def block_neighbours(block: Block, count: int) -> Neighbours:
    size = block.source.size
    count = min(count, size - block.source.leave_one_out)
    if count < 1:
        return Neighbours.empty(len(block.rows), size, 0)
    last = np.array([np.partition(values, -count)[-count] for values in block.values])
    near = [_near(block, row, *bounds, count) for row, bounds in enumerate(zip(*block.window(last), strict=True))]
    lengths = np.array([len(columns) for columns in near])
    block.settles(int((lengths - count).sum()))
    rows, columns = np.repeat(np.arange(len(near)), lengths), np.concatenate(near)
    cosines = block.cosines(rows, columns)
    order = np.lexsort((columns, -cosines, rows))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found = Neighbours.empty(len(near), size, int(lengths.max()))
    found.index[rows, place], found.cosine[rows, place] = columns[order], cosines[order]
    found = found.cut(count)
    return Neighbours(found.index[:, : count + TIED], found.cosine[:, : count + TIED], size)


def _near(block: Block, row: int, low: float, high: float, count: int) -> Array:
    """Columns that may be in the list of a row: too many only in float32, where they are then found in float64."""
    values = block.values[row]
    near = (values >= low).nonzero()[0]
    if block.double and len(near) > count + TIED:
        tied = values[near] <= high + 2 * TIE
        better, tied = near[~tied], near[tied]
        near = np.concatenate([better, tied[: count + TIED - len(better)]])
    return near
