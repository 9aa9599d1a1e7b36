"""Statistics that hold at the number of seeds people can afford, for tables, figures and the report: means over seeds,
differences between methods and slopes with their t-intervals, which methods can be told apart, how many seeds would do it,
and whether a published number was reproduced.

The same seed index means the same split, initialisation and batch order for every method (`benchmark/seeds.py`), so
differences within a seed are less noisy than the scores themselves. Scores are a frame: one row a seed, one column a method
(or a level of a disturbance).

Not used, and why:
- percentile bootstrap: with 3–10 seeds its "95 %" interval covers far less (the t-interval is exact if
  seeds are normal);
- rank tests (Wilcoxon, sign): with 5 pairs the smallest two-sided p is 1/16, so they can never be
  significant;
- critical-difference diagrams: they rank over data sets and need at least six of them to separate anything.
"""

import math
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import gammaln, nctdtr, ndtr, stdtr, stdtrit  # not scipy.stats, which takes a second to load

ALPHA = 0.05  # chance to call the true best separable from the best
QUANTILE = 0.975  # of intervals, which hold 95 %
POWER = 0.8  # of the test that seeds are added for
LIMIT = 8.0  # beyond this effect size Φ is 0 or 1 to fifteen digits
MARGIN = 1.0  # point of R@1 (or of whatever is in percent): what a reader would call the same
MOST = 1000  # seeds; more are no plan


@dataclass(frozen=True)
class Interval:
    """mean ± half from n values; half is NaN where one value says nothing about the spread."""

    mean: float
    half: float
    n: int

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half


def t_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Mean and half-width t · s / √n of the interval that holds the true mean with probability `level`."""
    x = np.asarray(list(values), dtype=float)
    x = x[np.isfinite(x)]
    if len(x) < 2:
        return Interval(float(x[0]) if len(x) else float("nan"), float("nan"), len(x))
    quantile = stdtrit(len(x) - 1, (1 + level) / 2)
    return Interval(float(x.mean()), float(quantile * x.std(ddof=1) / np.sqrt(len(x))), len(x))


@dataclass(frozen=True)
class Paired(Interval):
    """Difference a − b over the n seeds that both have, and the two-sided p of "no difference"."""

    p: float


def paired(a: pd.Series, b: pd.Series) -> Paired:
    """Compare two methods on the seeds that both have (Series indexed by seed)."""
    difference = shared(a, b)
    interval = t_interval(difference)
    n, spread = len(difference), float(np.std(difference, ddof=1)) if len(difference) > 1 else 0.0
    p = 2 * stdtr(max(1, n - 1), -abs(_statistic(interval.mean, spread, n)))
    return Paired(interval.mean, interval.half, n, float(p))


def _statistic(mean: Any, spread: Any, n: Any) -> np.ndarray:
    """t of mean differences (numbers or arrays); 0 where they say nothing.

    Differences that agree to rounding have no spread to test against. From three seeds on that is as sure as it gets (±∞);
    from two it is a coincidence of rounding.
    """
    flat = np.logical_not(spread > 1e-12 * np.maximum(1.0, abs(mean)))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / (spread / np.sqrt(n))
    certain = np.where((n >= 3) & (abs(mean) > 1e-12), np.copysign(np.inf, mean), 0.0)
    return np.where(flat, certain, t)


def shared(a: pd.Series, b: pd.Series) -> np.ndarray:
    """Differences a − b on the seeds that both have."""
    if a.index.equals(b.index):  # the usual case, and many times faster than aligning
        difference = a.to_numpy(dtype=float) - b.to_numpy(dtype=float)
    else:
        difference = (a - b).to_numpy(dtype=float)
    return difference[np.isfinite(difference)]


def holm(p: Sequence[float]) -> np.ndarray:
    """Adjusted p-values: comparing each with alpha keeps the chance of any false claim below alpha."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def separable(scores: pd.DataFrame) -> pd.DataFrame:
    """Each method against the best: difference and half (to the best mean, on shared seeds), n, p, separable.

    A method is separable from the best if any other is above it in a one-sided paired t-test at ALPHA / (methods − 1); p is
    the smallest of these, times their number. Those that are left are a confidence set (Gupta's subset selection, without
    equal variances): the true best has one test with each other, all of them true nulls, so it is left out with probability
    ALPHA at most, whichever the data pick. Holm over all pairs answers more than is asked, and with 38 methods and 5 seeds
    tells nothing apart.
    """
    names, best = list(scores.columns), scores.mean().idxmax()
    frame = pd.DataFrame([paired(scores[best], scores[name]) for name in names], pd.Index(names, name="method"))
    p = _above(scores.to_numpy(dtype=float)).min(axis=0) * max(1, len(names) - 1)
    return frame.rename(columns={"mean": "difference"}).assign(p=p.clip(max=1.0), separable=p < ALPHA)


