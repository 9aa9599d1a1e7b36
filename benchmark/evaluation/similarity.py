"""Cosine similarities between queries and gallery: float32 in blocks, float64 wherever float32 cannot decide.

Every metric reads similarities through here. The answer is that of float64 arithmetic, at about the price of float32:
a comparison that the rounding error of a float32 product could turn is made again with float64 cosines of the embeddings
as they were given. So no result depends on the size of the blocks, on the number of threads or on the device.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import numpy.typing
import torch
from torch import Tensor

Array = np.ndarray

TIE = 1e-12  # float64 cosines that differ by at most this are equal: far above their error, far below float32 input
UNDECIDED = 1 / 256  # share of doubtful comparisons above which float64 for the whole block is cheaper
ROWS = 512  # rows of a block; more make no product faster
TILE = (256, 1024)  # rows and columns of a product whose values are used up at once, in the cache
CACHED = 150_000  # values that are worked on at a time where they are passed over often


class Undecided(Exception):
    """Too many comparisons within the rounding error of float32: the block has to be done in float64."""


class Block:
    """Similarities of some queries to the whole gallery; -inf for the query itself in leave-one-out."""

    def __init__(self, source: "Similarities", rows: Array, values: Array) -> None:
        self.source = source
        self.rows = rows  # (rows,) indices of the queries
        self.values = values  # (rows, gallery) float32 or float64
        self.double = values.dtype == np.float64
        self._doubts = values.size * UNDECIDED

    def parts(self, groups: Array) -> Iterator["Block"]:
        """The same in pieces of queries of one group, of which a dozen arrays fit into the cache of a core."""
        for part in _pieces(groups[self.rows], self.source.size):
            yield Block(self.source, self.rows[part], self.values[part])

    def window(self, values: Array) -> tuple[Array, Array]:
        """What lies below the first is certainly less similar than `values`, above the second at least as similar."""
        return self.source.window(values)

    def cosines(self, rows: Array, columns: Array) -> Array:
        """Float64 cosines of pairs: the query in a row of the block, and a sample of the gallery."""
        return self.source.cosines(self.rows[rows], columns)

    def settles(self, comparisons: int) -> bool:
        """Whether so many more doubtful comparisons are worth making one by one; in float32 there is float64 instead."""
        self._doubts -= comparisons
        if self._doubts < 0 and not self.double:
            raise Undecided
        return self._doubts >= 0


class Similarities:
    """All pairs of queries and gallery, held at once only where they fit into the memory."""

    def __init__(self, query: Tensor, gallery: Tensor, leave_one_out: bool, memory_mb: int = 1024) -> None:
        self.leave_one_out = leave_one_out
        self.dimensions = query.shape[1]
        self.size = len(gallery)
        query32, self._query, self._query_scale = _prepared(query)
        gallery32, self._gallery, self._gallery_scale = (
            (query32, self._query, self._query_scale) if query is gallery else _prepared(gallery)
        )
        # Small coordinates first: partial sums, and so their rounding errors, stay small for longest.
        order = (query32.square().sum(0) + gallery32.square().sum(0)).argsort()
        self._query32 = query32[:, order]
        self._gallery32 = self._query32 if query is gallery else gallery32[:, order]
        self._memory = memory_mb * 2**20
        self._kept: dict[str, Array] = {}
        self._float64 = False  # a block was undecided: later ones go to float64 at once

    def each(self, order: Array, use: Callable[[Block], object], width: int = 0, groups: Array | None = None) -> None:
        """`use` on blocks of the queries in `order`, again on float64 similarities where it raises Undecided.

        `width` is how many columns of its own `use` makes for a query, to keep within the memory. With `groups` of the
        queries all is done in float64, once for both of a pair where that fits into the memory.
        """
        fits = self.leave_one_out and 2 * len(order) > self.size and 8 * self.size**2 <= self._memory
        if groups is not None and fits:
            whole = self._whole()
            for part in _pieces(groups[order], self.size):
                use(Block(self, order[part], whole[order[part]]))
            return
        # At worst a row is held in float64, and twice more for the next block.
        step = int(np.clip(self._memory // (32 * self.size + 72 * width), 1, ROWS))
        self._float64 |= groups is not None
        parts = [order[start : start + step] for start in range(0, len(order), step)]
        for rows, block in zip(parts, self._ahead(parts), strict=True):
            try:
                use(block)
            except Undecided:
                self._float64 = True
                use(self.double_block(rows, buffer=2))  # the next product may be filling another

    def _ahead(self, parts: list[Array]) -> Iterator[Block]:
        """The blocks of `parts`, each product made while the block before it is in use."""
        if torch.get_num_threads() == 1 or len(parts) < 2:
            yield from (self._next(rows, 0) for rows in parts)
            return
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(self._next, parts[0], 0)
            for i in range(len(parts)):
                block = coming.result()
                if i + 1 < len(parts):
                    coming = pool.submit(self._next, parts[i + 1], (i + 1) % 2)
                yield block

    def _next(self, rows: Array, buffer: int) -> Block:
        return self.double_block(rows, buffer) if self._float64 else self.block(rows, buffer)

    def _whole(self) -> Array:
        """All similarities of a set with itself in float64, of which only one half is multiplied out."""
        unit = torch.from_numpy(self._query.astype(np.float64) * self._query_scale[:, None])
        values = torch.empty(self.size, self.size, dtype=torch.float64)
        for start in range(0, self.size, ROWS):
            stop = start + ROWS
            torch.mm(unit[start:stop], unit[start:].T, out=values[start:stop, start:])
            values[stop:, start:stop] = values[start:stop, stop:].T
        values.fill_diagonal_(-torch.inf)
        return values.numpy()

    def halves(self) -> Iterator[tuple[slice, slice, Tensor]]:
        """Each pair of a set with itself once: rows, columns from the first of these on, and their float32 similarities."""
        x, (height, width) = self._query32, TILE
        kept = torch.empty(height * width, device=x.device)
        with _full_precision(x.device):
            for start in range(0, self.size, height):
                for first in range(start, self.size, width):
                    rows, columns = x[start : start + height], x[first : first + width]
                    values = kept[: len(rows) * len(columns)].view(len(rows), len(columns))
                    torch.mm(rows, columns.T, out=values)
                    yield slice(start, start + len(rows)), slice(first, first + len(columns)), values

    def block(self, rows: Array, buffer: int = 0) -> Block:
        with _full_precision(self._query32.device):
            query = self._query32[torch.from_numpy(rows).to(self._query32.device)]
            if query.device.type == "cpu":
                values = self._reused(f"product {buffer}", len(rows), np.float32)
                torch.mm(query, self._gallery32.T, out=torch.from_numpy(values))
            else:
                values = (query @ self._gallery32.T).cpu().numpy()
        return self._without_self(Block(self, rows, values))

    def double_block(self, rows: Array, buffer: int = 0) -> Block:
        query = torch.from_numpy(self._query[rows].astype(np.float64) * self._query_scale[rows, None])
        values = self._reused(f"product {buffer}", len(rows), np.float64)
        for part in _parts(self.size):  # so that the gallery is never held in float64
            gallery = self._gallery[part].astype(np.float64) * self._gallery_scale[part, None]
            values[:, part] = (query @ torch.from_numpy(gallery).T).numpy()
        return self._without_self(Block(self, rows, values))

    def window(self, values: Array) -> tuple[Array, Array]:
        if values.dtype == np.float64:
            center, unit = values - TIE, 2.0**-53
        else:
            center, unit = values, 2.0**-24
        # A sum of d products is rounded d times, at partial sums of at most (1 + |sum|) / 2 for unit vectors. This is at least
        # 1.4 times what was seen over random, clustered, collapsed, sparse and one-signed embeddings of 2 to 512 dimensions.
        margin = values.dtype.type(unit * (6 + self.dimensions**0.5)) * (1 + np.abs(values))
        return center - margin, center + margin

    def _reused(self, name: str, rows: int, dtype: np.typing.DTypeLike) -> Array:
        """Memory for the block in use; fresh memory would cost more than its use."""
        kept = self._kept.get(name)
        if kept is None or len(kept) < rows or kept.dtype != dtype:
            kept = self._kept[name] = np.empty((rows, self.size), dtype)
        return kept[:rows]

    def cosines(self, queries: Array, columns: Array) -> Array:
        """Float64 cosines of pairs."""
        result = np.empty(len(queries))
        for part in _parts(len(queries), 256):  # few enough to stay in the cache
            q = self._query[queries[part]].astype(np.float64)
            result[part] = np.einsum("ij,ij->i", q, self._gallery[columns[part]].astype(np.float64))
        return result * self._query_scale[queries] * self._gallery_scale[columns]

    def _without_self(self, block: Block) -> Block:
        if self.leave_one_out:
            block.values[np.arange(len(block.rows)), block.rows] = -np.inf
        return block


def unit_rows(x: Tensor) -> Tensor:
    """The rows in float64 at length 1; a zero row stays zero, which is cosine 0 to everything."""
    row = x.double()
    largest = row.abs().amax(dim=1, keepdim=True)
    row = row / largest.clamp_min(torch.finfo(torch.float64).tiny)  # so that no square overflows
    return torch.nn.functional.normalize(row, dim=1)


def _prepared(x: Tensor) -> tuple[Tensor, Array, Array]:
    """Unit rows in float32 on the device of `x`; the rows as given on the CPU, and what makes these unit length."""
    if x.dtype == torch.bfloat16:
        x = x.float()  # numpy has no bfloat16
    given = np.empty(x.shape) if x.dtype == torch.float64 else x.cpu().numpy()
    unit, scale = np.empty(x.shape, np.float32), np.ones(len(x))
    for part in _parts(len(x)):
        if x.dtype == torch.float64:
            unit[part] = given[part] = unit_rows(x[part]).cpu().numpy()
        else:
            row = given[part].astype(np.float64)
            scale[part] = 1 / np.maximum(np.linalg.norm(row, axis=1), 1e-300)
            unit[part] = row * scale[part, None]
    return torch.from_numpy(unit).to(x.device), given, scale


def _pieces(groups: Array, size: int) -> Iterator[slice]:
    """Runs of one group, of at most CACHED similarities to a gallery of that size."""
    step = max(1, CACHED // size)
    edges = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    for start, stop in pairwise(edges):
        yield from (slice(i, min(i + step, stop)) for i in range(start, stop, step))


def _parts(n: int, size: int = 4096) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@contextmanager
def _full_precision(device: torch.device) -> Iterator[None]:
    """Float32 products in float32, whatever autocast or TensorFloat-32 setting the caller trains with."""
    before = torch.get_float32_matmul_precision()
    if before != "highest":
        torch.set_float32_matmul_precision("highest")
    try:
        with torch.autocast(device.type, enabled=False), torch.no_grad():
            yield
    finally:
        if before != "highest":
            torch.set_float32_matmul_precision(before)
