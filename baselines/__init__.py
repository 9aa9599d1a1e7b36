"""The methods: one file each, found by its presence; a new file is a new row of every table.

`names()` and `card(name)` read the files without importing them, since planning needs no torch; `build(name, ...)` makes the
loss that the trainer calls. Files that start with an underscore are parts that methods share.
`python -m benchmark list` shows the cards.
"""

import ast
import hashlib
import importlib
import inspect
import math
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark import sources
from benchmark.errors import UserError, unknown

if TYPE_CHECKING:
    import torch

    from baselines._loss import Loss

FOLDER = Path(__file__).parent
LIST = "python -m benchmark list"
# What a file may say about its method, as literals; TITLE it must.
WORDS = (
    "TITLE", "SOURCE", "GROUP", "YEAR", "SAMPLER", "WARM_UP", "NEEDS", "PARAMS", "SEARCH", "TRAINS",
    "PROXIES",
)  # fmt: skip
# the rest stands in the spec, or changes no run
TOLD = tuple(word for word in WORDS if word not in ("NEEDS", "TRAINS"))
SAMPLERS = ("balanced", "shuffle")
GROUPS = {
    "paper": "trained in the paper",
    "copied": "copied by the paper from others",
    "since": "came later, or is expected by readers",  # and a file that says no group
}
NEEDS = {
    "features": "the pooled features of the batch with their gradient, and the head as a function",
    "levels": "the labels of the batch at every level of the hierarchy",
}

# What every method accepts beside its own PARAMS: two regularisers, off unless a file says otherwise: on the mean similarity
# (paper eq. 7), and the threshold-consistent margin (Zhang et al. 2024), with one weight for λ+ = λ−.
REGULARISER: dict[str, Any] = {
    "gamma": 0.0,  # γ, its weight
    "s_tilde": 0.3,  # s̃, the mean cosine similarity that it pulls towards
    "reg_form": "added",  # added: base + γ·reg (main setting); mixed: (1 − γ)·base + γ·reg (regulariser table)
    "tcm": 0.0,  # λ, weight of the threshold-consistent margin, 1 in its publication
    "tcm_pos_margin": 0.9,  # m+, positive pairs below are drawn together, publication
    "tcm_neg_margin": 0.5,  # m−, negative pairs above are pushed apart, publication
}
LATER = (  # not in a spec that leaves them alone: older run_ids stay
    "tcm", "tcm_pos_margin", "tcm_neg_margin",
)  # fmt: skip


@dataclass(frozen=True)
class Card:
    """What a method's file says about itself."""

    name: str
    title: str  # in tables
    summary: str  # first line of the docstring: what the loss optimises
    source: str
    group: str  # paper | copied | since: what studies may name instead of methods
    year: int | None  # of its publication
    sampler: str  # batches that the loss asks for: balanced | shuffle
    warm_up: bool  # whether its proxies train before the backbone does, where the setting has such epochs
    proxies: bool  # whether it learns proxies, whose learning rate is then tuned beside the other
    needs: tuple[str, ...]  # what its forward sees beyond embeddings and labels: () | features | levels
    params: dict[str, Any]  # every parameter and its default, the regulariser's included
    search: dict[str, Any]  # what is tuned beside the learning rate, in the same trials: lists of values, or ranges
    trains: bool


