"""Every table and figure there is, by name, and the studies that each is made from.

A function of `plots/tables/` or `plots/figures/` that is `@made_from` studies is one of them: its name is that of the
files, the first line of its docstring (or of its module's) says what it is. Modules that start with an underscore are
shared parts.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from plots.data import Results

FOLDERS = {"table": "tables", "figure": "figures"}  # kind → package, and folder of the files
Make = Callable[..., Any]


@dataclass(frozen=True)
class Entry:
    name: str
    kind: str  # table, figure
    about: str
    make: Make  # (frame of its study, results), or (results) where it has none
    study: str = ""  # "": whatever the results folder has
    needs: tuple[str, ...] = ()  # studies beside its own
    last: bool = False  # it counts what other tables say

    def produce(self, results: Results) -> Any:
        """A list of tables, or a drawing."""
        made = self.make(results.frame(self.study), results) if self.study else self.make(results)
        if self.kind == "table":
            results.tables[self.name] = made
        return made


def made_from(study: str = "", *needs: str, last: bool = False) -> Callable[[Make], Make]:
    """Marks a function as a table or figure, made from a study (none: from all there are) and what else it needs."""

    def mark(make: Make) -> Make:
        kind = next(kind for kind, folder in FOLDERS.items() if f".{folder}." in make.__module__)
        about = (make.__doc__ or sys.modules[make.__module__].__doc__ or make.__name__).splitlines()[0]
        make.entry = Entry(make.__name__, kind, about, make, study, needs, last)  # type: ignore[attr-defined]
        return make

    return mark


def entries(kinds: Iterable[str] = tuple(FOLDERS)) -> tuple[dict[str, Entry], dict[str, str]]:
    """What there is, by name; and the modules that could not be loaded, with the reason."""
    found: dict[str, Entry] = {}
    broken: dict[str, str] = {}
    for folder in (FOLDERS[kind] for kind in kinds):
        package = importlib.import_module(f"plots.{folder}")
        for name in [module.name for module in pkgutil.iter_modules(package.__path__)]:
            if name.startswith("_"):
                continue
            try:
                module = importlib.import_module(f"plots.{folder}.{name}")
            except Exception as problem:  # somebody's unfinished figure must not cost the others
                broken[name] = f"{type(problem).__name__}: {problem}"
                continue
            for value in vars(module).values():
                if hasattr(value, "entry") and value.__module__ == module.__name__:
                    found[value.entry.name] = value.entry
    return dict(sorted(found.items())), broken


def needed(kinds: Iterable[str]) -> list[str]:
    """The studies to run for every table or figure."""
    return sorted({study for one in entries(kinds)[0].values() for study in (one.study, *one.needs)} - {""})
