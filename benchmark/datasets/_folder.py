"""Your own data as a folder of class folders; folders around them are coarser levels.

`birds/Cardinal/1.jpg` is of the class Cardinal; `birds/Songbirds/Cardinal/1.jpg` also of the coarser class
Songbirds. Folders `train` and `test` at the top are the split; otherwise classes are split from a seed.
"""

from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource, fingerprint, levelled
from benchmark.datasets._split import by_class
from benchmark.datasets._tree import image_files, sizes
from benchmark.errors import UserError, unknown


def open_folder(path: Path, split: str = "", seed: str = "0") -> Dataset:
    files = image_files(path)
    places = [file.split("/")[:-1] for file in files]
    tops = {place[0] for place in places if place}
    sided = tops == {"train", "test"}
    how = split or ("column" if sided else "class")
    if how == "column" and not sided:
        raise UserError(f"{str(path)!r} has no folders train and test; leave out split=column to split by class")
    if how not in ("column", "class", "order"):
        raise unknown("split", how, ("class", "order", "column"))
    classes = [tuple(place[1:] if sided else place) for place in places]
    depths = {len(c) for c in classes}
    if not files or depths != {max(depths)} or 0 in depths:
        odd = next((f for f, c in zip(files, classes, strict=True) if len(c) != max(depths) or not c), "")
        raise UserError(
            f"{str(path)!r} is no folder of class folders: "
            + (f"{odd!r} lies at another depth than others" if odd else "it holds no images")
            + "; expected FOLDER/CLASS/image.jpg, or FOLDER/COARSE/CLASS/image.jpg"
        )
    depth = max(depths)
    labels, names = levelled(*[[c[: depth - level] for c in classes] for level in range(depth)])
    if how == "column":
        side = np.array([place[0] for place in places])
        train, test = np.flatnonzero(side == "train"), np.flatnonzero(side == "test")
    else:
        train, test = by_class(labels[:, 0], how, seed)
    return Dataset(
        name=path.resolve().name,
        levels=("class", *("coarse" if depth == 2 else f"coarse {i}" for i in range(1, depth))),
        labels=labels,
        names=names,
        train=train,
        query=test,
        gallery=None,
        source=FileSource(path, files),
        fingerprint=fingerprint(files, labels, train, sizes(path, files)),
    )
