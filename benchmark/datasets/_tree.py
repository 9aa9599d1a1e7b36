"""A data set's files on disk: where its folder is, whether it is whole, and what to fetch when it is not.

Used by the modules of the data sets in this folder and by `python -m benchmark doctor --data DIR`.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmark.errors import UserError, unknown

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm")


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
    there: dict[str, set[str]] = {}
    found = np.ones(len(files), dtype=bool)
    for i, file in enumerate(files):
        folder, _, name = file.rpartition("/")
        if folder not in there:  # one scan of the folder instead of a question for every file
            there[folder] = _scan(root / folder)
        found[i] = name in there[folder]
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


def check_counts(name: str, expected: Mapping[str, int] | None, found: Mapping[str, int], archive: str) -> None:
    """The paper's counts, all of them; `expected` None skips the check (a part of the data, on purpose)."""
    wrong = [
        f"{what}: {found[what]:,} instead of {count:,}"
        for what, count in (expected or {}).items()
        if found[what] != count
    ]
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