def _above(x: np.ndarray) -> np.ndarray:
    """p[j, i] of the one-sided paired test that method j is above i, from scores (seeds, methods); 1 where there is none."""
    differences = np.ma.masked_invalid(x[:, :, None] - x[:, None, :])  # (seeds, j, i)
    n = differences.count(axis=0)
    mean, spread = (m.filled(0.0) for m in (differences.mean(axis=0), differences.std(axis=0, ddof=1)))
    p = stdtr(np.maximum(1, n - 1), -_statistic(mean, spread, n))
    return np.where((n < 2) | np.eye(x.shape[1], dtype=bool), 1.0, p)


def slopes(scores: pd.DataFrame, per: float = 1.0) -> pd.Series:
    """Least-squares slope of each seed that has every level, per `per` units of the level.

    Within a seed, so that what a seed has in common with itself cancels.
    """
    complete = scores.dropna()
    if complete.shape[1] < 2:
        return pd.Series(dtype=float)
    levels = complete.columns.to_numpy(dtype=float)
    centred = levels - levels.mean()
    values = complete.to_numpy(dtype=float) @ centred / (centred @ centred) * per
    return pd.Series(values, index=complete.index)


@dataclass(frozen=True)
class Probability:
    value: float
    low: float
    high: float


def probability_of_improvement(a: pd.Series, b: pd.Series) -> Probability:
    """P(a run of `a` scores above the run of `b` with the same seed).

    If the differences between two methods over seeds are normal, it is Φ(δ/σ), and √n · mean / s follows a non-central t
    distribution; inverting it gives an interval that is exact at any number of seeds.
    """
    difference = shared(a, b)
    n = len(difference)
    if n < 2:
        return Probability(math.nan, 0.0, 1.0)
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    if spread <= 1e-12 * max(1.0, abs(mean)):
        return Probability(float(0.5 + 0.5 * np.sign(mean)), 0.0, 1.0)
    statistic = np.sqrt(n) * mean / spread

    def effect(probability: float) -> float:
        """The effect size δ/σ under which a statistic as large as ours or larger has this probability."""

        def excess(size: float) -> float:
            return _tail(size, n, statistic) - probability

        if excess(-LIMIT) > 0:
            return -LIMIT
        return LIMIT if excess(LIMIT) < 0 else float(brentq(excess, -LIMIT, LIMIT))

    return Probability(*(float(ndtr(size)) for size in (mean / spread, effect(1 - QUANTILE), effect(QUANTILE))))


def _tail(effect: float, n: int, statistic: float) -> float:
    """Chance that t of n seeds is above a value when the mean difference is `effect` deviations."""
    tail = 1.0 - float(nctdtr(n - 1, effect * np.sqrt(n), statistic))
    # scipy loses its digits where the tail is 0 or 1 to all of them
    return float(effect * np.sqrt(n) > statistic) if np.isnan(tail) else tail


