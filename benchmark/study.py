"""A study: one TOML file that reads like the experiment section of a paper, checked before anything runs.

`load("main", "quick")` reads `studies/main.toml`, lays its `[scale.quick]` and then any `--set key=value` over it, and
`planner.py` expands the result into runs. `python -m benchmark list studies` shows what there is.
"""

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import baselines
from benchmark import datasets, settings
from benchmark.errors import UserError, unknown
from benchmark.spec import CHOICES, FIELDS, RunSpec

FOLDER = Path(__file__).resolve().parents[1] / "studies"
SCALES = ("quick", "laptop", "paper")
KEYS = (
    "title",
    "paper",
    "notes",
    "datasets",
    "methods",
    "setting",
    "seeds",
    "protocols",
    "fields",
    "params",
    "tuning",
    "vary",
)
SAMPLERS = ("grid", "random", "tpe")
GIVEN = (
    "dataset",
    "method",
    "params",
    "protocol",
    "phase",
    "seed",
    "recipe",
)  # fields that a study says elsewhere


@dataclass(frozen=True)
class Tuning:
    lr: tuple[float, float]  # the range, the same for every method
    trials: int = 6  # per method, whatever it tunes
    seeds: int = 1  # per trial; the score of a trial is their mean
    sampler: str = "grid"
    batch: int = 4  # random, tpe: trials asked for at once, however many workers there are
    extra: bool = True  # whether methods tune their SEARCH, within the same number of trials
    extend: bool = True  # a best rate at the edge extends the range once, for all methods
    each: tuple[
        str, ...
    ] = ()  # [vary] keys that are tuned separately; the others are tuned at their first value
    search: Mapping[str, Mapping[str, list]] = field(
        default_factory=dict
    )  # method → what it tunes instead of its SEARCH


@dataclass(frozen=True)
class Study:
    name: str
    scale: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    setting: str
    paper: str = ""  # the label of its table or figure
    notes: str = ""
    seeds: int = 3
    protocols: tuple[str, ...] = ("test",)
    fields: Mapping[str, Any] = field(default_factory=dict)  # RunSpec fields of all its runs
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # method → parameters of its loss
    tuning: Tuning | None = None
    vary: Mapping[str, tuple] = field(default_factory=dict)  # every combination is run


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(
    name: str,
    scale: str = "quick",
    overrides: Iterable[str] = (),
    only_datasets: Iterable[str] = (),
    only_methods: Iterable[str] = (),
) -> Study:
    """A study by name or by the path of its file, at a scale, with `key=value` overrides and narrowed selections."""
    path = _find(name)
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UserError(f"{path}: {problem}") from None
    try:
        scales = document.pop("scale", {})
        for key in scales:
            if key not in SCALES:
                raise unknown("scale", key, SCALES)
        for key in SCALES:  # a mistake in another scale is found now, not on the cluster
            study = _study(path.stem, key, _merged(document, scales.get(key, {})))
            if key == scale:
                chosen = study
    except UserError as problem:
        raise UserError(f"{path}: {problem}") from None
    if overrides := list(overrides):
        document = _merged(document, scales.get(scale, {}))
        for text in overrides:
            document = _merged(document, _override(text))
        chosen = _study(path.stem, scale, document)
    return _narrowed(chosen, tuple(only_datasets), tuple(only_methods))