def names() -> list[str]:
    """Every method, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def groups() -> dict[str, list[str]]:
    """Words that stand for several methods: all, and each group."""
    cards = []
    for name in names():
        try:
            cards.append(card(name))
        except UserError as problem:  # one broken file does not cost the others
            warnings.warn(f"{problem}; {name!r} is left out", stacklevel=2)
    return {"all": [c.name for c in cards]} | {group: [c.name for c in cards if c.group == group] for group in GROUPS}


def card(name: str) -> Card:
    if name not in names():
        raise unknown("method", name, names(), LIST)
    path = FOLDER / f"{name}.py"
    return _read(path, path.stat().st_mtime_ns)


def fingerprint(name: str, base: object = None) -> str:
    """Of the method's code: its file, the shared parts it is built from and the wrapper around every loss.

    What a file says of its method without changing a run (title, source, what is searched) does not count. Of a method on top
    of another, that one counts too: the `base` that is given, or the default.
    """
    paths = [FOLDER / f"{card(name).name}.py", FOLDER / "_loss.py"]
    prints = [sources.fingerprint(path, FOLDER.parent, without=("benchmark",), aside=TOLD) for path in paths]
    base = base or card(name).params.get("base")
    prints += [fingerprint(base)] if base in names() else []
    return hashlib.sha256("".join(prints).encode()).hexdigest()[:16]


def build(
    name: str,
    *,
    num_classes: int,
    embedding_dim: int,
    feature_dim: int | None = None,
    generator: "torch.Generator | None" = None,
    **params: Any,
) -> "Loss":
    """The loss as a module: forward(embeddings (n, d), labels (n,)) -> scalar, with `Seen` where its file says NEEDS.

    `feature_dim` is the width of the features that a method may see; `generator` draws what the method draws
    (proxies, triplets); without one, it is derived from the method's name.
    """
    from baselines._loss import Loss
    from benchmark.seeds import torch_generator

    values = checked_params(card(name), params)
    for what, size in (("num_classes", num_classes), ("embedding_dim", embedding_dim)):
        if not isinstance(size, int) or size < 1:
            raise UserError(f"{what} = {size!r} must be a whole number from 1 on")
    make = importlib.import_module(f"baselines.{name}").build
    own = {key: value for key, value in values.items() if key not in REGULARISER}
    wanted = inspect.signature(make).parameters
    if "generator" in wanted:
        own["generator"] = generator or torch_generator("baselines", name)
    if "feature_dim" in wanted:
        if feature_dim is None:
            raise UserError(f"{name} sees the features of the backbone; give feature_dim = their number")
        own["feature_dim"] = feature_dim
    if "gamma" in wanted:  # a loss whose own weights depend on the regulariser's
        own["gamma"] = values["gamma"]
    base = make(num_classes=num_classes, embedding_dim=embedding_dim, **own)
    regulariser = {key: values[key] for key in REGULARISER}
    return Loss(base, embedding_dim=embedding_dim, needs=card(name).needs, **regulariser)


def checked_params(of: Card, params: dict[str, Any]) -> dict[str, Any]:
    """`of.params` updated with `params`, or a UserError that names what fits."""
    values = dict(of.params)
    for key, value in params.items():
        if key not in values:
            raise unknown(f"parameter of {of.name}", key, values, LIST)
        values[key] = _like(value, of.params[key], f"{of.name}: {key} = {value!r}")
    return values


def _like(value: Any, default: Any, given: str) -> Any:
    """`value` as the kind of its default; None stands for a number that is worked out from others."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if isinstance(default, int) and not isinstance(default, bool):
        if number and value == int(value):
            return int(value)
        raise UserError(f"{given} must be a whole number (default {default})")
    if default is None or isinstance(default, float):
        if number or (value is None and default is None):
            return value
        raise UserError(f"{given} must be a number (default {default})")
    if not isinstance(value, type(default)):
        raise UserError(f"{given} must be of the kind of its default, {default!r}")
    return value


def check_choices(choices: Any, what: str) -> None:
    """What may be tuned over: a list of values, or a range {"low": 0.2, "high": 1.0, "log": False}."""
    if isinstance(choices, list) and choices:
        return
    if isinstance(choices, dict) and {"low", "high"} <= choices.keys() <= {"low", "high", "log"}:
        low, high = choices["low"], choices["high"]
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (low, high))
        if numbers and low < high and (low > 0 or not choices.get("log")):
            return
    raise UserError(
        f"{what} = {choices!r} must be a list of values or a rising range such as "
        '{"low": 0.1, "high": 1.0, "log": True}'
    )


@cache
def _read(path: Path, modified: int) -> Card:
    """The card of one file, from its syntax tree: nothing is imported or run. `modified` only renews the cache."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise UserError(f"baselines/{path.name}{line}: {getattr(error, 'msg', error)}") from None
    said: dict[str, Any] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        if isinstance(target, ast.Name) and target.id in WORDS:
            try:
                said[target.id] = ast.literal_eval(node.value)
            except ValueError as error:
                raise UserError(f"{path.name}: {target.id} must be a literal, read without running: {error}") from error
    doc = ast.get_docstring(tree)
    missing = [] if "TITLE" in said else ["TITLE"]
    missing += [] if doc else ["a docstring that says what the loss optimises"]
    missing += [] if any(getattr(node, "name", "") == "build" for node in tree.body) else ["build()"]
    if missing:
        hint = "baselines/contrastive.py is an example; a file that is no method starts with an underscore"
        raise UserError(f"{path.name} lacks {', '.join(missing)} ({hint})")
    sampler, group, needs = said.get("SAMPLER", "balanced"), said.get("GROUP", "since"), said.get("NEEDS", ())
    needs = (needs,) if isinstance(needs, str) else tuple(needs)
    for word, values, choices in (
        ("SAMPLER", (sampler,), SAMPLERS),
        ("GROUP", (group,), GROUPS),
        ("NEEDS", needs, NEEDS),
    ):
        for value in values:
            if value not in choices:
                raise unknown(f"{word} in {path.name}", value, choices)
    params = REGULARISER | said.get("PARAMS", {})
    for key in said.get("SEARCH", {}):
        if key not in params:
            raise unknown(f"parameter in SEARCH of {path.name}", key, params)
        check_choices(said["SEARCH"][key], f"{path.name}: SEARCH {key}")
    return Card(
        name=path.stem,
        title=said["TITLE"],
        summary=str(doc).splitlines()[0],
        source=said.get("SOURCE", ""),
        group=group,
        year=said.get("YEAR"),
        sampler=sampler,
        warm_up=said.get("WARM_UP", False),
        proxies=said.get("PROXIES", False),
        needs=needs,
        params=params,
        search=said.get("SEARCH", {}),
        trains=said.get("TRAINS", True),
    )
