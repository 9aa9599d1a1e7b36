"""Data sets by name, one module each, found by being here; any other name is a path to your own data.

A module of this folder with a function `open(root)` is a data set: its name is the file's, its summary the
first line of its docstring. Both are read without importing anything, so planning stays fast.
To see them: `python -m benchmark list`.
"""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import UserError, unknown

if TYPE_CHECKING:
    from benchmark.datasets._dataset import Dataset


@cache
def summaries() -> dict[str, str]:
    """Name and first docstring line of every data set."""
    found = {}
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "open" for node in tree.body):
            found[file.stem] = (ast.get_docstring(tree) or "").split("\n")[0]
    return found


def names() -> list[str]:
    return list(summaries())


def is_path(name: str) -> bool:
    """Whether a data set's name means a file or a folder of the user's; options may follow a "?"."""
    name = name.partition("?")[0]
    return (
        "/" in name
        or "\\" in name
        or Path(name).suffix.lower() in (".csv", ".parquet")
        or name in (".", "..")
    )


OPTIONS = {  # of your own data, as in ./birds.csv?split=class&seed=3
    "split": "class: half of the classes at random; order: the first half; column: as the table says",
    "seed": "of the random split",
    "label": "the table's column of class names",
}


def parse(name: str) -> tuple[str, dict[str, str]]:
    """The path and the options of your own data: "birds.csv?split=class" is birds.csv, split by class."""
    path, _, text = name.partition("?")
    options = {}
    for part in text.split("&") if text else []:
        key, _, value = part.partition("=")
        if key not in OPTIONS or not value:
            raise unknown(
                "option", part, [f"{option}=…" for option in OPTIONS], "as in birds.csv?split=class"
            )
        options[key] = value
    return path, options


def check_name(name: str) -> None:
    """Raise the error for a name that is neither a data set nor looks like a path."""
    if name not in summaries() and not is_path(name):
        hint = "python -m benchmark list; your own: the path of a CSV, Parquet file or folder, as ./birds.csv"
        raise unknown("data set", name, names(), hint)


def open_dataset(name: str, root: Path | str) -> "Dataset":
    """The data set of that name below the data folder `root`, or the table or folder at the path `name`."""
    check_name(name)
    root = Path(root)
    if name in summaries():
        return import_module(f"benchmark.datasets.{name}").open(root)
    given, options = parse(name)
    path = next((p for p in (Path(given), root / given) if p.exists()), None)
    if path is None:
        raise UserError(
            f"data set {name!r}: there is no such file or folder, neither here nor below {str(root)!r}"
        )
    if path.is_dir():
        return import_module("benchmark.datasets._folder").open_folder(path, **options)
    if path.suffix.lower() in (".csv", ".parquet"):
        return import_module("benchmark.datasets._table").open_table(path, **options)
    raise UserError(
        f"data set {name!r} is a {path.suffix or 'plain'} file; expected .csv, .parquet or a folder"
    )
