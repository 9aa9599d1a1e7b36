"""A study: one TOML file that reads like the experiment section of a paper, checked before anything runs.

`load("main", "quick")` reads `studies/main.toml`, lays its `[scale.quick]` and then any `--set key=value`
over it, and `plan.py` expands the result into runs. `python -m benchmark list studies` shows what there
is.
"""

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import baselines
from benchmark import datasets
from benchmark.errors import UserError, unknown
from benchmark.planning import checks, settings
from benchmark.shipped import STUDIES

SCALES = ("quick", "laptop", "photos", "paper")


@dataclass(frozen=True)
class Tuning:
    lr: tuple[float, float]  # the range, the same for every method
    trials: int = 6  # per method, whatever it tunes
    seeds: int = 1  # per trial; the score of a trial is their mean
    sampler: str = "tpe"  # half Sobol, half TPE; or random, grid
    batch: int = 3  # tpe: trials asked for at once, however many workers there are
    extra: bool = True  # whether methods tune their SEARCH beside the rate, within the same number of trials
    extend: bool = True  # a best rate at the edge extends the range once, for all methods
    each: tuple[str, ...] = ()  # [vary] keys tuned separately; the others are tuned at their first value
    search: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by method, in place of its SEARCH


@dataclass(frozen=True)
class Study:
    name: str
    source: str  # the file, for messages
    scale: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    setting: str  # a name in settings.py
    paper: str = ""  # the label of its table or figure
    notes: str = ""
    seeds: int = 3
    protocols: tuple[str, ...] = ("test",)
    fields: Mapping[str, Any] = field(default_factory=dict)  # RunSpec fields of all its runs
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # method → parameters of its loss
    tuning: Tuning | None = None
    vary: Mapping[str, tuple] = field(default_factory=dict)  # every combination is run


def names() -> list[str]:
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def load(
    name: str,
    scale: str = "quick",
    overrides: Iterable[str] = (),
    only_datasets: Iterable[str] = (),
    only_methods: Iterable[str] = (),
    data: Path = Path("data"),
) -> Study:
    """A study by name or by the path of its file, at a scale, with `key=value` overrides, on other data or with other methods."""
    path = find(name)
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        scales = checks.table(content, "scale")
        checks.known(scales, SCALES, "scale")
        common = {key: value for key, value in content.items() if key != "scale"}
        studies = {s: _study(path, s, merged(common, checks.table(scales, s))) for s in SCALES}  # all are checked
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, UserError) as problem:
        raise UserError(f"{path}: {problem}") from None
    chosen = studies[scale]
    if overrides := list(overrides):
        content = merged(common, checks.table(scales, scale))
        for text in overrides:
            content = merged(content, override(text))
        chosen = _study(path, scale, content)
    for dataset in only_datasets:
        datasets.check_name(dataset)
    checks.known(only_methods, baselines.names(), "method", checks.METHODS)
    chosen = dataclasses.replace(
        chosen, datasets=tuple(only_datasets) or chosen.datasets, methods=tuple(only_methods) or chosen.methods
    )
    said = {text.partition("=")[0].strip() for text in overrides}
    return _fitted(chosen, said, data) if only_datasets else chosen


def _fitted(study: Study, said: set[str], data: Path) -> Study:
    """A study of the embedded data on other data: in a setting that suits them, unless one is said, and on all classes."""
    others = [name for name in study.datasets if not datasets.embedded(name)]
    if not others or (study.setting not in settings.EMBEDDED and "setting" not in said):
        return study
    fields = {k: v for k, v in study.fields.items() if k not in settings.EMBEDDED_ONLY or k in said}
    if "setting" in said:
        return dataclasses.replace(study, fields=fields)
    fitting = {name: settings.fitting(name, data) for name in others}
    if len(set(fitting.values())) > 1 or len(others) < len(study.datasets):
        each = ", ".join(f"{name} {fitting.get(name, study.setting)}" for name in study.datasets)
        raise UserError(
            f"these data sets want settings of their own ({each}): name one data set at a time, or --set setting=…"
        )
    return dataclasses.replace(study, fields=fields, setting=fitting[others[0]])


def find(name: str) -> Path:
    path = Path(name)
    if path.suffix == ".toml" or path.parent != Path():
        if not path.is_file():
            raise UserError(f"no study file {name!r} (python -m benchmark list studies)")
        return path
    if name not in names():
        raise unknown("study", name, names(), "python -m benchmark list studies; or the path of a .toml file")
    return STUDIES / f"{name}.toml"


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `under`, table by table; `false` in the place of a table removes it."""
    result = dict(under)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def override(text: str) -> dict[str, Any]:
    """`tuning.trials=3`, `seeds=2` or a RunSpec field such as `epochs=4`, as a nested table."""
    key, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--set {text!r} must read key=value, for instance --set seeds=2")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()  # a bare word is a string
    parts = key.strip().split(".")
    if parts == ["setting"]:
        parsed = value.strip().strip("'\"")  # some are named like numbers
    if parts[0] not in checks.KEYS:
        checks.known(parts[:1], [*checks.KEYS, *checks.FREE], "key in --set", "python -m benchmark list fields")
        parts = ["fields", *parts]
    for part in reversed(parts):
        parsed = {part: parsed}
    return parsed


def _study(path: Path, scale: str, content: Mapping[str, Any]) -> Study:
    checked = checks.checked_study(content)
    tuning = checks.checked_tuning(content, [field.name for field in dataclasses.fields(Tuning)])
    return Study(path.stem, str(path), scale, **checked, tuning=Tuning(**tuning) if tuning else None)
