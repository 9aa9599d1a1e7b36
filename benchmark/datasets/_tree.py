"""A data set's files on disk: where its folder is, what its index says, whether it is whole, and the data set made of it.

With `missing=skip` photos that the index names and the disk lacks are left out and counted; their number is in the fingerprint.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource, fingerprint, levelled
from benchmark.errors import UserError, unknown

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm")
Levels = Mapping[str, Sequence[Any]]  # name → value of each image, finest first


def find(root: Path, folders: Sequence[str], markers: Sequence[str]) -> Path | None:
    """The folder, `root` itself or one of `folders` below it, in which one of the marker files is."""
    for folder in (*(root / name for name in folders), root):
        if any((folder / marker).exists() for marker in markers):
            return folder
    return None


def locate(name: str, root: Path, folders: Sequence[str], markers: Sequence[str], archive: str) -> Path:
    folder = find(root, folders, markers)
    if folder is not None:
        return folder
    raise UserError(
        f"data set {name}: {' or '.join(markers)} is neither in {str(root)!r} nor in "
        f"{' or '.join(folders)} below it; unpack {archive} there, or point --data elsewhere"
    )


def found_or_fetched(
    name: str,
    root: Path,
    folder: str,
    markers: Sequence[str],
    archive: str,
    dataset_class: str,
    parts: Sequence[Mapping[str, object]] = ({},),
) -> Path:
    """The folder of a data set that torchvision can download; `parts` are the arguments of each download that makes it whole."""
    place = find(root, (folder,), markers)
    if place is not None:
        return place
    from torchvision import datasets

    try:
        root.mkdir(parents=True, exist_ok=True)
        for arguments in parts:
            getattr(datasets, dataset_class)(root, download=True, **arguments)
    except Exception as error:  # no network, no room, a damaged archive: urllib, OSError, RuntimeError, …
        raise UserError(
            f"data set {name} is not in {str(root / folder)!r} and cannot be downloaded ({error}); where "
            f"there is a network, fetch {archive} and unpack it there"
        ) from None
    return root / folder


def rows(path: Path, columns: int, archive: str, skip: int = 0) -> list[list[str]]:
    """The lines of an index file, each split at white space into as many columns as it must have."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise UserError(f"index file {str(path)!r} is missing; unpack {archive} again") from None
    found = [line.split(None, columns - 1) for line in map(str.strip, lines[skip:]) if line]
    bad = next((i for i, row in enumerate(found) if len(row) != columns), None)
    if bad is not None:
        raise UserError(
            f"index file {str(path)!r}: entry {bad + 1} is {' '.join(found[bad])!r}, expected {columns} "
            f"columns; unpack {archive} again"
        )
    return found


def present(root: Path, files: Sequence[str], missing: str = "", remedy: str = "", option: str = "") -> np.ndarray:
    """Which files are there, (n,) bool; an error that counts the others unless `missing` is "skip"."""
    if missing not in ("", "skip"):
        raise unknown("value of the option missing", missing, ("skip",))
    scanned = cache(lambda folder: _scan(root / folder))  # one scan of a folder instead of a question for every file
    parts = (file.rpartition("/") for file in files)
    found = np.array([name in scanned(folder) for folder, _, name in parts], dtype=bool)
    if found.all() or (missing == "skip" and found.any()):
        return found
    absent = np.flatnonzero(~found)
    raise UserError(
        f"{len(absent):,} of {len(files):,} images are missing below {str(root)!r} "
        f"(first {files[absent[0]]!r}); {remedy or 'paths are relative to the index file'}"
        + (f", or go on without them as {option}" if option and found.any() else "")
    )


def sizes(root: Path, files: Sequence[str]) -> np.ndarray:
    """Sizes of all files in bytes, for a fingerprint of data that somebody may edit."""
    return some_sizes(root, files, len(files))


def some_sizes(root: Path, files: Sequence[str], count: int = 1000) -> np.ndarray:
    """Sizes of about `count` files, evenly spread: of an archive, which nobody edits, that is enough."""
    some = files[:: max(1, len(files) // max(1, count))]
    return np.array([(root / file).stat().st_size for file in some], dtype=np.int64)


def _scan(folder: Path) -> set[str]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name for entry in entries if entry.is_file()}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def check_counts(
    name: str,
    expect: Mapping[str, int] | None,
    labels: np.ndarray,
    sides: np.ndarray,
    levels: Sequence[str],
    archive: str,
) -> None:
    """The paper's counts, all that it gives; `expect` None skips the check (a part of the data, on purpose)."""
    chosen = {s: sides == t for s, t in (("training", "train"), ("query", "query"), ("gallery", "gallery"))}
    chosen["test"] = ~chosen["training"]
    found = {"images": len(labels), "classes": len(np.unique(labels[:, 0]))}
    for side, of in chosen.items():
        found |= {f"{side} images": int(of.sum()), f"{side} classes": len(np.unique(labels[of, 0]))}
    found |= {level: len(np.unique(labels[:, i])) for i, level in enumerate(levels)}
    wrong = [f"{what}: {found[what]:,} instead of {n:,}" for what, n in (expect or {}).items() if found[what] != n]
    if wrong:
        raise UserError(f"data set {name} is not whole ({'; '.join(wrong)}); unpack {archive} again")


def image_files(folder: Path) -> list[str]:
    """Image files anywhere below a folder, relative to it, in a fixed order."""
    found: list[str] = []
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        prefix = "" if Path(base) == folder else Path(base).relative_to(folder).as_posix() + "/"
        found += [prefix + f for f in files if f.lower().endswith(SUFFIXES) and not f.startswith(".")]
    return sorted(found)


def assembled(
    name: str,
    archive: str,
    expect: Mapping[str, int] | None,
    source: FileSource,
    levels: Levels,
    side: Sequence[str],  # of each image
    missing: str = "",
    **more: Any,
) -> Dataset:
    """The data set of files that an index names, its counts held against the paper's."""
    labelled, sides = levelled(*levels.values()), np.array(side)
    check_counts(name, expect, labelled[0], sides, list(levels), archive)
    there = present(source.root, source.files, missing, f"unpack {archive} there again", f"{name}?missing=skip")
    if not there.all():
        source = type(source)(source.root, list(compress(source.files, there)))
        labelled, sides = levelled(*[list(compress(column, there)) for column in levels.values()]), sides[there]
    about = (list(source.files), labelled[0], sides.tolist(), some_sizes(source.root, source.files), len(there))
    absent = int((~there).sum())
    return Dataset.sided(name, levels, labelled, sides, source, fingerprint(name, *about), missing=absent, **more)


def halves(number: Sequence[int], last: int) -> list[str]:
    """The sides of classes by their number: up to `last` they train, the others test."""
    return ["train" if n <= last else "test" for n in number]
