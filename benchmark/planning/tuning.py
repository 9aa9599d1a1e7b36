"""Tuning: which points a method tries within its budget, which is best, whether the range was too narrow.

Every method gets the same number of trials on the same learning-rate range; what it tunes beyond comes out
of the same budget. Points depend on the study and on the scores told so far in trial order, never on the
number of workers. The planner asks here what to run; Optuna proposes for `random` and `tpe`, and
`dashboard.py` hands every trial to optuna-dashboard.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from benchmark.planning.study import Tuning

Point = Mapping[str, Any]  # "lr" and what else is tuned
FEWEST_RATES = 3  # a method may spend its trials on other values only if so many learning rates remain


@dataclass(frozen=True)
class Trial:
    number: int
    point: Point
    state: str  # open, ok, diverged, failed
    score: float = -math.inf


Judge = Callable[[int, Point], Trial]  # looks a point up in the stored results


def rates(low: float, high: float, count: int) -> list[float]:
    """Learning rates at equal ratios, rounded so that they read well and are the same on every machine."""
    if count == 1:
        return [_rounded(math.sqrt(low * high))]
    return [_rounded(low * (high / low) ** (i / (count - 1))) for i in range(count)]


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def affordable(search: Mapping[str, list], trials: int) -> dict[str, list]:
    """As many of the values to tune, in the order that the method names them, as the budget has room for."""
    chosen: dict[str, list] = {}
    combinations = 1
    for name, values in search.items():
        combinations *= len(values)
        if trials // combinations < FEWEST_RATES:
            break
        chosen[name] = list(values)
    return chosen


@dataclass(frozen=True)
class Search:
    tuning: Tuning
    extra: Mapping[str, list]  # name → values, beyond the learning rate
    name: str  # seeds the random samplers; the same for every method, so that they draw the same rates

    @property
    def budget(self) -> int:
        """Trials, never more than the study grants; a grid may need fewer."""
        if self.tuning.sampler != "grid":
            return self.tuning.trials
        combinations = math.prod(map(len, self.extra.values()))
        return self.tuning.trials // combinations * combinations

    def trials(self, judge: Judge) -> list[Trial]:
        """The trials that are known: all of a grid; of a sampler, up to the first batch with an open one."""
        if self.tuning.sampler == "grid":
            return [judge(number, point) for number, point in enumerate(self._grid())]
        return self._sampled(judge)

    def _grid(self) -> list[Point]:
        combinations = list(product(*self.extra.values()))
        lrs = rates(*self.tuning.lr, self.budget // len(combinations))
        return [
            {"lr": lr, **dict(zip(self.extra, values, strict=True))} for lr in lrs for values in combinations
        ]

    def _sampled(self, judge: Judge) -> list[Trial]:
        import optuna

        from benchmark.seeds import seed

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        samplers = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler}
        sampler = samplers[self.tuning.sampler](seed=seed("tuning", self.name) % 2**32)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        low, high = self.tuning.lr
        trials: list[Trial] = []
        while len(trials) < self.budget:
            asked = []
            for number in range(len(trials), min(len(trials) + self.tuning.batch, self.budget)):
                draw = study.ask()
                point = {"lr": _rounded(draw.suggest_float("lr", low, high, log=True))}
                point |= {name: draw.suggest_categorical(name, values) for name, values in self.extra.items()}
                asked.append((draw, judge(number, point)))
            trials += [trial for _, trial in asked]
            if any(trial.state == "open" for _, trial in asked):
                break
            for draw, trial in asked:  # in the order of asking, whichever finished first
                if trial.state == "ok":
                    study.tell(draw, trial.score)
                else:
                    study.tell(draw, state=optuna.trial.TrialState.FAIL)
        return trials

    def complete(self, trials: Sequence[Trial]) -> bool:
        return len(trials) >= self.budget and all(trial.state != "open" for trial in trials)

    @property
    def step(self) -> float:
        """The ratio between neighbouring rates of a plain grid; also how far a range is extended."""
        low, high = self.tuning.lr
        return (high / low) ** (1 / max(1, self.tuning.trials - 1))

    def range(self, sides: Sequence[str] = ()) -> tuple[float, float]:
        low, high = self.tuning.lr
        return (
            _rounded(low / self.step) if "low" in sides else low,
            _rounded(high * self.step) if "high" in sides else high,
        )

    def edge(self, trials: Sequence[Trial], sides: Sequence[str] = ()) -> str:
        """Whether the best rate lies at the `low` or `high` end of the range searched."""
        chosen = best(trials)
        if chosen is None or len({trial.point["lr"] for trial in trials}) < 2:
            return ""
        low, high = self.range(sides)
        margin = math.sqrt(self.step)  # half a step: a sampler never hits the end itself
        lr = chosen.point["lr"]
        return "low" if lr <= low * margin else "high" if lr >= high / margin else ""

    def extension(self, trials: Sequence[Trial], sides: Sequence[str], judge: Judge) -> list[Trial]:
        """One more trial on each side, at the best other values so far: the same for every method."""
        chosen = best(trials)
        if chosen is None:
            return []
        ends = dict(zip(("low", "high"), self.range(sides), strict=True))
        points = [{**chosen.point, "lr": ends[side]} for side in sides]
        return [judge(len(trials) + i, point) for i, point in enumerate(points)]


def best(trials: Sequence[Trial]) -> Trial | None:
    """The highest score; of equals the lowest rate, then the first. None if every trial failed.

    If all diverged, it is the lowest rate: its final runs will say so.
    """
    candidates = [trial for trial in trials if trial.state in ("ok", "diverged")]
    return min(candidates, key=lambda t: (-t.score, t.point["lr"], t.number), default=None)
