"""Your own data: a table (CSV or Parquet) of images, or a folder of class folders.

Of a table, `path` is relative to it, `label` the class (fine and class do too), `split` train or test (or query and gallery);
every other column is a coarser level. As `birds.csv?split=class` the classes are split from a seed, whatever the column says.

Of a folder, `birds/Cardinal/1.jpg` is of the class Cardinal; `birds/Songbirds/Cardinal/1.jpg` also of the coarser class
Songbirds. Folders `train` and `test` at the top are the split; otherwise classes are split from a seed.
"""

import difflib
import os
from collections.abc import Iterable
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark.datasets._dataset import SIDES, Dataset, FileSource, fingerprint, levelled
from benchmark.datasets._tree import image_files, present, sizes
from benchmark.errors import UserError, unknown
from benchmark.seeds import numpy_generator

if TYPE_CHECKING:
    import pandas as pd

LABELS = ("label", "fine", "class")  # accepted names of the class column, in this order
SPLITS = {"class": "by class", "order": "by order", "column": "as column 'split' says"}


def by_class(fine: np.ndarray, how: str = "class", seed: int | str = 0) -> np.ndarray:
    """The side of each image. class: a random half of the classes trains, from the seed; order: the first half.

    A class of one image cannot be judged, since nothing is left to find, so it always trains.
    """
    size = np.bincount(fine)
    order = np.arange(len(size))
    if how == "class":
        order = numpy_generator("split by class", seed).permutation(order)
    order = order[size[order] > 0]
    half = len(order) // 2
    test = order[half:][size[order[half:]] > 1]
    if half < 2 or len(test) < 2:
        raise UserError(
            f"{len(order)} classes, {int((size > 1).sum())} of them with more than one image, are too few to "
            "split by class; at least 2 must train and 2 with two images each must test"
        )
    return np.where(np.isin(fine, test), "test", "train")


def _kind(split: str, given: bool) -> str:
    """How to split: as asked, else as the data say, else by class."""
    how = split or ("column" if given else "class")
    if how not in SPLITS:
        raise unknown("split", how, SPLITS)
    return how


def open_folder(path: Path, split: str = "", seed: str = "0") -> Dataset:
    files = image_files(path)
    places = [file.split("/")[:-1] for file in files]
    sided = {place[0] for place in places if place} == {"train", "test"}
    how = _kind(split, sided)
    if how == "column" and not sided:
        raise UserError(f"{str(path)!r} has no folders train and test; leave out split=column to split by class")
    classes = [tuple(place[1:] if sided else place) for place in places]
    depths = {len(c) for c in classes}
    if not files or depths != {max(depths)} or 0 in depths:
        odd = next((f for f, c in zip(files, classes, strict=True) if len(c) != max(depths) or not c), "")
        why = f"{odd!r} lies at another depth than others" if odd else "it holds no images"
        expected = "expected FOLDER/CLASS/image.jpg, or FOLDER/COARSE/CLASS/image.jpg"
        raise UserError(f"{str(path)!r} is no folder of class folders: {why}; {expected}")
    depth = max(depths)
    labels, names = levelled(*[[c[: depth - level] for c in classes] for level in range(depth)])
    sides = np.array([place[0] for place in places]) if how == "column" else by_class(labels[:, 0], how, seed)
    levels = ("class", *("coarse" if depth == 2 else f"coarse {i}" for i in range(1, depth)))
    stamp = fingerprint(files, labels, np.flatnonzero(sides == "train"), sizes(path, files))
    return Dataset.sided(path.resolve().name, levels, (labels, names), sides, FileSource(path, files), stamp)


def open_table(path: Path, split: str = "", seed: str = "0", label: str = "", missing: str = "") -> Dataset:
    table = _read(path)
    label = _label_column(path, table, label)
    _check_split_column(path, table, label)
    files = _files(path, table["path"])
    there = present(path.parent, files, missing, option=f"{path.name}?missing=skip")
    if not there.all():
        table, files = table[there], list(compress(files, there))
    levels = [label, *(c for c in table.columns if c not in ("path", "split", label))]
    for level in levels:
        _check_level(path, table, label, level)
    labels, names = levelled(*[_sortable(table[level]) for level in levels])
    how = _kind(split, "split" in table)
    sides = _given(path, table, labels[:, 0]) if how == "column" else by_class(labels[:, 0], how, seed)
    train, query = np.flatnonzero(sides == "train"), np.flatnonzero(np.isin(sides, ("test", "query")))
    stamp = fingerprint(files, labels, train, query, sizes(path.parent, files))
    name, source = f"{path.resolve().parent.name}/{path.name}", FileSource(path.parent, files)
    coarser = f", coarser levels {', '.join(map(repr, levels[1:]))}" if levels[1:] else ""
    roles = f"images are column 'path', classes {label!r}{coarser}; split {SPLITS[how]}"
    absent = int((~there).sum())
    return Dataset.sided(name, levels, (labels, names), sides, source, stamp, missing=absent, notes=(roles,))