def power_of_t(effect: float, n: int, alpha: float = ALPHA) -> float:
    """Chance that a one-sided paired t-test on n seeds is significant when the mean difference is `effect` deviations."""
    return _tail(effect, n, float(stdtrit(n - 1, 1 - alpha)))


def more_seeds(a: pd.Series, b: pd.Series, alpha: float = ALPHA) -> int | None:
    """Seeds to add to find `a` above `b` with POWER; None: more than MOST, or too few are there to tell.

    `alpha` is per comparison: divide it by the number of other methods to plan for `separable`. That is enough, as one that
    is above suffices there; another of them may do it sooner.
    """
    difference = shared(a, b)
    n = len(difference)
    if n < 3:
        return None
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    if spread == 0:
        return 0 if mean > 0 else None
    # Hedges' correction: with few seeds, mean / s overstates δ/σ.
    effect = mean / spread * float(np.exp(gammaln((n - 1) / 2) - gammaln((n - 2) / 2)) / np.sqrt((n - 1) / 2))
    needed = _fewest(lambda seeds: power_of_t(effect, seeds, alpha) >= POWER, 2)
    return None if needed is None else max(0, needed - n)


def _fewest(enough: Callable[[int], bool], least: int) -> int | None:
    """Seeds from which on there are enough of them; none, where MOST are not."""
    return bisect(range(MOST), False, least, key=enough) if enough(MOST) else None


@dataclass(frozen=True)
class Published:
    value: float
    spread: float | None = None  # standard deviation over its runs, where the paper gives one
    runs: int | None = None  # behind the value, where the paper says so
    rounding: float = 0.0  # half a unit of the last digit printed


@dataclass(frozen=True)
class Verdict:
    word: str  # reproduced, above, below, undecided
    difference: float  # ours minus the paper's
    seeds: int | None = None  # of ours that would decide, if the difference stays; None: no number of them


def judge(ours: Interval, paper: Published) -> Verdict:
    """By the interval of the difference and a margin that is stated beforehand. *Reproduced*: the interval lies within the
    margin. *Above*, *below*: it excludes zero. *Undecided*: neither. So few seeds reproduce nothing, and a wide interval is
    no agreement. Without a spread of the paper's, its runs are taken to vary as ours do, and to be one where it says nothing.
    """
    gap = ours.mean - paper.value
    if ours.n < 2:
        return Verdict("undecided", gap)
    deviation = ours.half / float(stdtrit(ours.n - 1, QUANTILE)) * math.sqrt(ours.n)

    def word(n: int) -> str:
        half = _half(deviation, n, paper) + paper.rounding
        if abs(gap) + half <= MARGIN:
            return "reproduced"
        return "undecided" if abs(gap) <= half else "above" if gap > 0 else "below"

    told = word(ours.n)
    seeds = _fewest(lambda n: word(n) != "undecided", ours.n + 1) if told == "undecided" else None
    return Verdict(told, gap, seeds)


def _half(deviation: float, n: int, paper: Published) -> float:
    """Half-width of the interval for the difference of two means: Welch's or the pooled one, whichever is wider.

    Welch's alone is too narrow where the paper has three runs and we have ten: it is wrong in 7 cases of 100.
    """
    runs = paper.runs or 1
    if paper.spread is None or runs < 2:
        return float(stdtrit(n - 1, QUANTILE)) * deviation * math.sqrt(1 / n + 1 / runs)
    a, b = deviation**2 / n, paper.spread**2 / runs
    if a + b == 0:
        return 0.0
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (runs - 1))
    pooled = ((n - 1) * deviation**2 + (runs - 1) * paper.spread**2) / (n + runs - 2)
    return max(
        float(stdtrit(freedom, QUANTILE)) * math.sqrt(a + b),
        float(stdtrit(n + runs - 2, QUANTILE)) * math.sqrt(pooled * (1 / n + 1 / runs)),
    )
