"""Dataset: labels on every level, the class-disjoint split, and where the images come from.

Each module of this folder that has an `open` makes one; `training_set.py` spoils it, the samplers draw from it
and `loading.py` reads its images. To look at one: `python -m benchmark show DATASET`.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image, ImageOps

from benchmark.errors import UserError
from benchmark.files import kept_array

ORIENTATION = 0x0112  # the EXIF tag
SIDES = ("train", "test", "query", "gallery")
Labelled = tuple[np.ndarray, tuple[tuple[str, ...], ...]]  # (n, levels) ids, and names[level][id]


class Source(Protocol):
    """Images by number. What `read` gives depends on the index only: workers and order change nothing."""

    def __len__(self) -> int: ...

    def read(self, index: int) -> np.ndarray: ...  # uint8 (h, w, 3) RGB, or (h, w, 1) grey


@dataclass(frozen=True)
class Dataset:
    name: str
    levels: tuple[str, ...]  # finest first: ("species", "family", "order")
    labels: np.ndarray  # (n, levels) int64, contiguous ids from 0 on each level
    names: tuple[tuple[str, ...], ...]  # names[level][id]
    train: np.ndarray  # (n_train,) int64 sample indices
    query: np.ndarray  # test samples; with gallery None each is looked for among the others
    source: Source
    fingerprint: str  # hash of what the numbers depend on
    gallery: np.ndarray | None = None
    distractors: Source | None = None  # images of no class, for the image-noise study
    super_level: int = -1  # the level whose labels are the super-labels of hierarchical sampling
    missing: int = 0  # images that the index names and that were left out, being absent
    notes: tuple[str, ...] = ()  # what somebody who uses the data should know

    def __post_init__(self) -> None:
        n, levels = self.labels.shape
        if not n == len(self.source) or not levels == len(self.levels) == len(self.names):
            raise UserError(
                f"data set {self.name}: {n} labels on {levels} levels for {len(self.source)} images and "
                f"{len(self.levels)} level names"
            )
        for side, indices in (("training", self.train), ("test", self.test)):
            if len(indices) == 0:
                raise UserError(f"data set {self.name} has no {side} images")
        shared = np.intersect1d(self.labels[self.train, 0], self.labels[self.test, 0])
        if len(shared):
            raise UserError(
                f"data set {self.name}: {len(shared)} classes are in training and in test "
                f"({self.names[0][shared[0]]!r} is one); a metric-learning split is by class"
            )

    @classmethod
    def sided(cls, name: str, levels: Iterable[str], labelled: Labelled, sides: Sequence[str] | np.ndarray,
              source: Source, fingerprint: str, **more: Any) -> "Dataset":  # fmt: skip
        """A data set whose images are each said to be of one of SIDES; those of no side are not used."""
        of = {side: np.flatnonzero(np.asarray(sides) == side) for side in SIDES}
        query = np.sort(np.concatenate([of["test"], of["query"]]))
        gallery = of["gallery"] if len(of["gallery"]) else None
        return cls(name, tuple(levels), *labelled, of["train"], query, source, fingerprint, gallery, **more)

    @property
    def test(self) -> np.ndarray:
        """Every test sample: query, then gallery where there is one."""
        return self.query if self.gallery is None else np.concatenate([self.query, self.gallery])

    @property
    def file_name(self) -> str:
        """The name, as a file or folder can have it."""
        return re.sub(r"[^\w.-]+", "_", self.name)

    def __len__(self) -> int:
        return len(self.labels)

    def summary(self) -> str:
        """Images and classes of each side, in one line."""
        told = []
        sides = {"train": self.train, "test" if self.gallery is None else "query": self.query, "gallery": self.gallery}
        for side, i in sides.items():
            if i is not None:
                counts = [f"{len(np.unique(self.labels[i, n])):,} {level}" for n, level in enumerate(self.levels)]
                told.append(f"{side} {len(i):,} images of {' / '.join(counts)}")
        told += [f"{self.missing:,} images are missing and left out"] if self.missing else []
        return f"{self.name}: {'; '.join(told)}"


@dataclass(frozen=True)
class ArraySource:
    """Images of one size in one array, usually memory-mapped."""

    array: np.ndarray  # (n, h, w, c) uint8

    def __len__(self) -> int:
        return len(self.array)

    def read(self, index: int) -> np.ndarray:
        return np.asarray(self.array[index])


class KeptSource(ArraySource):
    """An array beside its data set, decoded when it is first needed: looking at a data set writes nothing."""

    def __init__(self, path: Path, count: int, make: Callable[[], np.ndarray]) -> None:
        vars(self).update(path=path, count=count, make=make)

    def __len__(self) -> int:
        return vars(self)["count"]

    @cached_property
    def array(self) -> np.ndarray:  # type: ignore[override]
        return kept_array(vars(self)["path"], vars(self)["make"])


@dataclass(frozen=True)
class FileSource:
    """Image files below a folder, decoded on every read."""

    root: Path
    files: Sequence[str]  # relative to root

    def __len__(self) -> int:
        return len(self.files)

    def path(self, index: int) -> Path:
        return self.root / self.files[index]

    def read(self, index: int) -> np.ndarray:
        return decode(self.path(index))


def decode(path: Path) -> np.ndarray:
    """An image file as uint8 RGB (h, w, 3), upright, whatever mode and orientation it was stored in."""
    try:
        with Image.open(path) as image:
            turned = image.getexif().get(ORIENTATION, 1) != 1
            upright = ImageOps.exif_transpose(image) if turned else image
            if upright.mode.startswith("I;16") or upright.mode == "I":  # PIL would clip 16-bit grey to white
                grey = (np.asarray(upright).astype(np.uint32) >> 8).clip(0, 255).astype(np.uint8)
                upright = Image.fromarray(grey)
            elif upright.mode in ("RGBA", "PA", "LA") or "transparency" in upright.info:
                rgba = upright.convert("RGBA")  # what is transparent shows white, not what was left below it
                upright = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
            return np.asarray(upright if upright.mode == "RGB" else upright.convert("RGB"))
    except FileNotFoundError:
        raise UserError(f"image {str(path)!r} is missing; unpack its archive again") from None
    except Exception as error:  # PIL raises OSError, SyntaxError, ValueError, … depending on how the file is broken
        raise UserError(
            f"image {str(path)!r} cannot be decoded ({error}); replace the file, or take it out of the index"
        ) from None


def levelled(*columns: Sequence[Any]) -> Labelled:
    """Ids from 0 in sorted order for each column, and their names.

    Values may be tuples, which sort by all their parts and are named by the last: (17, "Cardinal").
    """
    labels = np.empty((len(columns[0]), len(columns)), dtype=np.int64)
    names = []
    for level, column in enumerate(columns):
        values = sorted(set(column))
        ids = {value: i for i, value in enumerate(values)}
        labels[:, level] = [ids[value] for value in column]
        names.append(tuple(str(v[-1]) if isinstance(v, tuple) else str(v) for v in values))
    return labels, tuple(names)


def fingerprint(*parts: object) -> str:
    """A short hash over texts, arrays and lists of texts."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(np.ascontiguousarray(part).tobytes())
        elif isinstance(part, list | tuple):
            digest.update("\x1e".join(map(str, part)).encode())
        else:
            digest.update(str(part).encode())
        digest.update(b"\x1f")
    return digest.hexdigest()[:16]


def ceiling(images: np.ndarray, labels: np.ndarray) -> float:
    """The highest R@1 that any embedding can reach, leave-one-out within these images.

    A query fails for certain when other images equal it pixel by pixel and none of them has its label.
    images: (n, h, w, c) uint8; labels: (n,).
    """
    groups: dict[bytes, Counter[int]] = defaultdict(Counter)
    for image, label in zip(images, labels, strict=True):
        groups[image.tobytes()][label] += 1
    lost = sum(n == 1 for counts in groups.values() if counts.total() > 1 for n in counts.values())
    return 1 - lost / max(1, len(images))
