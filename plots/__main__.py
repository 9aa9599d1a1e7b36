"""`python -m plots tables|figures|all`: makes every table and figure from the Parquet in `results/`.

A module of `plots/` that has a KIND is one of them: `make(frame, results)` returns its tables or its drawing.
What cannot be made is listed with its reason, and the others are made all the same.
"""

import argparse
import importlib
import pkgutil
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType

import pandas as pd

import plots.figures
import plots.tables
from benchmark.errors import UserError, unknown
from benchmark.files import replacing
from plots import render, style
from plots.data import Results
from plots.kept import Copied, Kept
from plots.tables._table import Table

FOLDERS = {"table": "tables", "figure": "figures"}
FILES = {"table": ("md", "tex", "csv"), "figure": ("png", "pdf", "txt")}


def modules() -> tuple[dict[str, ModuleType], dict[str, str]]:
    """Every table and figure there is, by name; and what could not be loaded, with the reason."""
    found, broken = {}, {}
    packages = [
        (package, module.name)
        for package in (plots.tables, plots.figures)
        for module in pkgutil.iter_modules(package.__path__)
    ]
    for package, name in sorted(packages, key=lambda pair: pair[1]):
        if name.startswith("_"):
            continue
        try:
            loaded = importlib.import_module(f"{package.__name__}.{name}")
        except Exception as problem:  # somebody's unfinished figure must not cost the others
            broken[name] = f"{type(problem).__name__}: {problem}"
            continue
        if hasattr(loaded, "KIND"):
            found[name] = loaded
    return found, broken


def produce(module: ModuleType, results: Results) -> list[Table] | style.Drawing:
    """What a module makes of its study, or of the whole results folder where it has no STUDY of its own."""
    frame = results.frame(module.STUDY) if module.STUDY else pd.DataFrame()
    made = module.make(frame, results)
    if isinstance(made, list):
        results.tables[module.__name__.rpartition(".")[2]] = made
    return made


def write(name: str, made: list[Table] | style.Drawing, folder: Path) -> None:
    if isinstance(made, style.Drawing):
        style.save(made, name, folder)
        return
    for kind, text in {
        "md": render.markdown(made),
        "tex": render.latex(made),
        "csv": render.as_csv(made),
    }.items():
        with replacing(folder / f"{name}.{kind}") as temporary:
            temporary.write_text(text, encoding="utf-8")


def make_all(kinds: list[str], scale: str, root: Path, only: list[str]) -> dict[str, str]:
    """Make what is asked for; returns name → reason of what could not be made."""
    found, broken = modules()
    known = {name: module for name, module in found.items() if module.KIND in kinds}
    for name in only:
        if name not in known and name not in broken:
            raise unknown("table or figure", name, known, "python -m plots all --list")
    results = Results(root, scale)
    missing = {name: reason for name, reason in broken.items() if name in only or not only}
    for name in [name for name in known if name in only or not only]:
        kind = known[name].KIND
        folder = root / FOLDERS[kind] / scale
        try:
            made = produce(known[name], results)
            write(name, made, folder)
        except Exception as problem:  # one broken table must not cost the others
            told = str(problem) if isinstance(problem, UserError) else f"{type(problem).__name__}: {problem}"
            missing[name] = told
            for suffix in FILES[kind]:  # what is left from another time would pass for a result of this one
                (folder / f"{name}.{suffix}").unlink(missing_ok=True)
            continue
        if isinstance(made, style.Drawing):
            print(f"{folder / name}: {', '.join(FILES[kind])}")
        else:
            ran = [table for table in made if table.ran or table.name == "summary"]
            print(render.terminal(ran))
            if len(ran) < len(made):
                print(f"{name}: the paper's other data sets were not run; its numbers: {folder / name}.md\n")
    if not only:
        _list_missing(missing, known, kinds, root, scale)
    return missing


def _list_missing(
    missing: dict[str, str], known: dict[str, ModuleType], kinds: list[str], root: Path, scale: str
) -> None:
    for kind in kinds:
        lines = [
            f"- {name}: {reason}"
            for name, reason in missing.items()
            if name not in known or kind == known[name].KIND
        ]
        path = root / FOLDERS[kind] / scale / "not_made.md"
        if lines:
            with replacing(path) as temporary:
                temporary.write_text("# Not made, and why\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
        else:
            path.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m plots", description="Make tables and figures from results."
    )
    parser.add_argument("what", choices=["tables", "figures", "all"])
    parser.add_argument("--scale", default="quick", help="quick, laptop or paper")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results")
    parser.add_argument("--only", default="", help="names, with commas between them")
    parser.add_argument("--list", action="store_true", help="list the names and make nothing")
    given = parser.parse_args(arguments)
    kinds = [kind for kind, folder in FOLDERS.items() if given.what in ("all", folder)]
    warnings.simplefilter("always", UserWarning)
    try:
        if given.list:
            for name, module in modules()[0].items():
                if module.KIND in kinds:
                    print(f"{name:24} {module.KIND:7} {(module.__doc__ or '').splitlines()[0]}")
            return 0
        only = [name.strip() for name in given.only.split(",") if name.strip()]
        if only:
            missing = make_all(kinds, given.scale, given.results, only)
            _close(kinds, missing)
            return 1 if missing else 0
        _once(given.what, kinds, given.scale, given.results)
    except UserError as problem:
        print(f"python -m plots: {problem}", file=sys.stderr)
        return 2
    return 0


def _once(what: str, kinds: list[str], scale: str, root: Path) -> None:
    """Makes everything, or says again what it said last time if nothing has changed since."""
    kept = Kept(root, f"{what}-{scale}")
    found = kept.find()
    if found:
        sys.stdout.write(found[0])
        sys.stderr.write(found[1])
        return
    state, out, err = kept.state(), Copied(sys.stdout), Copied(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        _close(kinds, make_all(kinds, scale, root, []))
    folders = [root / FOLDERS[kind] / scale for kind in kinds]
    files = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    kept.keep(state, "".join(out.text), "".join(err.text), files)


def _close(kinds: list[str], missing: dict[str, str]) -> None:
    if "table" in kinds:
        print(render.LEGEND)
    for name, reason in missing.items():
        print(f"not made: {name}: {reason}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
