"""Hierarchical sampling: half of a batch from one super-label, half from another (the paper's appendix).

At the start of an epoch all samples are arranged into half-batches of one super-label, which are then paired
round-robin. `samplers.py` calls this where a spec says sampler = "hierarchical".
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmark.errors import UserError


@dataclass(frozen=True)
class Epoch:
    """One arrangement of all samples into batches, and what did not go in or went in twice."""

    batches: np.ndarray  # (batches, batch_size) positions
    left_over: int  # samples that could not fill a half-batch of their super-label
    repeated: int  # places filled again, in classes whose size is no multiple of per_class
    unmixed: int  # batches with both halves from one super-label, which had more than all others together


def hierarchical(
    labels: np.ndarray, supers: np.ndarray, batch_size: int, per_class: int, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Endless batches, one arrangement after another; labels, supers: (n,) of the training samples."""
    while True:
        yield from arrange(labels, supers, batch_size, per_class, generator).batches


def arrange(
    labels: np.ndarray, supers: np.ndarray, batch_size: int, per_class: int, generator: np.random.Generator
) -> Epoch:
    half = batch_size // 2
    if half * 2 != batch_size or half % per_class:
        raise UserError(
            f"batch_size = {batch_size} with per_class = {per_class}: each half of a hierarchical batch "
            f"holds whole classes, so batch_size must be a multiple of {2 * per_class}"
        )
    halves: dict[int, list[np.ndarray]] = {}
    for s in np.flatnonzero(np.bincount(supers)).tolist():
        groups = _groups(np.flatnonzero(supers == s), labels, per_class, generator)
        rows = len(groups) // (half // per_class)
        if rows:
            halves[s] = list(groups[: rows * half // per_class].reshape(rows, half))
    if not halves:
        raise UserError(
            f"sampler = 'hierarchical': no super-label fills half of batch_size = {batch_size}; "
            "use a smaller batch_size or sampler = 'balanced'"
        )
    pairs, unmixed = _paired(halves, generator)
    batches = np.stack(pairs)[generator.permutation(len(pairs))]
    used = int(np.count_nonzero(np.bincount(batches.ravel(), minlength=len(labels))))
    return Epoch(batches, left_over=len(labels) - used, repeated=batches.size - used, unmixed=unmixed)


def _groups(
    members: np.ndarray, labels: np.ndarray, per_class: int, generator: np.random.Generator
) -> np.ndarray:
    """All members in groups of `per_class` images of one class, in random order: (groups, per_class).

    The last group of a class is filled up with other images of the class, so that a batch has `per_class` of each.
    """
    members = generator.permutation(members)
    members = members[np.argsort(labels[members], kind="stable")]  # by class, random within
    start = np.flatnonzero(np.diff(labels[members], prepend=-1))
    size = np.diff(start, append=len(members))
    places = -(-size // per_class) * per_class  # rounded up
    first = np.cumsum(places) - places
    within = np.arange(places.sum()) - np.repeat(first, places)
    groups = members[np.repeat(start, places) + within % np.repeat(size, places)].reshape(-1, per_class)
    return groups[generator.permutation(len(groups))]


def _paired(
    halves: dict[int, list[np.ndarray]], generator: np.random.Generator
) -> tuple[list[np.ndarray], int]:
    """Round-robin: each super-label in turn gives a half-batch, and the one with most left gives the other.

    Taking the partner with most left keeps the largest super-label from being left alone while it can be.
    """
    used = {s: list(rows) for s, rows in halves.items()}
    pairs = []
    while len(halves) > 1:
        for s in generator.permutation(sorted(halves)).tolist():
            if s not in halves or len(halves) < 2:
                continue
            partner = max((o for o in halves if o != s), key=lambda o: len(halves[o]))
            pairs.append(np.concatenate([halves[s].pop(), halves[partner].pop()]))
            halves = {k: rows for k, rows in halves.items() if rows}
    mixed = len(pairs)
    for s, rows in halves.items():  # at most one super-label is left
        pairs += [np.concatenate(two) for two in zip(rows[::2], rows[1::2], strict=False)]
        if (
            len(rows) % 2
        ):  # the odd one gets a half-batch that was used already, of another super-label if any
            again = [row for o, given in used.items() if o != s for row in given] or used[s]
            pairs.append(np.concatenate([rows[-1], again[generator.integers(len(again))]]))
            mixed += len(used) > 1
    return pairs, len(pairs) - mixed
