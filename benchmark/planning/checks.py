"""The checks of a study: every key and value of the TOML, with errors that name the nearest one.

`study.py` reads the file and merges the scales; this says what may stand in it.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import baselines
from benchmark import datasets
from benchmark.errors import UserError, unknown
from benchmark.planning import settings
from benchmark.spec import CHOICES, FIELDS, RunSpec

KEYS = (
    "title", "paper", "notes", "datasets", "methods", "setting", "seeds", "protocols",
    "fields", "params", "tuning", "vary",
)  # fmt: skip
SAMPLERS = ("tpe", "random", "grid")
GIVEN = (  # fields said elsewhere in a study
    "dataset", "method", "params", "protocol", "phase", "seed", "code", "data", "recipe",
)  # fmt: skip
ABOUT = ("name", "on")  # what a table in [vary] says of itself: how it is shown, and on which data sets it is run
FREE = tuple(name for name in FIELDS if name not in GIVEN)
METHODS = "python -m benchmark list methods"


def checked_study(content: Mapping[str, Any]) -> dict[str, Any]:
    """All of a study but its tuning, as it goes into `Study`."""
    known(content, KEYS, "key")
    for key in ("title", "datasets", "methods", "setting"):
        if key not in content:
            raise UserError(f"the key {key!r} is missing")
    for key in ("title", "paper", "notes"):
        if not isinstance(content.get(key, ""), str):
            raise UserError(f"{key} = {content[key]!r} must be a string")
    methods = _methods(content["methods"])
    chosen = _names(content["datasets"], "datasets", None)
    for name in chosen:
        datasets.check_name(name)
    fields = table(content, "fields")
    known(fields, FREE, "field in [fields]", "python -m benchmark list fields")
    typed = {key: value for key, value in fields.items() if (key, value) != ("lr", "published")}
    RunSpec(dataset="", **typed)  # for its checks
    params = table(content, "params")
    known(params, baselines.names(), "method in [params]", METHODS)
    for method in params:
        baselines.checked_params(baselines.card(method), dict(table(params, method)))
    vary = table(content, "vary")
    for key, values in vary.items():
        _check_vary(key, values, methods)
    known([content["setting"]], settings.names(), "setting", "python -m benchmark list settings")
    checked = {key: value for key, value in content.items() if key != "tuning"}
    checked |= {"datasets": chosen, "methods": methods, "fields": fields, "params": params}
    checked["vary"] = {key: tuple(values) for key, values in vary.items()}
    if "seeds" in content:
        _count(content["seeds"], "seeds")
    if "protocols" in content:
        checked["protocols"] = _names(content["protocols"], "protocols", CHOICES["protocol"])
    return checked


def checked_tuning(content: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The [tuning] table, as it goes into `Tuning`; empty if the study does not tune."""
    tuning = dict(table(content, "tuning"))
    if not tuning:
        return {}
    known(tuning, keys, "key in [tuning]")
    rates = tuning.get("lr")
    if not (isinstance(rates, list) and len(rates) == 2 and all(isinstance(v, int | float) for v in rates)):
        raise UserError(f"tuning.lr = {rates!r} must be a range such as [1e-4, 1e-2]")
    if not 0 < rates[0] < rates[1] < math.inf:
        raise UserError(f"tuning.lr = {rates!r} must rise and be above 0")
    tuning["lr"] = (float(rates[0]), float(rates[1]))
    for key in ("trials", "seeds", "batch"):
        if key in tuning:
            _count(tuning[key], f"tuning.{key}")
    for key in ("extra", "extend"):
        if not isinstance(tuning.get(key, True), bool):
            raise UserError(f"tuning.{key} = {tuning[key]!r} must be true or false")
    if "sampler" in tuning:
        known([tuning["sampler"]], SAMPLERS, "tuning.sampler")
    if tuning.get("each"):
        tuning["each"] = _names(tuning["each"], "tuning.each", list(table(content, "vary")))
    search = table(tuning, "search")
    known(search, baselines.names(), "method in [tuning.search]", METHODS)
    for method in search:
        for key, values in table(search, method).items():
            known([key], [*baselines.card(method).params, *FREE], f"value that {method} could tune")
            if baselines.card(method).params.get(key) in baselines.names():
                raise UserError(f"tuning.search.{method}.{key}: each method below it is another; name them in [vary]")
            baselines.check_choices(values, f"tuning.search.{method}.{key}")
    return tuning


def vary_keys(methods: Iterable[str]) -> list[str]:
    """What [vary] may change: fields, parameters that all methods have ("params.x") or one ("triplet.x")."""
    cards = [baselines.card(method) for method in methods]
    shared = [name for name in cards[0].params if all(name in card.params for card in cards)] if cards else []
    own = [f"{card.name}.{name}" for card in cards for name in card.params]
    return [*FREE, *(f"params.{name}" for name in shared), *own]


def _check_vary(key: str, values: object, methods: Iterable[str]) -> None:
    if not isinstance(values, list) or not values:
        raise UserError(f"vary.{key} = {values!r} must be a list of values")
    tables = [value for value in values if isinstance(value, Mapping)]
    if tables and len(tables) < len(values):
        raise UserError(f"vary.{key} must hold tables only, or none")
    for on in [value["on"] for value in tables if "on" in value]:
        for dataset in _names(on, f"vary.{key}.on", None):
            datasets.check_name(dataset)
    for changed in [name for value in tables for name in value if name not in ABOUT] if tables else [key]:
        known([changed], vary_keys(methods), "key in [vary]", "python -m benchmark list fields")


def known(keys: Iterable[str], choices: Iterable[str], kind: str, hint: str = "") -> None:
    choices = list(choices)
    for key in keys:
        if key not in choices:
            raise unknown(kind, key, choices, hint)


def table(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The table at `key`; empty if it is missing or `false`."""
    value = content.get(key) or {}
    if not isinstance(value, Mapping):
        raise UserError(f"{key} = {value!r} must be a table: [{key}]")
    return value


def _count(value: object, key: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{key} = {value!r} must be a whole number from 1 on")


def _methods(value: object) -> tuple[str, ...]:
    """A list of methods and groups of them, or one group; "all" is one."""
    if isinstance(value, str):
        groups = baselines.groups()
        known([value], groups, "methods", METHODS)
        return tuple(groups[value])
    words = _names(value, "methods", ["all", *baselines.GROUPS, *baselines.names()], METHODS)
    if set(words) <= set(baselines.names()):
        return words  # without a look at the others, one of which may be unfinished
    groups = baselines.groups()
    return tuple(dict.fromkeys(name for word in words for name in groups.get(word, [word])))


def _names(value: object, key: str, choices: Iterable[str] | None, hint: str = "") -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise UserError(f"{key} = {value!r} must be a list of names")
    if choices is not None:
        known(value, choices, key.removesuffix("s"), hint)
    if len(set(value)) < len(value):
        raise UserError(f"{key} names {max(value, key=value.count)!r} twice")
    return tuple(value)