def _find(name: str) -> Path:
    path = Path(name)
    if path.suffix == ".toml" or path.parent != Path("."):
        if not path.is_file():
            raise UserError(f"no study file {name!r} (python -m benchmark list studies)")
        return path
    if name not in names():
        raise unknown(
            "study", name, names(), "python -m benchmark list studies; or give the path of a .toml file"
        )
    return FOLDER / f"{name}.toml"


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `under`, table by table; `false` in the place of a table removes it."""
    merged = dict(under)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged


def _override(text: str) -> dict[str, Any]:
    """`tuning.trials=3`, `seeds=2` or a RunSpec field such as `epochs=4`, as a nested table."""
    key, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--set {text!r} must read key=value, for instance --set seeds=2")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value  # a bare word is a string
    parts = key.strip().split(".")
    if parts[0] not in KEYS:
        if parts[0] not in FIELDS:
            raise unknown("key in --set", key, [*KEYS, *FIELDS])
        parts = ["fields", *parts]
    for part in reversed(parts):
        parsed = {part: parsed}
    return parsed


def _study(name: str, scale: str, document: Mapping[str, Any]) -> Study:
    _known(document, KEYS, "key")
    for key in ("title", "datasets", "methods", "setting"):
        if key not in document:
            raise UserError(f"the key {key!r} is missing")
    for key in ("title", "paper", "notes", "setting"):
        if not isinstance(document.get(key, ""), str):
            raise UserError(f"{key} = {document[key]!r} must be a string")
    fields = _table(document, "fields")
    _known(
        fields,
        [name for name in FIELDS if name not in GIVEN],
        "field in [fields]",
        "python -m benchmark list fields",
    )
    RunSpec(
        dataset="", **{k: v for k, v in fields.items() if (k, v) != ("lr", "published")}
    )  # checks the types
    params = _table(document, "params")
    _known(params, baselines.names(), "method in [params]", "python -m benchmark list methods")
    vary = {key: _values(key, values) for key, values in _table(document, "vary").items()}
    protocols = _list(document.get("protocols", ["test"]), "protocols", CHOICES["protocol"])
    return Study(
        name=name,
        scale=scale,
        title=document["title"],
        datasets=_list(document["datasets"], "datasets", None),
        methods=_list(document["methods"], "methods", baselines.names(), "python -m benchmark list methods"),
        setting=_one(document["setting"], "setting", settings.names(), "python -m benchmark list settings"),
        paper=document.get("paper", ""),
        notes=document.get("notes", ""),
        seeds=_count(document.get("seeds", 3), "seeds"),
        protocols=protocols,
        fields=fields,
        params=params,
        tuning=_tuning(_table(document, "tuning"), vary),
        vary=vary,
    )


def _tuning(table: Mapping[str, Any], vary: Mapping[str, Any]) -> Tuning | None:
    if not table:
        return None
    _known(table, Tuning.__dataclass_fields__, "key in [tuning]")
    low_high = table.get("lr")
    if not (
        isinstance(low_high, list)
        and len(low_high) == 2
        and all(isinstance(v, int | float) for v in low_high)
    ):
        raise UserError(f"tuning.lr = {low_high!r} must be a range such as [1e-4, 1e-2]")
    low, high = map(float, low_high)
    if not 0 < low <= high < math.inf:
        raise UserError(f"tuning.lr = {low_high!r} must rise and be above 0")
    for key in ("extra", "extend"):
        if not isinstance(table.get(key, True), bool):
            raise UserError(f"tuning.{key} = {table[key]!r} must be true or false")
    search = _table(table, "search")
    _known(search, baselines.names(), "method in [tuning.search]", "python -m benchmark list methods")
    return Tuning(
        lr=(low, high),
        trials=_count(table.get("trials", Tuning.trials), "tuning.trials"),
        seeds=_count(table.get("seeds", Tuning.seeds), "tuning.seeds"),
        sampler=_one(table.get("sampler", "grid"), "tuning.sampler", SAMPLERS),
        batch=_count(table.get("batch", Tuning.batch), "tuning.batch"),
        extra=table.get("extra", True),
        extend=table.get("extend", True),
        each=_list(table.get("each", []), "tuning.each", vary) if table.get("each") else (),
        search=search,
    )


def _narrowed(study: Study, only_datasets: tuple[str, ...], only_methods: tuple[str, ...]) -> Study:
    for kind, only, have in (
        ("data set", only_datasets, study.datasets),
        ("method", only_methods, study.methods),
    ):
        for name in only:
            if name not in have:
                raise unknown(f"{kind} of study {study.name!r}", name, have)
    from dataclasses import replace

    return replace(study, datasets=only_datasets or study.datasets, methods=only_methods or study.methods)


def _known(table: Iterable[str], choices: Iterable[str], kind: str, hint: str = "") -> None:
    choices = list(choices)
    for key in table:
        if key not in choices:
            raise unknown(kind, key, choices, hint)


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key) or {}
    if not isinstance(value, Mapping):
        raise UserError(f"{key} = {value!r} must be a table: [{key}]")
    return value


def _values(key: str, values: object) -> tuple:
    if not isinstance(values, list) or not values:
        raise UserError(f"vary.{key} = {values!r} must be a list of values")
    return tuple(values)


def _one(value: object, key: str, choices: Iterable[str], hint: str = "") -> str:
    if value not in list(choices):
        raise unknown(key, value, choices, hint)
    return str(value)


def _count(value: object, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{key} = {value!r} must be a whole number from 1 on")
    return value


def _list(value: object, key: str, choices: Iterable[str] | None, hint: str = "") -> tuple[str, ...]:
    """A list of names; "all" stands for every choice."""
    if value == "all" and choices is not None:
        return tuple(choices)
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise UserError(f"{key} = {value!r} must be a list of names")
    for name in value:
        if choices is not None and name not in choices:
            raise unknown(key.rstrip("s"), name, choices, hint)
    if len(set(value)) < len(value):
        raise UserError(f"{key} names {max(value, key=value.count)!r} twice")
    return tuple(value)
