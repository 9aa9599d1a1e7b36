"""Cosine similarities between queries and gallery: float32 in blocks, float64 wherever float32 cannot decide.

Every metric reads similarities through here. The answer is that of float64 arithmetic, at about the price of float32:
a comparison that the rounding error of a float32 product could turn is made again with float64 cosines of the embeddings
as they were given. So no result depends on the size of the blocks, on the number of threads or on the device.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import numpy.typing
import torch
from torch import Tensor

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


ROWS = 512  # rows of a block; more make no product faster

T = TypeVar("T")


class Similarities:
    """All pairs of queries and gallery, never held at once."""

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

    def map(self, order: Array, use: Callable[[Block], T], width: int = 0) -> Iterator[tuple[Array, T]]:
        """`use` on blocks of the queries in `order`, again on float64 similarities where it raises Undecided.

        `width` is how many columns of its own `use` makes for a query, to keep within the memory.
        """
        # At worst a row is held in float64, twice more for the next block and once more sorted.
        step = int(np.clip(self._memory // (32 * self.size + 72 * width), 1, ROWS))
        parts = [order[start : start + step] for start in range(0, len(order), step)]
        for rows, block in zip(parts, self._ahead(parts), strict=True):
            try:
                yield rows, use(block)
            except Undecided:
                self._float64 = True
                yield rows, use(self.double_block(rows, buffer=2))  # the next product may be filling another

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

    def reused(self, name: str, like: Array) -> Array:
        """Memory of the shape and type of `like` for the block in use; fresh memory would cost more than its use."""
        return self._reused(name, len(like), like.dtype)

    def _reused(self, name: str, rows: int, dtype: np.typing.DTypeLike) -> Array:
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
    unit = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    given = np.empty(x.shape) if x.dtype == torch.float64 else x.cpu().numpy()
    scale = np.ones(len(x))
    for part in _parts(len(x)):
        row = unit_rows(x[part])
        unit[part] = row.float()
        if x.dtype == torch.float64:
            given[part] = row.cpu().numpy()
        else:
            scale[part] = 1 / np.maximum(np.linalg.norm(given[part].astype(np.float64), axis=1), 1e-300)
    return unit, given, scale


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
