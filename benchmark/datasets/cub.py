"""CUB-200-2011: photos of 200 bird species; the first 100 train, the last 100 test.

The official archive's `images.txt`, `image_class_labels.txt` and `images/`. Family and order come from the
bird's name (`birds.py`).
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark.datasets._cub_taxonomy import family, order
from benchmark.datasets._dataset import Dataset, FileSource, fingerprint, levelled
from benchmark.datasets._tree import check_counts, locate, rows, sizes

ARCHIVE = "CUB_200_2011.tgz (https://www.vision.caltech.edu/datasets/cub_200_2011)"
FOLDERS = ("CUB_200_2011", "cub")
MARKERS = ("images.txt",)
COUNTS = {"training images": 5_864, "test images": 5_924, "training classes": 100, "test classes": 100}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS) -> Dataset:
    folder = locate("cub", root, FOLDERS, MARKERS, ARCHIVE)
    number = {image: int(c) for image, c in rows(folder / "image_class_labels.txt", 2, ARCHIVE)}
    listed = rows(folder / "images.txt", 2, ARCHIVE)
    files = [file for _, file in listed]
    classes = np.array([number.get(image, 0) for image, _ in listed])
    bird = [file.split("/")[0].split(".", 1)[-1] for file in files]  # "001.Black_footed_Albatross/….jpg"
    labels, names = levelled(
        [(int(c), b.replace("_", " ")) for c, b in zip(classes, bird, strict=True)],
        [family(b) for b in bird],
        [order(b) for b in bird],
    )
    train, test = np.flatnonzero(classes <= 100), np.flatnonzero(classes > 100)
    found = {
        "training images": len(train),
        "test images": len(test),
        "training classes": len(np.unique(classes[train])),
        "test classes": len(np.unique(classes[test])),
    }
    check_counts("cub", expect, found, ARCHIVE)
    return Dataset(
        name="cub",
        levels=("species", "family", "order"),
        labels=labels,
        names=names,
        train=train,
        query=test,
        gallery=None,
        source=FileSource(folder / "images", files),
        fingerprint=fingerprint("cub", files, labels, sizes(folder / "images", files, ARCHIVE)),
    )
