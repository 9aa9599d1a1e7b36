"""Options that `plan`, `run` and `status` share: which studies, at which scale, on which data, with which results.

`command` writes them back as something to type: what is printed as the next command works as it stands.
"""

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark import datasets
from benchmark.errors import UserError
from benchmark.planning import study, tuning
from benchmark.planning.identity import EXECUTOR, Identity, seen, with_data
from benchmark.planning.plan import Family, Known, families
from benchmark.results.store import Outcome, Store

RESULTS, DATA, SCALE = Path("results"), Path("data"), "quick"
SHARED: dict[str, dict[str, Any]] = {  # options of several commands
    "dataset": {"metavar": "DATASET", "help": "a name, or the path of a CSV, Parquet file or folder"},
    "--data": {"type": Path, "default": DATA, "metavar": "DIR", "help": f"default: {DATA}"},
    "--results": {"type": Path, "default": RESULTS, "metavar": "DIR", "help": f"default: {RESULTS}"},
    "--no-reference": {"action": "store_true", "help": "ignore the runs in results/reference"},
    "--executor": {"metavar": "MODULE:FUNCTION", "default": EXECUTOR, "help": f"what does a run (default: {EXECUTOR})"},
}


def add(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        parser.add_argument(name, **SHARED[name])


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("studies", nargs="+", metavar="STUDY", help='names, paths of .toml files, or "all"')
    parser.add_argument("--scale", default=SCALE, help=f"{', '.join(study.SCALES)} (default: {SCALE})")
    override = "override a study key or a field of its runs: seeds=2, tuning.trials=3, epochs=4"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help=override)
    parser.add_argument("--datasets", default="", metavar="A,B", help="on these data sets instead of the study's own")
    parser.add_argument("--methods", default="", metavar="A,B", help="these methods instead of the study's own")
    add(parser, "--data", "--results", "--no-reference", "--executor")


def used(folder: Path) -> int:
    """Bytes of the disk that the files below a folder take."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def load(args: argparse.Namespace) -> list[study.Study]:
    asked = study.names() if args.studies == ["all"] else args.studies
    if len({Path(name).stem for name in asked}) < len(asked):
        raise UserError(f"a study is named twice: {' '.join(asked)}")
    only = names(args.datasets), names(args.methods)
    loaded = [study.load(name, args.scale, args.overrides, *only, args.data) for name in asked]
    for name in sorted({name for one in loaded for name in one.datasets if datasets.is_path(name)}):
        datasets.find(name, args.data)
    return loaded


def planned(
    args: argparse.Namespace, outcomes: Mapping[str, Outcome]
) -> Iterator[tuple[study.Study, list[Family], list[Known]]]:
    """The studies on the data that there are, with all runs that follow from what is stored."""
    identity = Identity(args.data, args.executor, seen(outcomes.values()))
    studies, absent = with_data(load(args), identity)
    if absent:
        print(f"not found below {args.data}, so left out: {', '.join(absent)} (python -m benchmark doctor)")
    tuning.recall(args.results)
    for one in studies:
        found = families(one, identity)
        yield one, found, [family.known(outcomes) for family in found]


def store(args: argparse.Namespace) -> Store:
    return Store(args.results, not args.no_reference, notify=lambda text: print(f"warning: {text}", file=sys.stderr))


def command(args: argparse.Namespace, verb: str, *more: str) -> str:
    """What to type to do `verb` with the same studies, data and results."""
    words = ["python", "-m", "benchmark", verb, *args.studies]
    words += ["--scale", args.scale] if args.scale != SCALE else []
    words += [word for text in args.overrides for word in ("--set", text)]
    defaults = {"datasets": "", "methods": "", "data": DATA, "results": RESULTS, "executor": EXECUTOR}
    for option, default in defaults.items():
        value = getattr(args, option)
        words += [f"--{option}", str(value)] if value != default else []
    words += ["--no-reference"] if args.no_reference else []
    return shlex.join([*words, *more])


def names(text: str) -> list[str]:
    """What stands in "a, b"."""
    return [name.strip() for name in text.split(",") if name.strip()]
