"""Flowers-102: 8,189 photos of 102 British flowers; the first 51 train, the last 51 test.

torchvision's `flowers-102/`, its own parts pooled. The archive numbers its flowers and does not name them.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.datasets._tree import assembled, found_or_fetched, halves
from benchmark.errors import UserError

ARCHIVE = "102flowers.tgz and imagelabels.mat (https://www.robots.ox.ac.uk/~vgg/data/flowers/102)"
FOLDERS = ("flowers-102",)
MARKERS = ("imagelabels.mat",)
COUNTS = {"images": 8_189, "classes": 102}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS, missing: str = "") -> Dataset:
    from scipy.io import loadmat

    folder = found_or_fetched("flowers", root, FOLDERS[0], MARKERS, ARCHIVE, "Flowers102")
    try:
        numbers = np.atleast_1d(loadmat(folder / "imagelabels.mat", squeeze_me=True)["labels"]).tolist()
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise UserError(f"{str(folder / 'imagelabels.mat')!r} cannot be read ({error}); fetch {ARCHIVE}") from None
    files = [f"jpg/image_{i:05d}.jpg" for i in range(1, len(numbers) + 1)]
    levels = {"flower": [(int(c), f"flower {c}") for c in numbers]}
    side = halves(numbers, 51)
    return assembled("flowers", ARCHIVE, expect, FileSource(folder, files), levels, side, missing)
