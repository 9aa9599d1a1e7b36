"""Options that `plan`, `run` and `status` share: which studies, at which scale, with which results."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmark.errors import UserError
from benchmark.planning import study
from benchmark.planning.identity import EXECUTOR, Identity, seen, with_data
from benchmark.results.store import Outcome, Store


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("studies", nargs="+", metavar="STUDY", help='names, paths of .toml files, or "all"')
    parser.add_argument("--scale", default="quick", help=f"{', '.join(study.SCALES)} (default: quick)")
    override = "override a study key or a field of its runs: seeds=2, tuning.trials=3, epochs=4"
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help=override
    )
    parser.add_argument(
        "--datasets", default="", metavar="A,B", help="on these data sets instead of the study's own"
    )
    parser.add_argument(
        "--methods", default="", metavar="A,B", help="these methods instead of the study's own"
    )
    parser.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="default: data")
    results(parser)


def results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )
    parser.add_argument("--no-reference", action="store_true", help="ignore the runs in results/reference")


def load(args: argparse.Namespace) -> list[study.Study]:
    asked = study.names() if args.studies == ["all"] else args.studies
    if len({Path(name).stem for name in asked}) < len(asked):
        raise UserError(f"a study is named twice: {' '.join(asked)}")
    return [
        study.load(name, args.scale, args.overrides, _names(args.datasets), _names(args.methods), args.data)
        for name in asked
    ]


def with_identity(
    args: argparse.Namespace, outcomes: Mapping[str, Outcome]
) -> tuple[list[study.Study], Identity]:
    """The studies, on the data that there are, and the code and data that their runs would be made of."""
    identity = Identity(args.data, getattr(args, "executor", EXECUTOR), seen(outcomes.values()))
    studies, absent = with_data(load(args), identity)
    if absent:
        print(f"not found below {args.data}, so left out: {', '.join(absent)} (python -m benchmark doctor)")
    return studies, identity


def store(args: argparse.Namespace) -> Store:
    return Store(
        args.results, not args.no_reference, notify=lambda text: print(f"warning: {text}", file=sys.stderr)
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
