"""The planner: a study into families of runs, fast, without torch, data or pandas.

A family is what is tuned alike: all methods on one data set under one protocol. `Family.known(outcomes)`
gives every run that follows from what is stored; when those are finished, ask again, until nothing waits.
So the plan depends on the study and the results only, never on who ran what and when. `python -m benchmark
plan main`
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import baselines
from benchmark.errors import UserError, unknown
from benchmark.planning.checks import GIVEN
from benchmark.planning.expand import check_size, resolved, variations, varied
from benchmark.planning.identity import Identity
from benchmark.planning.settings import PROXY_LR
from benchmark.planning.study import Study
from benchmark.planning.tuning import Point, Search, Trial, affordable, best
from benchmark.results.store import Outcome
from benchmark.spec import FIELDS, RunSpec

Outcomes = Mapping[str, Outcome]


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _seeded(spec: RunSpec, seed: int) -> RunSpec:
    """`spec.replace(seed=seed)` without checking all fields again: most runs differ in the seed only."""
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
    search: str = "{}"  # name → values or range, beyond the rate
    ends: str = "{}"  # of those, where the chosen value lies at an end: name → low or high
    drawn_by: str = ""  # the sampler of the trials
    tuned_at: str = ""  # the variation whose trials these are; others of the group train at its rate


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
        about: dict[str, Any] = {"study": self.study.name, "scale": self.study.scale, "setting": self.study.setting}
        about |= {"params": as_json(self.spec.params), "variation": self.variation, "trial": self.trial}
        about |= {"chosen": self.chosen, "tuned": self.point}
        same = ("dataset", "method", "protocol", "phase", "seed", "lr", "run_id")
        return about | {name: getattr(self.spec, name) for name in same} | self.tuning._asdict()


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
        fields = FIELDS.keys() - base.params.keys()
        return base.replace(**{name if name in fields else f"params.{name}": value for name, value in point.items()})

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

    def trials(self, search: Search, outcomes: Outcomes) -> list[Trial]:
        """The trials that are known: batch after batch, up to the first that has an open one."""
        found: list[Trial] = []
        while points := search.ask(found):
            found += [self.judged(len(found) + i, point, outcomes) for i, point in enumerate(points)]
            if any(trial.state == "open" for trial in found):
                break
        return found

    def trial_tasks(self, trial: Trial, chosen: bool, tuned: Tuned) -> Iterator[Task]:
        for spec in self.trial_specs(trial.point):
            yield Task(self.study, spec, self.finals[0][0], trial.number, chosen, _beyond(trial.point), tuned)

    def final_tasks(self, point: Point, tuned: Tuned) -> Iterator[Task]:
        for variation, base in self.finals:
            spec = self._changed(base, point) if point else base
            for seed in range(self.study.seeds):
                yield Task(self.study, _seeded(spec, seed), variation, -1, True, _beyond(point), tuned)

    def unknown(self, trials: int) -> set[str]:
        """Runs that will follow when so many trials are known, named so that studies that share them agree."""
        assert self.search is not None
        tuned = as_json([*dataclasses.astuple(self.search.tuning), self.search.extra, self.search.name])
        runs = {f"{spec.run_id} {seed} {tuned}" for _, spec in self.finals for seed in range(self.study.seeds)}
        more = range(trials, self.search.budget)
        first = self.finals[0][1].run_id
        return runs | {f"{first} {n} {s} {tuned}" for n in more for s in range(self.search.tuning.seeds)}


def _beyond(point: Point) -> str:
    return as_json({name: value for name, value in point.items() if name != "lr"})


@dataclass(frozen=True)
class Known:
    tasks: list[Task]
    waiting: frozenset[str]  # further runs that depend on the results of these, by what is known of them
    blocked: list[str]  # methods of which every trial failed
    coming: tuple[RunSpec, ...] = ()  # final runs that wait, but for the tuned values


def united(known: Iterable[Known]) -> tuple[dict[str, RunSpec], set[str]]:
    """All runs that are known, by their id, and those that will follow: families and studies share some."""
    specs: dict[str, RunSpec] = {}
    waiting: set[str] = set()
    for one in known:
        specs |= {task.spec.run_id: task.spec for task in one.tasks}
        waiting |= one.waiting
    return specs, waiting


@dataclass(frozen=True)
class Family:
    """What is compared, so tuned alike: every method, and every variation tuned apart, on one data set under one protocol."""

    groups: list[Group]

    def known(self, outcomes: Outcomes) -> Known:
        tuned = [(group, group.search, group.trials(group.search, outcomes)) for group in self.groups if group.search]
        extend = any(search.tuning.extend for _, search, _ in tuned)  # the range is extended for all or for none
        complete = all(search.complete(trials) for _, search, trials in tuned)
        sides: list[str] = []
        if extend and complete:
            sides = sorted({search.edge(trials) for _, search, trials in tuned} - {""})
            for group, search, trials in tuned:
                more = enumerate(search.extension(trials, sides), len(trials))
                trials += [group.judged(number, point, outcomes) for number, point in more]
        tasks: list[Task] = []
        finals = [task for group in self.groups if not group.search for task in group.final_tasks({}, Tuned())]
        waiting: set[str] = set()
        blocked = []
        coming: list[RunSpec] = []
        for group, search, trials in tuned:
            done = search.complete(trials) and (complete or not extend)
            chosen = best(trials) if done else None
            edge, ends = (search.edge(trials, sides), search.ends(trials)) if done else ("", {})
            where = (edge, bool(sides), *search.range(sides), as_json(search.extra), as_json(ends))
            about = Tuned(len(trials), *where, search.tuning.sampler, group.finals[0][0])
            for trial in trials:
                tasks += group.trial_tasks(trial, trial is chosen, about)
            if chosen:
                finals += group.final_tasks(chosen.point, about)
            elif done:
                blocked.append(group.method)
            else:
                waiting |= group.unknown(len(trials))
                coming += [spec for _, spec in group.finals]
        return Known(tasks + finals, frozenset(waiting), blocked, tuple(coming))


def families(study: Study, identity: Identity | None = None) -> list[Family]:
    """All runs of a study by what is compared: data set and protocol; in each, by what is tuned apart."""
    each = study.tuning.each if study.tuning else ()
    identity = identity or Identity()
    found: dict[tuple[str, str], dict[tuple[str, str], list[tuple[str, RunSpec]]]] = {}
    try:
        check_size(study)
        for dataset, protocol, method in product(study.datasets, study.protocols, study.methods):
            for label, changes in variations(study, method, dataset):
                spec = resolved(study, dataset, method, protocol, changes, identity)
                apart = as_json({k: v for k, v in label.items() if k in each})
                groups = found.setdefault((dataset, protocol), {})
                groups.setdefault((method, apart), []).append((as_json(label), spec))
        return [
            Family([Group(study, finals, _search(study, key, method)) for (method, _), finals in groups.items()])
            for key, groups in found.items()
        ]
    except UserError as problem:
        raise UserError(f"{study.source}: {problem}") from None


def _search(study: Study, key: tuple[str, str], method: str) -> Search | None:
    card = baselines.card(method)
    if study.tuning is None or not card.trains:
        return None
    own = card.search | ({"proxy_lr": PROXY_LR} if card.proxies else {})
    search = study.tuning.search.get(method, own) if study.tuning.extra else {}
    for name in search:
        if name not in card.params and (name not in FIELDS or name in GIVEN):
            raise unknown(f"value that {method} could tune", name, [*card.params, *FIELDS])
    fixed = {name.removeprefix("params.").removeprefix(f"{method}.") for name in varied(study)}
    fixed |= {*study.params.get(method, {}), *study.fields}  # what the study says is not tuned
    free = {name: values for name, values in search.items() if name not in fixed}
    if study.tuning.sampler == "grid":
        free = affordable(free, study.tuning.trials)
    return Search(study.tuning, free, "/".join((study.setting, *key)))
