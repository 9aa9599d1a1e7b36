"""Data sets by name, one module each, found by being here; any other name is a path to your own data.

A module of this folder with a function `open(root)` is a data set: its name is the file's, its summary the
first line of its docstring. Both are read without importing anything, so planning stays fast.
To see them: `python -m benchmark list`.
"""

import ast
import inspect
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import UserError, unknown
from benchmark.files import content_hash

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


@cache
def embedded(name: str) -> bool:
    """Whether a data set comes with the project: its file names no ARCHIVE to unpack."""
    known = parse(name)[0]
    if known not in summaries():
        return False
    tree = ast.parse((Path(__file__).parent / f"{known}.py").read_text(encoding="utf-8"))
    named = [t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)]
    return "ARCHIVE" not in named


def at_hand(name: str, root: Path) -> bool:
    """Whether there is something to open: nothing is downloaded by asking."""
    from benchmark.datasets._tree import find

    known = parse(name)[0]
    if known not in summaries():
        return _found(known, root) is not None
    if embedded(name):
        return True
    module = import_module(f"benchmark.datasets.{known}")
    return find(root, module.FOLDERS, module.MARKERS) is not None


def names() -> list[str]:
    return list(summaries())


def is_path(name: str) -> bool:
    """Whether a data set's name means a file or a folder of the user's; options may follow a "?"."""
    name = name.partition("?")[0]
    return "/" in name or "\\" in name or Path(name).suffix.lower() in (".csv", ".parquet") or name in (".", "..")


OPTIONS = {  # after a "?", as in ./birds.csv?split=class&seed=3
    "missing": "skip: leave out images that are absent, and say how many",
    "split": "class: half of the classes at random; order: the first half; column: as the table says (your own data)",
    "seed": "of the random split (your own data)",
    "label": "the table's column of class names",
    "script": "latin, greek, cyrillic, armenian, georgian: only its letters (glyphs)",
}


def parse(name: str) -> tuple[str, dict[str, str]]:
    """A data set's name without its options, and those: "birds.csv?split=class" is birds.csv, split by class."""
    path, _, text = name.partition("?")
    options = {}
    for part in text.split("&") if text else []:
        key, _, value = part.partition("=")
        if key not in OPTIONS or not value:
            raise unknown("option", part, [f"{option}=…" for option in OPTIONS], "as in birds.csv?split=class")
        options[key] = value
    return path, options


def check_name(name: str) -> None:
    """Raise the error for a name that is neither a data set nor looks like a path, or for an option."""
    if parse(name)[0] not in summaries() and not is_path(name):
        hint = "python -m benchmark list; your own: the path of a CSV, Parquet file or folder, as ./birds.csv"
        raise unknown("data set", name, names(), hint)


def find(name: str, root: Path) -> Path:
    """Where your own data are: at the path itself, or below the data folder."""
    path = _found(parse(name)[0], root)
    if path is None:
        raise UserError(f"data set {name!r}: there is no such file or folder, neither here nor below {str(root)!r}")
    return path


def open_dataset(name: str, root: Path | str) -> "Dataset":
    """The data set of that name below the data folder `root`, or the table or folder at the path `name`."""
    check_name(name)
    given, options = parse(name)
    known = given in summaries()
    place = Path(root) if known else find(name, Path(root))
    module = import_module(f"benchmark.datasets.{given if known else '_own'}")
    if known:
        opener = module.open
    elif place.is_dir():
        opener = module.open_folder
    elif place.suffix.lower() in (".csv", ".parquet"):
        opener = module.open_table
    else:
        raise UserError(f"data set {name!r} is a {place.suffix or 'plain'} file; expected .csv, .parquet or a folder")
    taken = inspect.signature(opener).parameters
    for option in options:
        if option not in taken:
            can = [o for o in OPTIONS if o in taken]
            raise UserError(f"data set {name!r} has no option {option!r}; it has {', '.join(can) if can else 'none'}")
    return opener(place, **options)


def weights_file(name: str, root: Path) -> Path | None:
    """The file that a spec's `weights` names; "FILE@HASH" must have that content, which is so part of the run."""
    if not name:
        return None
    file, _, wanted = name.partition("@")
    path = _found(file, root)
    if path is None or not path.is_file():
        raise UserError(
            f"weights = {file!r}: there is no such file, neither here nor below {str(root)!r}; where there is "
            "a network, torchvision's ResNet-50 does without: --set backbone=resnet50 --set weights="
        )
    if wanted and content_hash(path) != wanted:
        raise UserError(
            f"weights {str(path)!r} have the content {content_hash(path)} and not {wanted}; "
            f"runs with these are other runs: --set weights={file}"
        )
    return path


def pinned_weights(name: str, root: Path | None) -> str:
    """`name` with the hash of its content, where the file is at hand."""
    path = _found(name, root or Path()) if name and "@" not in name else None
    return f"{name}@{content_hash(path)}" if path and path.is_file() else name


def _found(name: str, root: Path) -> Path | None:
    """A file or folder of the user's: as it stands, or below the data folder."""
    return next((path for path in (Path(name), root / name) if path.exists()), None)
