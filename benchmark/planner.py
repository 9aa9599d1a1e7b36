"""The planner: a study into families of runs, fast, without torch, data or pandas.

A family is what is tuned alike: all methods on one data set under one protocol. `Family.known(outcomes)` gives every run that
follows from what is stored; when those are finished, ask again, until nothing waits. So the plan depends on the study and
the results only, never on who ran what and when. `python -m benchmark plan main`
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import baselines
from benchmark import settings
from benchmark.errors import UserError, unknown
from benchmark.spec import FIELDS, RunSpec
from benchmark.store import Outcome
from benchmark.study import GIVEN, Study
from benchmark.tuning import Point, Search, Trial, affordable, best

Outcomes = Mapping[str, Outcome]
UNTRAINED = {
    "lr": 1e-3,
    "epochs": 1,
    "batches_per_epoch": 1,
    "lr_steps": (),
    "warm_epochs": 0,
    "evaluate_every": 1,
}


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _seeded(spec: RunSpec, seed: int) -> RunSpec:
    """`spec.replace(seed=seed)` without checking every other field again: most runs of a plan differ in the seed only."""
    copy = object.__new__(RunSpec)
    vars(copy).update(vars(spec), seed=seed)
    vars(copy).pop("run_id", None)
    return copy


class Tuned(NamedTuple):
    """What tuning did with a method: the same for all rows of the method in the ledger."""

    trials: int = 0
    edge: str = ""
    extended: bool = False
    lr_low: float | None = None
    lr_high: float | None = None
    search: str = "{}"


class Task(NamedTuple):
    """A run in its role in a study: one row of the ledger."""

    study: Study
    spec: RunSpec
    variation: str
    trial: int  # -1: a final run
    chosen: bool
    point: str  # values of what was tuned beyond the learning rate
    tuning: Tuned

    def ledger_row(self) -> dict[str, Any]:
        spec = self.spec
        same = {
            name: getattr(spec, name)
            for name in ("dataset", "method", "protocol", "phase", "seed", "lr", "run_id")
        }
        return {
            "study": self.study.name,
            "scale": self.study.scale,
            "setting": self.study.setting,
            "params": as_json(spec.params),
            "variation": self.variation,
            "trial": self.trial,
            "chosen": self.chosen,
            "tuned": self.point,
            **same,
            **self.tuning._asdict(),
        }


class Variation(NamedTuple):
    label: dict[str, Any]  # what the ledger shows
    changes: dict[str, Any]  # of the spec


@dataclass(frozen=True)
class Group:
    """One method of a family: its search, if it is tuned, and its final runs but for the tuned values."""

    study: Study
    finals: list[tuple[str, RunSpec]]  # (variation, spec); the first is the one that is tuned
    search: Search | None
    _specs: dict[str, list[RunSpec]] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return self.finals[0][1].method

    def _changed(self, base: RunSpec, point: Point) -> RunSpec:
        return base.replace(**{f"params.{k}" if k in base.params else k: v for k, v in point.items()})

    def trial_specs(self, point: Point) -> list[RunSpec]:
        key = as_json(point)
        if key not in self._specs:
            assert self.study.tuning is not None
            spec = self._changed(self.finals[0][1], point).replace(phase="tune")
            self._specs[key] = [_seeded(spec, seed) for seed in range(self.study.tuning.seeds)]
        return self._specs[key]

    def judged(self, number: int, point: Point, outcomes: Outcomes) -> Trial:
        """The trial at a point: its score is the mean over the tuning seeds."""
        found = [outcomes.get(spec.run_id) for spec in self.trial_specs(point)]
        stored = [outcome for outcome in found if outcome is not None]
        if len(stored) < len(found):
            return Trial(number, point, "open")
        if any(not outcome.finished for outcome in stored):
            return Trial(number, point, "failed")
        scores = [outcome.score for outcome in stored if outcome.status == "ok" and outcome.score is not None]
        if len(scores) < len(stored):
            return Trial(number, point, "diverged")
        return Trial(number, point, "ok", sum(scores) / len(scores))

    def trial_tasks(self, trial: Trial, chosen: bool, tuned: Tuned) -> Iterator[Task]:
        for spec in self.trial_specs(trial.point):
            yield Task(self.study, spec, self.finals[0][0], trial.number, chosen, _beyond(trial.point), tuned)

    def final_tasks(self, point: Point, tuned: Tuned) -> Iterator[Task]:
        for variation, base in self.finals:
            spec = self._changed(base, point) if point else base
            beyond = _beyond(point)
            for seed in range(self.study.seeds):
                yield Task(self.study, _seeded(spec, seed), variation, -1, True, beyond, tuned)


def _beyond(point: Point) -> str:
    return as_json({name: value for name, value in point.items() if name != "lr"})


@dataclass(frozen=True)
class Known:
    tasks: list[Task]
    waiting: int  # further runs that depend on the results of these
    blocked: list[str]  # methods of which every trial failed


@dataclass(frozen=True)
class Family:
    groups: list[Group]

    def known(self, outcomes: Outcomes) -> Known:
        tuned = [group for group in self.groups if group.search is not None]
        trials = {g.method: g.search.trials(_judge(g, outcomes)) for g in tuned if g.search}
        complete = {g.method: g.search.complete(trials[g.method]) for g in tuned if g.search}
        sides: list[str] = []
        tuning = self.groups[0].study.tuning
        if tuned and tuning and tuning.extend:  # the range is extended for all methods or for none
            everywhere = all(complete.values())
            complete = dict.fromkeys(complete, everywhere)
            if everywhere:
                sides = sorted({g.search.edge(trials[g.method]) for g in tuned if g.search} - {""})
            for group in tuned if sides else []:
                assert group.search is not None
                trials[group.method] += group.search.extension(
                    trials[group.method], sides, _judge(group, outcomes)
                )
                complete[group.method] = all(trial.state != "open" for trial in trials[group.method])
        tasks: list[Task] = []
        finals: list[Task] = []
        waiting, blocked = 0, []
        for group in self.groups:
            if group.search is None:
                finals += group.final_tasks({}, Tuned())
                continue
            mine, done = trials[group.method], complete[group.method]
            chosen = best(mine) if done else None
            edge = group.search.edge(mine, sides) if done else ""
            about = Tuned(
                len(mine), edge, bool(sides), *group.search.range(sides), as_json(group.search.extra)
            )
            for trial in mine:
                tasks += group.trial_tasks(trial, trial is chosen, about)
            if chosen:
                finals += group.final_tasks(chosen.point, about)
            elif done:
                blocked.append(group.method)
            else:
                waiting += len(group.finals) * group.study.seeds
                waiting += max(0, group.search.budget - len(mine)) * group.search.tuning.seeds
        return Known(tasks + finals, waiting, blocked)


def _judge(group: Group, outcomes: Outcomes):
    return lambda number, point: group.judged(number, point, outcomes)


def families(study: Study) -> list[Family]:
    """All runs of a study, by what is tuned alike: data set, protocol and the variations that are tuned separately."""
    each = study.tuning.each if study.tuning else tuple(study.vary)
    found: dict[tuple, dict[str, list[tuple[str, RunSpec]]]] = {}
    for dataset, protocol, method in product(study.datasets, study.protocols, study.methods):
        for label, changes in _variations(study, method):
            spec = _spec(study, dataset, method, protocol, changes)
            key = (dataset, protocol, as_json({k: v for k, v in label.items() if k in each}))
            found.setdefault(key, {}).setdefault(method, []).append((as_json(label), spec))
    return [
        Family(
            [
                Group(study, finals, _search(study, method, f"{dataset}/{protocol}"))
                for method, finals in methods.items()
            ]
        )
        for (dataset, protocol, _), methods in found.items()
    ]


def _search(study: Study, method: str, name: str) -> Search | None:
    card = baselines.card(method)
    if study.tuning is None or not card.trains:
        return None
    search = study.tuning.search.get(method, card.search) if study.tuning.extra else {}
    for key in search:
        if key not in card.params and (key not in FIELDS or key in GIVEN):
            raise unknown(f"value that {method} could tune", key, [*card.params, *FIELDS])
    varied = {name.removeprefix("params.").removeprefix(f"{method}.") for name in _varied(study)}
    fixed = varied | set(study.params.get(method, {}))
    free = {key: values for key, values in search.items() if key not in fixed}
    return Search(study.tuning, affordable(free, study.tuning.trials), f"{study.setting}/{name}")


def _varied(study: Study) -> set[str]:
    linked = [
        key for values in study.vary.values() for value in values if isinstance(value, dict) for key in value
    ]
    return {*study.vary, *linked}


def _variations(study: Study, method: str) -> list[Variation]:
    """Every combination of the varied values that concerns a method."""
    if study.tuning and "lr" in _varied(study):
        raise UserError(f"study {study.name!r}: lr cannot be in [vary] and in [tuning] at once")
    options: list[list[tuple[str, Any, dict[str, Any]]]] = []
    for key, values in study.vary.items():
        owner, _, name = key.partition(".")
        if owner in baselines.names():  # "contextual.lam" concerns one method only
            if owner == method:
                options.append([(key, value, {f"params.{name}": value}) for value in values])
        else:
            options.append([_option(key, value) for value in values])
    return [
        Variation(
            {key: shown for key, shown, _ in combination}, _united(changes for _, _, changes in combination)
        )
        for combination in product(*options)
    ]


def _united(tables: Iterator[dict[str, Any]]) -> dict[str, Any]:
    return {key: value for table in tables for key, value in table.items()}


def _option(key: str, value: Any) -> tuple[str, Any, dict[str, Any]]:
    if isinstance(value, dict):  # several fields that change together, shown by their `name`
        changes = {k: v for k, v in value.items() if k != "name"}
        return key, value.get("name", changes), changes
    return key, value, {key: value}


def _spec(study: Study, dataset: str, method: str, protocol: str, changes: Mapping[str, Any]) -> RunSpec:
    """defaults ← setting ← published ← study ← variation, with every parameter of the loss spelled out."""
    card = baselines.card(method)
    fields = {**settings.setting(study.setting, dataset, method), **study.fields}
    params = {**card.params, **settings.params(study.setting, dataset, method)}
    if fields.get("lr") == "published":
        fields |= {"lr": 1e-3}
        if card.trains:
            told = settings.published(method, dataset, study.setting)
            params |= {key[7:]: value for key, value in told.items() if key.startswith("params.")}
            fields |= {k: v for k, v in told.items() if k in FIELDS and (k == "lr" or k not in study.fields)}
    params |= study.params.get(method, {})
    for key, value in changes.items():
        if key.startswith("params."):
            params[key[7:]] = value
        elif key in FIELDS and key not in GIVEN:
            fields[key] = value
        else:
            raise unknown(
                "key in [vary]",
                key,
                [*(f for f in FIELDS if f not in GIVEN), *(f"params.{p}" for p in card.params)],
            )
    if not card.trains:
        fields |= UNTRAINED
    if "sampler" not in study.fields and "sampler" not in changes:
        asked = fields.get("sampler", "method")
        fields["sampler"] = card.sampler if asked == "method" or card.sampler == "shuffle" else asked
    typed = {
        key: _typed(value, card.params.get(key))
        for key, value in baselines.checked_params(card, params).items()
    }
    return RunSpec(**{"dataset": dataset, "method": method, "protocol": protocol, "params": typed, **fields})


def _typed(value: Any, default: Any) -> Any:
    """1 and 1.0 are the same parameter, so they must hash alike."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, int) and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
