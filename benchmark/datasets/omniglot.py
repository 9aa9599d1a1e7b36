"""Omniglot: 20 drawings of each of 1,623 characters from 50 alphabets; the 30 background alphabets train.

torchvision's `omniglot-py/`, whose own split is by alphabet. Ink is white on black here, as in `glyphs`, so
that what augmentation moves in from outside is paper.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource, KeptSource, fingerprint, levelled
from benchmark.datasets._tree import check_counts, found_or_fetched, image_files, some_sizes
from benchmark.errors import UserError

ARCHIVE = "images_background.zip and images_evaluation.zip (https://github.com/brendenlake/omniglot)"
LEVELS = ("character", "alphabet")
FOLDERS = ("omniglot-py",)
MARKERS = ("images_background",)
SIDES = {"images_background": "train", "images_evaluation": "test"}
SIDE = 105
COUNTS = {"training classes": 964, "test classes": 659, "images": 32_460}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS) -> Dataset:
    parts = ({"background": True}, {"background": False})
    folder = found_or_fetched("omniglot", root, FOLDERS[0], MARKERS, ARCHIVE, "Omniglot", parts)
    files = image_files(folder)  # images_background/Alphabet_of_the_Magi/character01/0709_01.png
    places = [file.split("/") for file in files]
    if not files or any(len(place) != 4 for place in places):
        raise UserError(f"{str(folder)!r} does not hold PART/ALPHABET/CHARACTER/drawing.png; unpack {ARCHIVE} again")
    labels, names = levelled([(p[0], p[1], f"{p[1]} {p[2]}") for p in places], [p[1].replace("_", " ") for p in places])
    sides = np.array([SIDES.get(place[0], "") for place in places])
    check_counts("omniglot", expect, labels, sides, LEVELS, ARCHIVE)
    source = FileSource(folder, files)
    key = fingerprint("omniglot", files, labels, some_sizes(folder, files))
    kept = KeptSource(folder / f"{key}.npy", len(files), lambda: _drawn(source))
    return Dataset.sided("omniglot", LEVELS, (labels, names), sides, kept, key)


def _drawn(source: FileSource) -> np.ndarray:
    images = np.empty((len(source), SIDE, SIDE, 1), dtype=np.uint8)
    for i in range(len(source)):
        images[i] = 255 - source.read(i)[:, :, :1]
    return images
