"""CUB-200-2011: photos of 200 bird species; the first 100 train, the last 100 test.

The official archive's `images.txt`, `image_class_labels.txt` and `images/`. Family and order come from the
bird's name (`_cub_taxonomy.py`).
"""

from collections.abc import Mapping
from pathlib import Path

from benchmark.datasets._archive import Levels, assembled, halves
from benchmark.datasets._cub_taxonomy import UNKNOWN, family, order
from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.datasets._tree import locate, rows

ARCHIVE = "CUB_200_2011.tgz (https://www.vision.caltech.edu/datasets/cub_200_2011)"
FOLDERS = ("CUB_200_2011", "cub")
MARKERS = ("images.txt",)
COUNTS = {"training images": 5_864, "test images": 5_924, "training classes": 100, "test classes": 100}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS, missing: str = "") -> Dataset:
    folder = locate("cub", root, FOLDERS, MARKERS, ARCHIVE)
    number = {image: int(c) for image, c in rows(folder / "image_class_labels.txt", 2, ARCHIVE)}
    listed = rows(folder / "images.txt", 2, ARCHIVE)
    files = [file for _, file in listed]
    classes = [number.get(image, 0) for image, _ in listed]
    bird = [file.split("/")[0].split(".", 1)[-1] for file in files]  # "001.Black_footed_Albatross/….jpg"
    unknown = [b for b in dict.fromkeys(bird) if family(b) == UNKNOWN]
    levels: Levels = {
        "species": [(c, b.replace("_", " ")) for c, b in zip(classes, bird, strict=True)],
        "family": [family(b) for b in bird],
        "order": [order(b) for b in bird],
    }
    return assembled(
        "cub",
        ARCHIVE,
        expect,
        FileSource(folder / "images", files),
        levels,
        halves(classes, 100),
        missing,
        notes=[f"no family is known for the bird {b!r}; its coarser levels are {UNKNOWN!r}" for b in unknown],
    )
