"""Tuning: which points a method tries within its budget, which is best, whether a range was too narrow.

Every method gets the same number of trials on the same range of learning rates. The rate and what a method tunes beyond it
are drawn jointly, so a second parameter costs no rates: half of the trials come from a scrambled Sobol sequence (Optuna's
QMCSampler) whose rates are the same for every method, the rest from Optuna's TPE, asked and told in batches of fixed size.
`Search.ask(told)` depends on the study and the scores told so far and on nothing else.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

from benchmark.errors import UserError
from benchmark.files import replacing
from benchmark.planning.study import Tuning
from benchmark.results.tuning_summary import distributions

Point = Mapping[str, Any]  # "lr" and what else is tuned
Choices = list | Mapping[str, Any]  # values, or a range: {"low": 0.2, "high": 1.0, "log": False}
FEWEST_RATES = 3  # a grid spends its trials on other values only if so many learning rates remain
DIMENSIONS = 6  # of the Sobol sequence: the rate, and up to five other values
GRID_VALUES = 3  # that a grid takes of a range
DIVERGED = 0.0  # what Optuna is told of a trial that diverged: as bad as finding nothing


@dataclass(frozen=True)
class Trial:
    number: int
    point: Point
    state: str  # open, ok, diverged, failed
    score: float = -math.inf


def rates(low: float, high: float, count: int) -> list[float]:
    """Learning rates at equal ratios, rounded so that they read well and are the same on every machine."""
    if count == 1:
        return [_rounded(math.sqrt(low * high))]
    return [_rounded(low * (high / low) ** (i / (count - 1))) for i in range(count)]


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def _within(value: float, low: float, high: float) -> float:
    return min(max(_rounded(value), low), high)


def _side(value: float, low: float, high: float) -> str:
    return "low" if value <= low else "high" if value >= high else ""


def at(choices: Choices, u: float) -> Any:
    """The value at the share u of [0, 1) of a list or range."""
    if not isinstance(choices, Mapping):
        return choices[int(u * len(choices))]
    low, high = choices["low"], choices["high"]
    if isinstance(low, int) and isinstance(high, int):
        return low + int(u * (high - low + 1))
    return _within(low * (high / low) ** u if choices.get("log") else low + u * (high - low), low, high)


def listed(choices: Choices) -> list:
    """The values that a grid takes."""
    if not isinstance(choices, Mapping):
        return list(choices)
    return list(dict.fromkeys(at(choices, i / (GRID_VALUES - 1) * (1 - 1e-12)) for i in range(GRID_VALUES)))


def affordable(search: Mapping[str, Choices], trials: int) -> dict[str, list]:
    """As many of the values to tune, in the order that the method names them, as a grid has room for."""
    chosen: dict[str, list] = {}
    for name, choices in search.items():
        chosen[name] = listed(choices)
        if trials // math.prod(map(len, chosen.values())) < FEWEST_RATES:
            del chosen[name]
            break
    return chosen


@dataclass(frozen=True)
class Search:
    tuning: Tuning
    extra: Mapping[str, Choices]  # beyond the learning rate
    name: str  # seeds the samplers; the same for every method, so that they draw the same rates

    @property
    def budget(self) -> int:
        """Trials, never more than the study grants; a grid may need fewer."""
        if self.tuning.sampler != "grid":
            return self.tuning.trials
        combinations = math.prod(map(len, self.extra.values()))  # type: ignore[arg-type]
        return self.tuning.trials // combinations * combinations

    def ask(self, told: Sequence[Trial]) -> list[Point]:
        """The next batch of points after trials that are all finished; empty when the budget is used up."""
        left = self.budget - len(told)
        if left <= 0:
            return []
        if self.tuning.sampler == "grid":
            return self._grid()
        if self.tuning.sampler == "tpe" and not told:
            return self._first((self.budget + 1) // 2)
        count = left if self.tuning.sampler == "random" else min(left, self.tuning.batch)
        key = [asdict(self), [(trial.point, trial.state, trial.score) for trial in told], count]
        return _drawn(key, lambda: _sampled(self, told, count))

    def _first(self, count: int) -> list[Point]:
        """The Sobol half: the same rates for every method."""
        low, high = self.tuning.lr
        space: dict[str, Choices] = {"lr": {"low": low, "high": high, "log": True}, **self.extra}
        if len(space) > DIMENSIONS:
            raise UserError(f"{', '.join(self.extra)}: at most {DIMENSIONS - 1} values are tuned beside the rate")
        unit = _drawn(["sobol", self.name, count], lambda: _sobol(self.name, count))
        return [{name: at(space[name], x) for name, x in zip(space, point, strict=False)} for point in unit]

    def _grid(self) -> list[Point]:
        combinations = list(product(*self.extra.values()))
        lrs = rates(*self.tuning.lr, self.budget // len(combinations))
        return [{"lr": lr, **dict(zip(self.extra, values, strict=True))} for lr in lrs for values in combinations]

    def complete(self, trials: Sequence[Trial]) -> bool:
        return len(trials) >= self.budget and all(trial.state != "open" for trial in trials)

    @property
    def step(self) -> float:
        """The ratio between neighbouring rates of a plain grid; also how far a range is extended."""
        low, high = self.tuning.lr
        return (high / low) ** (1 / max(1, self.tuning.trials - 1))

    def range(self, sides: Sequence[str] = ()) -> tuple[float, float]:
        low, high = self.tuning.lr
        lower, higher = _rounded(low / self.step), _rounded(high * self.step)
        return lower if "low" in sides else low, higher if "high" in sides else high

    def edge(self, trials: Sequence[Trial], sides: Sequence[str] = ()) -> str:
        """Whether the best rate lies at the `low` or `high` end of the range searched."""
        chosen = best(trials)
        if chosen is None or len({trial.point["lr"] for trial in trials}) < 2:
            return ""
        low, high = self.range(sides)
        margin = math.sqrt(self.step)  # half a step: a sampler never hits the end itself
        return _side(chosen.point["lr"], low * margin, high / margin)

    def ends(self, trials: Sequence[Trial]) -> dict[str, str]:
        """Of what is tuned beyond the rate, the best values that lie at an end: name → low or high."""
        chosen = best(trials)
        found = {name: self._end(name, chosen.point[name]) for name in self.extra} if chosen else {}
        return {name: end for name, end in found.items() if end}

    def _end(self, name: str, value: Any) -> str:
        choices = self.extra[name]
        if isinstance(choices, Mapping):
            low, high, value = (float(v) for v in (choices["low"], choices["high"], value))
            if choices.get("log"):
                low, high, value = math.log(low), math.log(high), math.log(value)
            margin = (high - low) / (2 * self.budget)
            return _side(value, low + margin, high - margin)
        if len(choices) < 3 or not all(isinstance(v, int | float) for v in choices):
            return ""  # words have no order, and of two values each is an end
        return _side(value, min(choices), max(choices))

    def extension(self, trials: Sequence[Trial], sides: Sequence[str]) -> list[Point]:
        """One more point on each side, at the best other values so far: the same for every method."""
        chosen = best(trials)
        if chosen is None:
            return []
        ends = dict(zip(("low", "high"), self.range(sides), strict=True))
        return [{**chosen.point, "lr": ends[side]} for side in sides]


def best(trials: Sequence[Trial]) -> Trial | None:
    """The highest score; of equals the lowest rate, then the first. None if every trial failed.

    If all diverged, it is the lowest rate: its final runs will say so.
    """
    candidates = [trial for trial in trials if trial.state in ("ok", "diverged")]
    return min(candidates, key=lambda t: (-t.score, t.point["lr"], t.number), default=None)


_version = cache(metadata.version)
_ASKED: dict[str, list] = {}  # what was drawn before: Optuna takes seconds to load and to draw for a whole study


def _drawn(key: object, draw: Callable[[], list]) -> list:
    """What `draw` gives, which follows from the key alone."""
    text = json.dumps([_version("optuna"), key], sort_keys=True, default=dict)
    short = hashlib.sha256(text.encode()).hexdigest()[:24]
    if short not in _ASKED:
        _ASKED[short] = draw()
    return _ASKED[short]


def _memory(results: Path) -> Path:
    return results / "cache" / "tuning.json"


def recall(results: Path) -> None:
    """Takes up what was drawn in earlier sessions; without the file, everything is drawn again."""
    with suppress(OSError, ValueError):
        _ASKED.update(json.loads(_memory(results).read_text(encoding="utf-8")))


def remember(results: Path) -> None:
    """Keeps what was drawn for the next session; a folder that cannot be written keeps nothing."""
    path, text = _memory(results), json.dumps(_ASKED)
    if _ASKED and results.is_dir():
        with suppress(OSError):
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                with replacing(path) as temporary:
                    temporary.write_text(text, encoding="utf-8")


def _sobol(name: str, count: int) -> list[list[float]]:
    """Points of the unit cube: the same for every method, whatever and however much it tunes."""
    import optuna

    from benchmark.seeds import seed

    unit = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(DIMENSIONS)}
    study = _study("QMCSampler", seed=seed("tuning", name) % 2**32, scramble=True)
    points = []
    for _ in range(count):
        study.ask()
        drawn = study.sampler.sample_relative(study, study.trials[-1], unit)
        points.append([min(drawn[x], 1 - 1e-12) for x in unit])
    return points


def _sampled(search: Search, told: Sequence[Trial], count: int) -> list[Point]:
    """The next points, by an Optuna study that is told all there is to know."""
    import optuna

    from benchmark.seeds import seed

    own = seed("tuning", search.name, len(told)) % 2**32
    if search.tuning.sampler == "random":
        study = _study("RandomSampler", seed=own)
    else:
        study = _study("TPESampler", seed=own, n_startup_trials=1, multivariate=True, constant_liar=True)
    space = distributions(search.extra, *search.tuning.lr)
    for trial in told:
        if trial.state in ("ok", "diverged"):
            score = trial.score if trial.state == "ok" else DIVERGED
            study.add_trial(optuna.trial.create_trial(params=dict(trial.point), distributions=space, value=score))

    drawn = [study.ask(space).params for _ in range(count)]
    ends = {n: (d.low, d.high) for n, d in space.items() if isinstance(d, optuna.distributions.FloatDistribution)}
    return [{n: _within(value, *ends[n]) if n in ends else value for n, value in point.items()} for point in drawn]


def _study(sampler: str, **options: Any) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        made = getattr(optuna.samplers, sampler)(**options)
    return optuna.create_study(direction="maximize", sampler=made)
