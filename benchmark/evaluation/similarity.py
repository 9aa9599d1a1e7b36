"""Cosine similarities between queries and gallery: float32 in blocks, float64 wherever float32 cannot decide.

Every metric reads similarities through here. The answer is that of float64 arithmetic, at about the price of float32:
a comparison that the rounding error of a float32 product could turn is made again with float64 cosines of the embeddings
as they were given. So no result depends on the size of the blocks, on the number of threads or on the device.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

TIE = 1e-12  # float64 cosines that differ by at most this are equal: far above their error, far below float32 input
UNDECIDED = 1 / 64  # share of doubtful comparisons above which float64 for the whole block is cheaper
ROWS = 512  # rows of a block; more make no product faster

Array = np.ndarray
T = TypeVar("T")


class Undecided(Exception):
    """Too many comparisons within the rounding error of float32: the block has to be done in float64."""


class Block:
    """Similarities of some queries to the whole gallery; -inf for the query itself in leave-one-out."""

    def __init__(self, source: "Similarities", rows: Array, values: Array, exact: bool) -> None:
        self.source, self.rows, self.values, self.exact = source, rows, values, exact  # values: (rows, gallery)
        self._doubts = values.size * UNDECIDED

    def cosines(self, row: int, columns: Array) -> Array:
        """Float64 cosines of the query in `row` of the block to some of the gallery."""
        if self.exact:
            return self.values[row, columns]
        return self.source.cosines(int(self.rows[row]), columns)

    def margin(self, values: Array) -> Array:
        """How far apart two similarities near `values` have to be for their order to be certain."""
        if self.exact:
            return np.full_like(values, TIE)
        # Errors of both grow with the partial sums, which start near 0 and end at the value. At least 1.5 times the largest
        # error seen over random, clustered, collapsed and one-signed embeddings of 2 to 2,048 dimensions.
        unit = np.float32(2.0**-24 * (6 + self.source.dimensions**0.5))
        return unit * (1 + np.abs(values))

    def doubt(self, comparisons: int) -> None:
        """Note comparisons that will be settled one by one; raises once the whole block in float64 is cheaper."""
        self._doubts -= comparisons
        if self._doubts < 0 and not self.exact:
            raise Undecided


class Similarities:
    """All pairs of queries and gallery, never held at once."""

    def __init__(self, query: Tensor, gallery: Tensor, leave_one_out: bool, memory_mb: int = 512) -> None:
        self.leave_one_out = leave_one_out
        self.dimensions = query.shape[1]
        self.size = len(gallery)
        self._query32, self._query, self._query_scale = _prepared(query)
        same = query is gallery
        self._gallery32, self._gallery, self._gallery_scale = (
            (self._query32, self._query, self._query_scale) if same else _prepared(gallery)
        )
        # A row needs its similarities, a sorted copy and a comparison mask, in float64 at worst.
        self.rows = int(np.clip(memory_mb * 2**20 // (20 * self.size), 1, ROWS))
        self._buffer = torch.empty(0)
        self._float64 = False  # a block was undecided: later ones go to float64 at once

    def map(self, order: Array, use: Callable[[Block], T]) -> Iterator[tuple[Array, T]]:
        """`use` on blocks of the queries in `order`, again on float64 similarities where it raises Undecided."""
        for start in range(0, len(order), self.rows):
            rows = order[start : start + self.rows]
            result = None
            if not self._float64:
                try:
                    result = use(self.block(rows))
                except Undecided:
                    self._float64 = True
            yield rows, use(self.exact_block(rows)) if result is None else result

    def block(self, rows: Array) -> Block:
        with _full_precision(self._query32.device):
            query = self._query32[torch.from_numpy(rows).to(self._query32.device)]
            if query.device.type == "cpu":
                if len(self._buffer) < len(rows):  # fresh memory for every block costs more than the sums on it
                    self._buffer = torch.empty(len(rows), self.size)
                values = torch.mm(query, self._gallery32.T, out=self._buffer[: len(rows)]).numpy()
            else:
                values = (query @ self._gallery32.T).cpu().numpy()
        return self._without_self(Block(self, rows, values, exact=False))

    def exact_block(self, rows: Array) -> Block:
        query = torch.from_numpy(self._query[rows].astype(np.float64) * self._query_scale[rows, None])
        values = torch.empty(len(rows), self.size, dtype=torch.float64)
        for part in _parts(self.size):  # so that the gallery is never held in float64
            gallery = self._gallery[part].astype(np.float64) * self._gallery_scale[part, None]
            values[:, part] = query @ torch.from_numpy(gallery).T
        return self._without_self(Block(self, rows, values.numpy(), exact=True))

    def cosines(self, query: int, columns: Array) -> Array:
        q = self._query[query].astype(np.float64) * self._query_scale[query]
        return (self._gallery[columns].astype(np.float64) @ q) * self._gallery_scale[columns]

    def _without_self(self, block: Block) -> Block:
        if self.leave_one_out:
            block.values[np.arange(len(block.rows)), block.rows] = -np.inf
        return block


def _prepared(x: Tensor) -> tuple[Tensor, Array, Array]:
    """Unit rows in float32 on the device of `x`; the rows as given on the CPU, and what makes these unit length."""
    if x.dtype == torch.bfloat16:
        x = x.float()  # numpy has no bfloat16
    unit = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    given = x.cpu().numpy()
    given = np.empty_like(given) if x.dtype == torch.float64 else given
    scale = np.ones(len(x))
    for part in _parts(len(x)):
        row = x[part].double()
        row = row / row.abs().amax(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)  # no overflow
        row = torch.nn.functional.normalize(row, dim=1)  # a zero row stays zero: cosine 0 to everything
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