def _read(path: Path) -> "pd.DataFrame":
    import pandas as pd

    nothing = {"keep_default_na": False, "na_values": [""]}  # NA, None and null are labels; only nothing is nothing
    try:
        if path.suffix.lower() == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, dtype=str, encoding="utf-8-sig", skipinitialspace=True, **nothing)
    except Exception as error:  # pandas and pyarrow raise many kinds for a damaged file
        raise UserError(f"{str(path)!r} cannot be read as a table: {error}") from None
    table.columns = [str(c).strip() for c in table.columns]
    if "path" not in table:
        raise UserError(f"{_lacks(path, table, 'path')}. Expected: path,label[,coarser labels][,split]")
    if table.empty:
        raise UserError(f"{str(path)!r} has no rows")
    return table


def _label_column(path: Path, table: "pd.DataFrame", label: str) -> str:
    found = next((c for c in ([label] if label else LABELS) if c in table), None)
    if found is None:
        remedy = f"Rename the column of class names to 'label', or write {path.name}?label=COLUMN"
        raise UserError(f"{_lacks(path, table, label or 'label')}. {remedy}")
    return found


def _lacks(path: Path, table: "pd.DataFrame", name: str) -> str:
    return f"{str(path)!r} has no column {name!r}; it has {', '.join(table.columns)}{_near(name, table.columns)}"


def _near(name: str, columns: Iterable[str]) -> str:
    """What to say of the column that is nearly called `name`."""
    by_lower = {column.lower(): column for column in columns}
    found = difflib.get_close_matches(name, by_lower, n=1, cutoff=0.75)
    return f"; is {by_lower[found[0]]!r} meant? Then write {name!r}" if found else ""


def _check_split_column(path: Path, table: "pd.DataFrame", label: str) -> None:
    """A split under another name would be taken for a coarser level, and another split be drawn."""
    if "split" in table:
        return
    others = [c for c in table.columns if c not in ("path", label)]
    named = next((c for c in others if _near("split", [c])), None)
    filled = next((c for c in others if set(table[c].dropna().astype(str).str.lower()) <= {*SIDES, "val"}), None)
    if named or filled:
        raise UserError(
            f"{str(path)!r}: column {named or filled!r} looks like the split, which is called 'split'; "
            "rename it, or remove it"
        )


def _files(path: Path, column: "pd.Series") -> list[str]:
    """The images, relative to the table and below its folder, each once."""
    _check_filled(path, column)
    files = [os.path.normpath(str(file).replace("\\", "/")) for file in column]
    for row, file in enumerate(files):
        if file == ".." or file.startswith(("../", "/")) or Path(file).is_absolute():
            raise UserError(
                f"{str(path)!r}: row {row + 2}: path {column.iloc[row]!r} leaves the folder of the table; "
                "put the table above its images and write paths relative to it"
            )
    if len(set(files)) < len(files):
        seen: dict[str, int] = {}
        first, second = next((seen[f], i) for i, f in enumerate(files) if seen.setdefault(f, i) != i)
        raise UserError(
            f"{str(path)!r}: path {files[second]!r} is in rows {first + 2} and {second + 2}; "
            f"{len(files) - len(set(files))} paths come more than once, remove them"
        )
    return files


def _check_filled(path: Path, column: "pd.Series") -> None:
    empty = np.flatnonzero(column.isna() | (column.astype(str).str.strip() == ""))
    if len(empty):
        raise UserError(f"{str(path)!r}: column {column.name!r} is empty in row {empty[0] + 2}")


def _check_level(path: Path, table: "pd.DataFrame", label: str, level: str) -> None:
    _check_filled(path, table[level])
    several = table.groupby(label, sort=False)[level].nunique()
    if level != label and (several > 1).any():
        raise UserError(
            f"{str(path)!r}: column {level!r} is no coarser level, since class {several.idxmax()!r} has "
            f"{several.max()} values in it; remove the column"
        )


def _sortable(column: "pd.Series") -> list[tuple[int | str, str]]:
    """Labels as text, sorted as numbers where all are whole numbers."""
    values = [str(value).strip() for value in column]
    if all(value.removeprefix("-").isdecimal() for value in set(values)):
        return [(int(value), value) for value in values]
    return [(value, value) for value in values]


def _given(path: Path, table: "pd.DataFrame", fine: np.ndarray) -> np.ndarray:
    """The side of each image as the column says, if that is a split by class."""
    side = table["split"].astype(str).str.strip().str.lower().to_numpy()
    remedy = f"to split by class whatever the column says, write {path.name}?split=class"
    other = sorted(set(side) - set(SIDES))
    if other:
        raise UserError(
            f"{str(path)!r}: split {other[0]!r} is none of {', '.join(SIDES)} (validation classes are held "
            f"out by protocol = 'validation'); {remedy}"
        )
    shared = np.intersect1d(fine[side == "train"], fine[side != "train"])
    if len(shared):
        raise UserError(
            f"{str(path)!r}: {len(shared)} classes are in training and in test, which is no split for metric "
            f"learning; {remedy}"
        )
    if {"gallery", "test"} <= set(side):
        raise UserError(f"{str(path)!r}: split has test beside query and gallery; use either")
    return side
