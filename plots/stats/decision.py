"""What seeds decide, and how many would: who wins on a seed, seeds to add to tell two methods apart, and whether a
published number was reproduced.

If the differences between two methods over seeds are normal, the probability that one wins on a seed is Φ(δ/σ), and
√n · mean / s follows a non-central t distribution; inverting it gives an interval that is exact at any number of seeds.

A published number is judged by the interval of the difference and a margin that is stated beforehand. *Reproduced*: the
interval lies within the margin. *Above*, *below*: it excludes zero. *Undecided*: neither. So few seeds reproduce nothing,
and a wide interval is no agreement.
"""

import math
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import gammaln, nctdtr, ndtr, stdtrit

from plots.stats.difference import ALPHA, Interval, shared

QUANTILE = 0.975  # of intervals, which hold 95 %
POWER = 0.8  # of the test that seeds are added for
LIMIT = 8.0  # beyond this effect size Φ is 0 or 1 to fifteen digits
MARGIN = 1.0  # point of R@1 (or of whatever is in percent): what a reader would call the same
MOST = 1000  # seeds; more are no plan


@dataclass(frozen=True)
class Probability:
    value: float
    low: float
    high: float


def probability_of_improvement(a: pd.Series, b: pd.Series) -> Probability:
    """P(a run of `a` scores above the run of `b` with the same seed)."""
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
    """Without a spread of the paper's, its runs are taken to vary as ours do, and to be one where it says nothing."""
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
