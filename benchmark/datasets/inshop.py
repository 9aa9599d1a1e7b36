"""In-Shop Clothes Retrieval: 52,712 photos of 7,982 items; queries are looked for in a gallery of their own.

`list_eval_partition.txt` of DeepFashion's In-Shop benchmark, whose paths name gender and category.
"""

from collections.abc import Mapping
from pathlib import Path

from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.datasets._tree import assembled, locate, rows
from benchmark.errors import UserError

ARCHIVE = (
    "list_eval_partition.txt and img.zip of the In-shop Clothes Retrieval Benchmark "
    "(https://mmlab.ie.cuhk.edu.hk/projects/DeepFashion/InShopRetrieval.html)"
)
FOLDERS = ("In-shop Clothes Retrieval Benchmark", "In-shop", "inshop", "InShop")
MARKERS = ("list_eval_partition.txt", "Eval/list_eval_partition.txt")
COUNTS = {"training images": 25_882, "query images": 14_218, "gallery images": 12_612}
COUNTS |= {"training classes": 3_997, "test classes": 3_985}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS, missing: str = "") -> Dataset:
    folder = locate("inshop", root, FOLDERS, MARKERS, ARCHIVE)
    index = next(folder / marker for marker in MARKERS if (folder / marker).exists())
    listed = rows(index, 3, ARCHIVE, skip=2)  # the count, then: image_name item_id evaluation_status
    files = [row[0] for row in listed]
    places = [file.split("/") for file in files]  # img/WOMEN/Dresses/id_00000002/02_1_front.jpg
    if any(len(place) < 5 for place in places):
        raise UserError(f"{str(index)!r}: expected paths like img/WOMEN/Dresses/id_00000002/02_1_front.jpg")
    levels = {
        "item": [row[1] for row in listed],
        "category": [f"{p[1].title()} {p[2].replace('_', ' ')}" for p in places],
        "gender": [p[1].title() for p in places],
    }
    images = next((f for f in (folder, folder / "Img") if (f / "img").is_dir()), folder)
    side = [row[2] for row in listed]
    return assembled("inshop", ARCHIVE, expect, FileSource(images, files), levels, side, missing, super_level=1)
