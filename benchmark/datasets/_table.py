"""Your own data as a table: a CSV or Parquet file with the columns path, label, coarser labels and split.

`path` is relative to the table, `label` the class (fine and class do too), `split` train or test (or query
and gallery); every other column is a coarser level. As `birds.csv?split=class` the classes are split from a
seed, whatever the column says.
"""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.datasets._dataset import Dataset, FileSource, fingerprint, levelled
from benchmark.datasets._split import by_class
from benchmark.datasets._tree import present, sizes
from benchmark.errors import UserError

LABELS = ("label", "fine", "class")  # accepted names of the class column, in this order
SIDES = ("train", "test", "query", "gallery")


def open_table(path: Path, split: str = "", seed: str = "0", label: str = "", missing: str = "") -> Dataset:
    table = _read(path)
    label = _label_column(path, table, label)
    _check_split_column(path, table, label)
    files = _files(path, table["path"])
    there = present(path.parent, files, missing, option=f"{path.name}?missing=skip")
    if not there.all():
        table, files = table[there], [file for file, kept in zip(files, there, strict=True) if kept]
    levels = [label, *(c for c in table.columns if c not in ("path", "split", label))]
    for level in levels:
        _check_level(path, table, label, level)
    labels, names = levelled(*[_sortable(table[level]) for level in levels])
    gallery = None
    how = split or ("column" if "split" in table else "class")
    if how == "column":
        train, query, gallery = _given(path, table, labels[:, 0])
    else:
        train, query = by_class(labels[:, 0], how, seed)
    return Dataset(
        name=f"{path.resolve().parent.name}/{path.name}",
        levels=tuple(levels),
        labels=labels,
        names=names,
        train=train,
        query=query,
        gallery=gallery,
        source=FileSource(path.parent, files),
        fingerprint=fingerprint(files, labels, train, query, sizes(path.parent, files)),
        missing=int((~there).sum()),
        notes=(_roles(levels, how),),
    )


def _roles(levels: list[str], how: str) -> str:
    """Which column is what."""
    coarser = f", coarser levels {', '.join(map(repr, levels[1:]))}" if levels[1:] else ""
    split = "as column 'split' says" if how == "column" else "by class" if how == "class" else "by order"
    return f"images are column 'path', classes {levels[0]!r}{coarser}; split {split}"


def _read(path: Path) -> pd.DataFrame:
    try:
        if path.suffix.lower() == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(
                path,
                dtype=str,
                encoding="utf-8-sig",
                skipinitialspace=True,
                keep_default_na=False,  # NA, None and null are labels; only nothing is nothing
                na_values=[""],
            )
    except Exception as error:  # pandas and pyarrow raise many kinds for a damaged file
        raise UserError(f"{str(path)!r} cannot be read as a table: {error}") from None
    table.columns = [str(c).strip() for c in table.columns]
    if "path" not in table:
        raise UserError(
            f"{str(path)!r} has no column 'path'; it has {', '.join(table.columns)}"
            f"{_near('path', table.columns)}. Expected: path,label[,coarser labels][,split]"
        )
    if table.empty:
        raise UserError(f"{str(path)!r} has no rows")
    return table


def _label_column(path: Path, table: pd.DataFrame, label: str) -> str:
    found = next((c for c in ([label] if label else LABELS) if c in table), None)
    if found is None:
        raise UserError(
            f"{str(path)!r} has no column {label or 'label'!r}; it has {', '.join(table.columns)}"
            f"{_near(label or 'label', table.columns)}. Rename the column of class names to 'label', or "
            f"write {path.name}?label=COLUMN"
        )
    return found


def _near(name: str, columns: Iterable[str]) -> str:
    """What to say of the column that is nearly called `name`."""
    by_lower = {column.lower(): column for column in columns}
    found = difflib.get_close_matches(name, by_lower, n=1, cutoff=0.75)
    return f"; is {by_lower[found[0]]!r} meant? Then write {name!r}" if found else ""


def _check_split_column(path: Path, table: pd.DataFrame, label: str) -> None:
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


def _files(path: Path, column: pd.Series) -> list[str]:
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


def _check_filled(path: Path, column: pd.Series) -> None:
    empty = np.flatnonzero(column.isna() | (column.astype(str).str.strip() == ""))
    if len(empty):
        raise UserError(f"{str(path)!r}: column {column.name!r} is empty in row {empty[0] + 2}")


def _check_level(path: Path, table: pd.DataFrame, label: str, level: str) -> None:
    _check_filled(path, table[level])
    several = table.groupby(label, sort=False)[level].nunique()
    if level != label and (several > 1).any():
        raise UserError(
            f"{str(path)!r}: column {level!r} is no coarser level, since class {several.idxmax()!r} has "
            f"{several.max()} values in it; remove the column"
        )


def _sortable(column: pd.Series) -> list[tuple[int | str, str]]:
    """Labels as text, sorted as numbers where all are whole numbers."""
    values = [str(value).strip() for value in column]
    if all(value.removeprefix("-").isdecimal() for value in set(values)):
        return [(int(value), value) for value in values]
    return [(value, value) for value in values]


def _given(path: Path, table: pd.DataFrame, fine: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Train, query and gallery as the column says, if that is a split by class."""
    side = table["split"].astype(str).str.strip().str.lower().to_numpy()
    remedy = f"to split by class whatever the column says, write {path.name}?split=class"
    other = sorted(set(side) - set(SIDES))
    if other:
        raise UserError(
            f"{str(path)!r}: split {other[0]!r} is none of {', '.join(SIDES)} (validation classes are held "
            f"out by protocol = 'validation'); {remedy}"
        )
    train, test, query, gallery = (np.flatnonzero(side == s) for s in SIDES)
    shared = np.intersect1d(fine[train], fine[np.flatnonzero(side != "train")])
    if len(shared):
        raise UserError(
            f"{str(path)!r}: {len(shared)} classes are in training and in test, which is no split for metric "
            f"learning; {remedy}"
        )
    if len(gallery) and len(test):
        raise UserError(f"{str(path)!r}: split has test beside query and gallery; use either")
    return (train, query, gallery) if len(gallery) else (train, np.sort(np.r_[test, query]), None)
