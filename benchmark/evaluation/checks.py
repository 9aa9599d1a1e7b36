"""Embeddings and labels as evaluation needs them, or an error that says what is wrong with them.

Everything public in this package passes its arguments through `checked` first: arrays or tensors, any float type, labels
of one level (n,) or of several (n, levels), finest first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmark.errors import UserError


@dataclass(frozen=True)
class Checked:
    query: Tensor  # (n, d), as given
    gallery: Tensor  # (m, d); the same object as `query` when each sample is searched among the others
    query_labels: Tensor  # (n, levels) int64
    gallery_labels: Tensor  # (m, levels) int64
    leave_one_out: bool
    levels: tuple[str, ...]  # what the keys of the result end in; ("",) for labels of one level

    def taken(self, order: Tensor) -> "Checked":
        """The set in another order, where it is searched within itself."""
        x, y = self.query[order], self.query_labels[order]
        return Checked(x, x, y, y, True, self.levels)

    def key(self, metric: str, level: int) -> str:
        return f"{metric}/{self.levels[level]}" if self.levels[level] else metric


def checked(
    query: object,
    query_labels: object,
    gallery: object = None,
    gallery_labels: object = None,
    levels: Sequence[str] | None = None,
) -> Checked:
    """The arguments as tensors on one device, or a UserError."""
    if (gallery is None) != (gallery_labels is None):
        raise UserError("give both gallery and gallery_labels, or neither for leave-one-out within the query set")
    q = embeddings(query, "query")
    q_labels, flat = labels(query_labels, len(q), "query", q.device)
    if gallery is None:
        return Checked(q, q, q_labels, q_labels, True, _names(levels, q_labels.shape[1], flat))
    g = embeddings(gallery, "gallery").to(q.device)
    if g.shape[1] != q.shape[1]:
        raise UserError(
            f"query embeddings have {q.shape[1]} dimensions, gallery embeddings {g.shape[1]}: give the same"
        )
    g_labels, _ = labels(gallery_labels, len(g), "gallery", q.device)
    if g_labels.shape[1] != q_labels.shape[1]:
        raise UserError(
            f"query labels have {q_labels.shape[1]} levels, gallery labels {g_labels.shape[1]}: give the same"
        )
    return Checked(q, g, q_labels, g_labels, False, _names(levels, q_labels.shape[1], flat))


def embeddings(given: object, name: str = "query") -> Tensor:
    """`given` as a finite float tensor of shape (n, d) without gradient."""
    try:
        x = given.detach() if isinstance(given, Tensor) else _tensor(np.asarray(given))
    except (TypeError, ValueError) as error:
        raise UserError(f"{name} embeddings must be an array of numbers of shape (n, d): {error}") from None
    if x.ndim != 2:
        raise UserError(f"{name} embeddings have shape {tuple(x.shape)}; expected (n, d)")
    if x.shape[0] == 0 or x.shape[1] == 0:
        raise UserError(f"{name} embeddings are empty (shape {tuple(x.shape)}); expected at least one row and column")
    if x.is_complex() or x.dtype == torch.bool:
        raise UserError(f"{name} embeddings have type {x.dtype}; expected real numbers")
    if not x.is_floating_point():
        x = x.double()
    if not bool(torch.isfinite(x).all()):
        bad = int((~torch.isfinite(x)).any(dim=1).nonzero()[0])
        count = int((~torch.isfinite(x)).any(dim=1).sum())
        raise UserError(f"{name} embeddings hold NaN or infinity in {count} of {len(x)} rows (first: row {bad})")
    return x


def labels(given: object, n: int, name: str, device: torch.device) -> tuple[Tensor, bool]:
    """Labels as int64 of shape (n, levels), and whether they were given flat."""
    try:
        y = given.detach() if isinstance(given, Tensor) else _tensor(np.asarray(given))
    except (TypeError, ValueError):
        raise UserError(f"{name} labels are not integers; encode classes as 0, 1, 2, …") from None
    if y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        raise UserError(f"{name} labels have type {y.dtype}; expected integers: encode classes as 0, 1, 2, …")
    flat = y.ndim == 1
    y = y.unsqueeze(1) if flat else y
    if y.ndim != 2 or y.shape[1] == 0:
        raise UserError(f"{name} labels have shape {tuple(y.shape)}; expected (n,) or (n, levels), finest first")
    if len(y) != n:
        raise UserError(f"{n} {name} embeddings but {len(y)} {name} labels: give one label for each embedding")
    return y.to(device=device, dtype=torch.int64), flat


def positive_integers(name: str, given: Sequence[int]) -> tuple[int, ...]:
    if not all(isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1 for k in given):
        raise UserError(f"{name} = {tuple(given)!r}: expected integers from 1 on, such as (1, 10, 100)")
    return tuple(int(k) for k in given)


def _tensor(array: np.ndarray) -> Tensor:
    if array.dtype.kind in "iu":
        array = array.astype(np.int64)  # torch has not all unsigned types
    # A copy where torch could not share the memory: read-only, strided backwards or of foreign byte order.
    return torch.from_numpy(np.require(array, array.dtype.newbyteorder("="), ["C", "W"]))


def _names(levels: Sequence[str] | None, count: int, flat: bool) -> tuple[str, ...]:
    if flat:
        return ("",)
    names = tuple(map(str, levels if levels is not None else range(count)))
    if len(names) != count or len(set(names)) != count:
        raise UserError(f"levels = {names!r}: expected {count} different names, one for each column of the labels")
    return names
