"""FGVC-Aircraft: 10,000 photos of 100 aircraft variants; the first 50 train, the last 50 test.

torchvision's `fgvc-aircraft-2013b/`, its own parts pooled; levels are variant, family and manufacturer. The line
of 20 pixels below each photo, which names its owner, is cut off as the authors ask.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource, fingerprint, levelled
from benchmark.datasets._download import found_or_fetched
from benchmark.datasets._split import by_class
from benchmark.datasets._tree import check_counts, rows, sizes

ARCHIVE = "fgvc-aircraft-2013b.tar.gz (https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft)"
FOLDERS = ("fgvc-aircraft-2013b",)
MARKERS = ("data/variants.txt",)
LEVELS = ("variant", "family", "manufacturer")
COUNTS = {"images": 10_000, "variant": 100, "family": 70, "manufacturer": 30}
OWNER_LINE = 20  # pixels


@dataclass(frozen=True)
class AircraftSource(FileSource):
    """Photos without the line that names their owner."""

    def read(self, index: int) -> np.ndarray:
        return super().read(index)[:-OWNER_LINE]


def open(root: Path, expect: Mapping[str, int] | None = COUNTS) -> Dataset:
    folder = found_or_fetched("aircraft", root, FOLDERS[0], MARKERS, ARCHIVE, "FGVCAircraft") / "data"
    of = {
        level: dict(row for part in ("trainval", "test") for row in _listed(folder, level, part))
        for level in LEVELS
    }
    images = sorted(of["variant"])
    labels, names = levelled(*[[of[level].get(image, "unknown") for image in images] for level in LEVELS])
    found = {"images": len(images)} | {level: len(names[i]) for i, level in enumerate(LEVELS)}
    check_counts("aircraft", expect, found, ARCHIVE)
    files = [f"{image}.jpg" for image in images]
    train, test = by_class(labels[:, 0], "order")
    return Dataset(
        name="aircraft",
        levels=LEVELS,
        labels=labels,
        names=names,
        train=train,
        query=test,
        gallery=None,
        source=AircraftSource(folder / "images", files),
        fingerprint=fingerprint("aircraft", files, labels, sizes(folder / "images", files, ARCHIVE)),
    )


def _listed(folder: Path, level: str, part: str) -> list[list[str]]:
    return rows(folder / f"images_{level}_{part}.txt", 2, ARCHIVE)
