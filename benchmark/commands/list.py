"""Shows methods, data sets, studies, settings and the fields of a run.

python -m benchmark list
python -m benchmark list fields
"""

import argparse
import inspect
import re
from collections.abc import Callable, Iterable

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
        names, words = ABOUT[kind]
        width = max(map(len, names()), default=0)
        for name in names():
            try:
                text = words(name)
            except UserError as problem:  # a broken one does not hide the others
                text = f"cannot be read: {problem}"
            print(f"  {name:{width}}  {text}".rstrip())
        print()
    return 0


def _method(name: str) -> str:
    card = baselines.card(name)
    return f"{card.summary} [{card.source}{'; ' if card.source else ''}{card.group}]"


def _study(name: str) -> str:
    one = study.load(name)
    return f"{one.title} [{one.paper}]" if one.paper else one.title


def _setting(name: str) -> str:
    fields, by_dataset = settings.SETTINGS[name]
    shown = ", ".join(f"{key}={value}" for key, value in fields.items())
    return shown + (f"; own values for {', '.join(by_dataset)}" if by_dataset else "")


def _field(name: str) -> str:
    field = FIELDS[name]
    choices = f" ({', '.join(CHOICES[name])})" if name in CHOICES else ""
    default = "" if name in ("dataset", "params") else f" = {field.default!r}"
    comment = re.search(rf"^    {name}: [^#\n]*  (# .*)$", inspect.getsource(RunSpec), re.MULTILINE)
    return f"{getattr(field.type, '__name__', field.type)}{default}{choices}" + (f"  {comment[1]}" if comment else "")


ABOUT: dict[str, tuple[Callable[[], Iterable[str]], Callable[[str], str]]] = {  # kind → its names, and a name in words
    "methods": (baselines.names, _method),
    "datasets": (datasets.names, lambda name: datasets.summaries()[name]),
    "studies": (study.names, _study),
    "settings": (settings.names, _setting),
    "fields": (lambda: FIELDS, _field),
}
