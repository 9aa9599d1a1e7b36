"""A data set from the index of its archive: counts held against the paper's, photos looked for, labels put together.

Used by the modules of the data sets that are files and an index. With `missing=skip` photos that the index names and the
disk lacks are left out, counted, and the number is part of the fingerprint.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource, fingerprint, levelled
from benchmark.datasets._tree import check_counts, present, some_sizes

Levels = Mapping[str, Sequence[Any]]  # name → value of each image, finest first


def assembled(
    name: str,
    archive: str,
    expect: Mapping[str, int] | None,
    source: FileSource,
    levels: Levels,
    side: Sequence[str],  # train, test, query or gallery, of each image
    missing: str = "",
    super_level: int = -1,
    notes: Sequence[str] = (),
) -> Dataset:
    labels, names = levelled(*levels.values())
    sides = np.array(side)
    check_counts(name, expect, _counts(labels, sides, list(levels)), archive)
    there = present(source.root, source.files, missing, f"unpack {archive} there again", f"{name}?missing=skip")
    if not there.all():
        source = type(source)(source.root, [f for f, kept in zip(source.files, there, strict=True) if kept])
        labels, names = levelled(
            *[[v for v, kept in zip(column, there, strict=True) if kept] for column in levels.values()]
        )
        sides = sides[there]
    gallery = np.flatnonzero(sides == "gallery")
    stamp = fingerprint(
        name, list(source.files), labels, sides.tolist(), some_sizes(source.root, source.files), len(there)
    )
    return Dataset(
        name=name,
        levels=tuple(levels),
        labels=labels,
        names=names,
        train=np.flatnonzero(sides == "train"),
        query=np.flatnonzero((sides == "test") | (sides == "query")),
        gallery=gallery if len(gallery) else None,
        source=source,
        fingerprint=stamp,
        super_level=super_level,
        missing=int((~there).sum()),
        notes=tuple(notes),
    )


def _counts(labels: np.ndarray, sides: np.ndarray, levels: list[str]) -> dict[str, int]:
    """Everything that a paper may have counted."""
    of = {"training": sides == "train", "query": sides == "query", "gallery": sides == "gallery"}
    of["test"] = ~of["training"]
    found = {"images": len(labels), "classes": len(np.unique(labels[:, 0]))}
    found |= {f"{which} images": int(chosen.sum()) for which, chosen in of.items()}
    found |= {f"{which} classes": len(np.unique(labels[chosen, 0])) for which, chosen in of.items()}
    return found | {level: len(np.unique(labels[:, i])) for i, level in enumerate(levels)}


def halves(number: Sequence[int], last: int) -> list[str]:
    """The sides of classes by their number: up to `last` they train, the others test."""
    return ["train" if n <= last else "test" for n in number]
