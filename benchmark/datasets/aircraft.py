"""FGVC-Aircraft: 10,000 photos of 100 aircraft variants; the first 50 train, the last 50 test.

torchvision's `fgvc-aircraft-2013b/`, its own parts pooled; levels are variant, family and manufacturer. The line
of 20 pixels below each photo, which names its owner, is cut off as the authors ask.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.datasets._tree import assembled, found_or_fetched, rows

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


def open(root: Path, expect: Mapping[str, int] | None = COUNTS, missing: str = "") -> Dataset:
    folder = found_or_fetched("aircraft", root, FOLDERS[0], MARKERS, ARCHIVE, "FGVCAircraft") / "data"
    of = {level: dict(row for part in ("trainval", "test") for row in _listed(folder, level, part)) for level in LEVELS}
    images = sorted(of["variant"])
    levels = {level: [of[level].get(image, "unknown") for image in images] for level in LEVELS}
    first = set(sorted(set(levels["variant"]))[: len(set(levels["variant"])) // 2])
    side = ["train" if variant in first else "test" for variant in levels["variant"]]
    source = AircraftSource(folder / "images", [f"{image}.jpg" for image in images])
    return assembled("aircraft", ARCHIVE, expect, source, levels, side, missing)


def _listed(folder: Path, level: str, part: str) -> list[list[str]]:
    return rows(folder / f"images_{level}_{part}.txt", 2, ARCHIVE)
