"""Which data sets are in a folder, whether they are whole, and where the rest comes from.

`python -m benchmark doctor --data DIR` prints this; nothing is downloaded by looking.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmark.datasets import names
from benchmark.datasets._tree import find
from benchmark.errors import UserError


@dataclass(frozen=True)
class Finding:
    name: str
    state: str  # "whole", "incomplete", "absent" or "embedded"
    message: str  # counts, what is wrong, or where to get it


def survey(root: Path | str) -> list[Finding]:
    return [_find(name, Path(root)) for name in names()]


def _find(name: str, root: Path) -> Finding:
    module = import_module(f"benchmark.datasets.{name}")
    archive = getattr(module, "ARCHIVE", None)
    if archive is None:
        return Finding(name, "embedded", "comes with the project")
    if find(root, module.FOLDERS, module.MARKERS) is None:
        return Finding(name, "absent", f"unpack {archive} into {module.FOLDERS[0]}")
    try:
        return Finding(name, "whole", module.open(root).summary())
    except UserError as error:
        return Finding(name, "incomplete", str(error))
