"""Batches of sample positions, endless and deterministic: shuffled, balanced (k images of each class), hierarchical.

The trainer takes as many batches as an epoch has and goes on where it stopped, so rounds run across epochs.
A run that goes on from a checkpoint replays the batches it has already seen.
"""

from collections.abc import Iterator

import numpy as np

from benchmark.errors import UserError


def batches(
    kind: str,
    labels: np.ndarray,
    supers: np.ndarray | None,
    batch_size: int,
    per_class: int,
    generator: np.random.Generator,
) -> Iterator[np.ndarray]:
    """The endless batches of a run. labels, supers: (n,) class and super-label of each training sample."""
    if len(labels) == 0:
        raise UserError("the training set is empty; give more classes or a larger share")
    if kind == "shuffle":
        return shuffled(len(labels), batch_size, generator)
    if kind == "balanced":
        return balanced(labels, batch_size, per_class, generator)
    if supers is None:
        raise UserError("sampler = 'hierarchical' needs a data set with super-labels; use sampler = 'balanced'")
    return hierarchical(labels, supers, batch_size, per_class, generator)


def shuffled(n: int, batch_size: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Every sample once a pass; a batch may reach into the next pass, so that nothing is dropped."""
    waiting = np.empty(0, dtype=np.int64)
    while True:
        while len(waiting) < batch_size:
            waiting = np.concatenate([waiting, generator.permutation(n)])
        yield waiting[:batch_size]
        waiting = waiting[batch_size:]


def balanced(
    labels: np.ndarray, batch_size: int, per_class: int, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """`per_class` images of each of batch_size / per_class classes.

    Classes come without replacement over a round, images without replacement until their class is used up. With fewer
    classes than a batch has room for, the batch is smaller; a class with fewer than `per_class` images repeats them.
    """
    classes = np.unique(labels)
    members = _members(labels, classes)
    room = min(batch_size // per_class, len(classes))
    if room < 1:
        raise UserError(f"batch_size = {batch_size} holds no class of per_class = {per_class} images")
    left: dict[int, np.ndarray] = {c: np.empty(0, dtype=np.int64) for c in classes}
    round_: np.ndarray = np.empty(0, dtype=classes.dtype)
    while True:
        chosen = round_[:room]
        round_ = round_[room:]
        if len(chosen) < room:  # the next round begins, without a class that is in this batch already
            fresh = generator.permutation(classes)
            taken = np.isin(fresh, chosen)
            more = fresh[~taken][: room - len(chosen)]
            round_ = fresh[~np.isin(fresh, more)]
            chosen = np.concatenate([chosen, more])
        batch = []
        for c in chosen:
            while len(left[c]) < per_class:
                left[c] = np.concatenate([left[c], generator.permutation(members[c])])
            batch.append(left[c][:per_class])
            left[c] = left[c][per_class:]
        yield np.concatenate(batch)


def _members(labels: np.ndarray, classes: np.ndarray) -> dict[int, np.ndarray]:
    order = np.argsort(labels, kind="stable")
    return dict(zip(classes, np.split(order, np.searchsorted(labels[order], classes)[1:]), strict=True))


def hierarchical(
    labels: np.ndarray, supers: np.ndarray, batch_size: int, per_class: int, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Half of a batch from one super-label, half from another (the paper's appendix).

    At the start of a pass all samples are arranged into half-batches of one super-label, which are then paired round-robin.
    """
    while True:
        yield from arrange(labels, supers, batch_size, per_class, generator)


def arrange(
    labels: np.ndarray, supers: np.ndarray, batch_size: int, per_class: int, generator: np.random.Generator
) -> np.ndarray:
    """One pass: all samples but those that cannot fill a half-batch of their super-label, (batches, batch_size)."""
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
    pairs = _paired(halves, generator)
    return np.stack(pairs)[generator.permutation(len(pairs))]


def _groups(members: np.ndarray, labels: np.ndarray, per_class: int, generator: np.random.Generator) -> np.ndarray:
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


def _paired(halves: dict[int, list[np.ndarray]], generator: np.random.Generator) -> list[np.ndarray]:
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
    for s, rows in halves.items():  # at most one super-label is left
        pairs += [np.concatenate(two) for two in zip(rows[::2], rows[1::2], strict=False)]
        if len(rows) % 2:  # the odd one gets a used half-batch, of another super-label if there is one
            again = [row for o, given in used.items() if o != s for row in given] or used[s]
            pairs.append(np.concatenate([rows[-1], again[generator.integers(len(again))]]))
    return pairs
