"""`python -m plots tables|figures|all`: makes every table and figure from the Parquet in `results/`.

What cannot be made is listed with its reason, and the others are made all the same. `python -m plots needs tables`
prints the studies that tables are made from, for `make` to run; `python -m plots claims` writes CLAIMS.md.
"""

import sys
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from benchmark.errors import DISK, Parser, UserError, answered, unknown
from benchmark.files import replacing
from benchmark.planning.study import SCALES
from plots import render
from plots.cache import Cache, Copied
from plots.catalogue import FOLDERS, Entry, entries, needed
from plots.data import Results

FILES = {"table": ("md", "tex", "csv"), "figure": ("png", "pdf", "txt")}


def write(entry: Entry, made: Any, folder: Path) -> None:
    if entry.kind == "figure":
        from plots.figures._drawing import save

        save(made, entry.name, folder)
        return
    texts = {"md": render.markdown(made), "tex": render.latex(made), "csv": render.as_csv(made)}
    for kind, text in texts.items():
        with replacing(folder / f"{entry.name}.{kind}") as temporary:
            temporary.write_text(text, encoding="utf-8")


def make_all(kinds: list[str], scale: str, root: Path, only: list[str], data: Path) -> tuple[dict[str, str], bool]:
    """Make what is asked for; returns name → reason of what could not be made, and whether a module crashed."""
    known, broken = entries(kinds)
    strange = [name for name in only if name not in known]
    if strange and not broken:
        raise unknown("table or figure", strange[0], known, "python -m plots all --list")
    results = Results(root, scale, data=data)
    missing = dict(broken) if strange or not only else {}
    crashed = bool(missing)
    for name, entry in known.items():
        if only and name not in only:
            continue
        folder = root / FOLDERS[entry.kind] / scale
        try:
            made = entry.produce(results)
            write(entry, made, folder)
        except Exception as problem:  # one broken table must not cost the others
            if isinstance(problem, OSError) and problem.errno in DISK:
                raise
            missing[name] = str(problem)
            if not isinstance(problem, UserError):
                missing[name], crashed = f"{type(problem).__name__}: {problem}", True
                traceback.print_exc()
            for suffix in FILES[entry.kind]:  # what is left from another time would pass for a result of this one
                (folder / f"{name}.{suffix}").unlink(missing_ok=True)
            continue
        if entry.kind == "figure":
            print(f"{folder / name}: {', '.join(FILES[entry.kind])}")
        else:
            ran = [table for table in made if table.ran or table.name == "summary"]
            print(render.terminal(ran))
            if len(ran) < len(made):
                print(f"{name}: the paper's other data sets were not run; its numbers: {folder / name}.md\n")
    for kind in [] if only else kinds:
        _list_missing(
            {name: reason for name, reason in missing.items() if name not in known or known[name].kind == kind},
            root / FOLDERS[kind] / scale / "not_made.md",
        )  # fmt: skip
    if "table" in kinds:
        print(render.LEGEND)
    for name, reason in missing.items():
        print(f"not made: {name}: {reason}", file=sys.stderr)
    return missing, crashed


def _list_missing(missing: dict[str, str], path: Path) -> None:
    if not missing:
        path.unlink(missing_ok=True)
        return
    lines = [f"- {name}: {reason}\n" for name, reason in missing.items()]
    with replacing(path) as temporary:
        temporary.write_text("# Not made, and why\n\n" + "".join(lines), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    return answered(lambda: _main(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: list[str]) -> int:
    parser = Parser(prog="python -m plots", description="Make tables and figures from results.")
    parser.add_argument("what", choices=["tables", "figures", "all", "needs", "claims"])
    parser.add_argument("of", nargs="?", choices=["tables", "figures"], help="what `needs` is asked for")
    parser.add_argument("--scale", default="quick", help=f"{', '.join(SCALES)} (default: quick)")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of data sets, for their images")
    parser.add_argument("--output", type=Path, default=Path("CLAIMS.md"), help="file that `claims` writes")
    parser.add_argument("--only", default="", help="names, with commas between them")
    parser.add_argument("--list", action="store_true", help="list the names and make nothing")
    given = parser.read(arguments)
    what = given.of or "all" if given.what == "needs" else given.what
    kinds = [kind for kind, folder in FOLDERS.items() if what in ("all", folder)]
    warnings.simplefilter("always", UserWarning)
    if given.what == "needs":
        print(*needed(kinds))
        return 0
    if given.what == "claims":
        from plots.claims import page

        page.write(given.results, given.output)
        print(given.output)
        return 0
    if given.scale not in SCALES:
        raise unknown("scale", given.scale, SCALES)
    if given.list:
        for name, entry in entries(kinds)[0].items():
            print(f"{name:24} {entry.kind:7} {entry.about}")
        return 0
    only = [name.strip() for name in given.only.split(",") if name.strip()]
    if only:
        missing, _ = make_all(kinds, given.scale, given.results, only, given.data)
        return 1 if missing else 0
    return _once(given.what, kinds, given.scale, given.results, given.data)


def _once(what: str, kinds: list[str], scale: str, root: Path, data: Path) -> int:
    """Makes everything, or says again what it said last time if nothing has changed since."""
    cache = Cache(root, f"{what}-{scale}", data)
    found = cache.find()
    if found:
        sys.stdout.write(found[0])
        sys.stderr.write(found[1])
        return 0
    state, out, err = cache.state(), Copied(sys.stdout), Copied(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        _, crashed = make_all(kinds, scale, root, [], data)
    if crashed:  # to be seen again next time
        return 1
    folders = [root / FOLDERS[kind] / scale for kind in kinds]
    files = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    cache.keep(state, "".join(out.text), "".join(err.text), files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
