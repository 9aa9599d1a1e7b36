"""Shows methods, data sets, studies, settings and the fields of a run.

python -m benchmark list
python -m benchmark list fields
"""

import argparse
import inspect
import re
from collections.abc import Iterable

import baselines
from benchmark import datasets
from benchmark.errors import UserError
from benchmark.planning import settings, study
from benchmark.spec import CHOICES, FIELDS, RunSpec

KINDS = ("methods", "datasets", "studies", "settings", "fields")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", choices=KINDS, help="only these (default: all but settings and fields)")


def execute(args: argparse.Namespace) -> int:
    for kind in [args.kind] if args.kind else KINDS[:3]:
        print(f"{kind}:")
        print_columns(ROWS[kind]())
        print()
    return 0


def print_columns(rows: Iterable[tuple[str, str]]) -> None:
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        print(f"  {name:{width}}  {text}".rstrip())


def _methods() -> list[tuple[str, str]]:
    rows = []
    for name in baselines.names():
        try:
            card = baselines.card(name)
            source = f"{card.source}; " if card.source else ""
            rows.append((name, f"{card.summary} [{source}{card.group}]"))
        except UserError as problem:  # a broken one does not hide the others
            rows.append((name, f"cannot be read: {problem}"))
    return rows


def _studies() -> list[tuple[str, str]]:
    rows = []
    for name in study.names():
        try:
            one = study.load(name)
            rows.append((name, f"{one.title} [{one.paper}]" if one.paper else one.title))
        except UserError as problem:  # a broken one does not hide the others
            rows.append((name, f"cannot be read: {problem}"))
    return rows


def _settings() -> list[tuple[str, str]]:
    rows = []
    for name in settings.names():
        fields, by_dataset = settings.SETTINGS[name]
        shown = ", ".join(f"{key}={value}" for key, value in fields.items())
        rows.append((name, shown + (f"; own values for {', '.join(by_dataset)}" if by_dataset else "")))
    return rows


def _fields() -> list[tuple[str, str]]:
    rows = []
    comments = dict(re.findall(r"^    (\w+): [^#]*  # (.*)$", inspect.getsource(RunSpec), re.MULTILINE))
    for name, field in FIELDS.items():
        kind = getattr(field.type, "__name__", str(field.type))
        choices = f" ({', '.join(CHOICES[name])})" if name in CHOICES else ""
        default = "" if name in ("dataset", "params") else f" = {field.default!r}"
        comment = f"  # {comments[name]}" if name in comments else ""
        rows.append((name, f"{kind}{default}{choices}{comment}"))
    return rows


ROWS = {
    "methods": _methods,
    "datasets": lambda: list(datasets.summaries().items()),
    "studies": _studies,
    "settings": _settings,
    "fields": _fields,
}
