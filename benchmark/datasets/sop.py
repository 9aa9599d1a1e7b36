"""Stanford Online Products: 120,053 photos of 22,634 products in 12 categories, split by product.

The official archive's `Ebay_train.txt` and `Ebay_test.txt`, whose paths name the category.
"""

from collections.abc import Mapping
from pathlib import Path

from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.datasets._tree import Levels, assembled, locate, rows

ARCHIVE = "Stanford_Online_Products.zip (https://cvgl.stanford.edu/projects/lifted_struct)"
FOLDERS = ("Stanford_Online_Products", "sop")
MARKERS = ("Ebay_train.txt",)
COUNTS = {"training images": 59_551, "test images": 60_502, "training classes": 11_318, "test classes": 11_316}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS, missing: str = "") -> Dataset:
    folder = locate("sop", root, FOLDERS, MARKERS, ARCHIVE)
    train = rows(folder / "Ebay_train.txt", 4, ARCHIVE, skip=1)  # image_id class_id super_class_id path
    test = rows(folder / "Ebay_test.txt", 4, ARCHIVE, skip=1)
    files = [row[3] for row in train + test]
    levels: Levels = {
        "product": [int(row[1]) for row in train + test],
        "category": [file.split("/")[0].removesuffix("_final") for file in files],
    }
    side = ["train"] * len(train) + ["test"] * len(test)
    return assembled("sop", ARCHIVE, expect, FileSource(folder, files), levels, side, missing)
