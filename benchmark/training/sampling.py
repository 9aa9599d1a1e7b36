"""Batches of sample positions, endless and deterministic: balanced (k images of each class) and plain shuffling.

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
    from benchmark.training.hierarchical import hierarchical

    if supers is None:
        raise UserError(
            "sampler = 'hierarchical' needs a data set with super-labels; use sampler = 'balanced'"
        )
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
        if (
            len(chosen) < room
        ):  # the round is used up: begin the next, without a class that is in this batch already
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
