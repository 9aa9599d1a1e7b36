"""Stanford Online Products: 120,053 photos of 22,634 products in 12 categories, split by product.

The official archive's `Ebay_train.txt` and `Ebay_test.txt`, whose paths name the category.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource, fingerprint, levelled
from benchmark.datasets._tree import check_counts, locate, rows, sizes

ARCHIVE = "Stanford_Online_Products.zip (https://cvgl.stanford.edu/projects/lifted_struct)"
FOLDERS = ("Stanford_Online_Products", "sop")
MARKERS = ("Ebay_train.txt",)
COUNTS = {
    "training images": 59_551,
    "test images": 60_502,
    "training classes": 11_318,
    "test classes": 11_316,
}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS) -> Dataset:
    folder = locate("sop", root, FOLDERS, MARKERS, ARCHIVE)
    train = rows(folder / "Ebay_train.txt", 4, ARCHIVE, skip=1)  # image_id class_id super_class_id path
    test = rows(folder / "Ebay_test.txt", 4, ARCHIVE, skip=1)
    files = [row[3] for row in train + test]
    products = [int(row[1]) for row in train + test]
    labels, names = levelled(products, [file.split("/")[0].removesuffix("_final") for file in files])
    found = {
        "training images": len(train),
        "test images": len(test),
        "training classes": len(set(products[: len(train)])),
        "test classes": len(set(products[len(train) :])),
    }
    check_counts("sop", expect, found, ARCHIVE)
    return Dataset(
        name="sop",
        levels=("product", "category"),
        labels=labels,
        names=names,
        train=np.arange(len(train)),
        query=np.arange(len(train), len(files)),
        gallery=None,
        source=FileSource(folder, files),
        fingerprint=fingerprint("sop", files, labels, sizes(folder, files, ARCHIVE)),
    )
