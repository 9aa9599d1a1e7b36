"""Which data sets are in a folder, whether they are whole, and where the rest comes from.

`python -m benchmark doctor --data DIR` prints this; nothing is downloaded by looking.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmark.datasets import names
from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.datasets._tree import find
from benchmark.errors import UserError

TAIL = 256  # bytes


@dataclass(frozen=True)
class Finding:
    name: str
    state: str  # "whole", "incomplete", "absent" or "embedded"
    message: str  # counts, what is wrong, or where to get it


def survey(root: Path | str) -> Iterator[Finding]:
    """One data set after the other, since large ones take a while."""
    for name in names():
        yield _find(name, Path(root))


def _find(name: str, root: Path) -> Finding:
    module = import_module(f"benchmark.datasets.{name}")
    archive = getattr(module, "ARCHIVE", None)
    if archive is None:
        return Finding(name, "embedded", "comes with the project")
    if find(root, module.FOLDERS, module.MARKERS) is None:
        return Finding(name, "absent", f"unpack {archive} into {module.FOLDERS[0]}")
    try:
        return Finding(name, "whole", _told(module.open(root)))
    except UserError as error:
        return Finding(name, "incomplete", f"{error}{_rest(module.open, root)}")


def _rest(opener: Callable[..., Dataset], root: Path) -> str:
    """What can be used of a data set that lacks some of its photos."""
    if "missing" not in inspect.signature(opener).parameters:
        return ""
    try:
        return f"; {_told(opener(root, missing='skip'))}"
    except UserError:
        return ""


def _told(dataset: Dataset) -> str:
    groups, across = identical(dataset)
    told = [f"groups of byte-identical photos: {groups}, across classes: {across}"] if groups else []
    return "; ".join([dataset.summary(), *told, *dataset.notes])


def identical(dataset: Dataset) -> tuple[int, int]:
    """Groups of byte-identical files, and how many of them hold more than one class."""
    if not isinstance(dataset.source, FileSource):
        return 0, 0
    groups = [list(range(len(dataset)))]
    for key in (_size, _tail, _content):  # each file is read whole only where the cheaper looks agree
        groups = [found for group in groups for found in _alike(dataset.source, group, key)]
    return len(groups), sum(len(np.unique(dataset.labels[group, 0])) > 1 for group in groups)


def _alike(source: FileSource, group: list[int], key: Callable[[Path], object]) -> list[list[int]]:
    found: dict[object, list[int]] = {}
    for index in group:
        found.setdefault(key(source.path(index)), []).append(index)
    return [members for members in found.values() if len(members) > 1]


def _size(path: Path) -> int:
    return path.stat().st_size


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-min(TAIL, path.stat().st_size), 2)
        return file.read()


def _content(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
