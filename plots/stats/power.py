"""How sure a difference is and how many seeds would settle it: chance to win, power, seeds to add.

If the differences between two methods over seeds are normal, the probability that one wins on a seed is Φ(δ/σ), and
√n · mean / s follows a non-central t distribution; inverting it gives an interval that is exact at any number of seeds.
"""

from bisect import bisect
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import gammaln, nctdtr, ndtr, stdtrit

from plots.stats.difference import ALPHA, shared

LIMIT = 8.0  # beyond this effect size Φ is 0 or 1 to fifteen digits


@dataclass(frozen=True)
class Probability:
    value: float
    low: float
    high: float
    n: int


def probability_of_improvement(a: pd.Series, b: pd.Series, level: float = 0.95) -> Probability:
    """P(a run of `a` scores above the run of `b` with the same seed)."""
    difference = shared(a, b)
    n = len(difference)
    if n < 2:
        return Probability(float("nan"), 0.0, 1.0, n)
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    if spread <= 1e-12 * max(1.0, abs(mean)):
        value = float(0.5 + 0.5 * np.sign(mean))
        return Probability(value, 0.0, 1.0, n)
    statistic = np.sqrt(n) * mean / spread

    def effect(probability: float) -> float:
        """The effect size δ/σ under which a statistic as large as ours or larger has this probability."""

        def excess(size: float) -> float:
            return _tail(size, n, statistic) - probability

        if excess(-LIMIT) > 0:
            return -LIMIT
        return LIMIT if excess(LIMIT) < 0 else float(brentq(excess, -LIMIT, LIMIT))

    tail = (1 - level) / 2
    return Probability(float(ndtr(mean / spread)), float(ndtr(effect(tail))), float(ndtr(effect(1 - tail))), n)


def _tail(effect: float, n: int, statistic: float) -> float:
    """Chance that t of n seeds is above a value when the mean difference is `effect` deviations."""
    tail = 1.0 - float(nctdtr(n - 1, effect * np.sqrt(n), statistic))
    # scipy loses its digits where the tail is 0 or 1 to all of them
    return float(effect * np.sqrt(n) > statistic) if np.isnan(tail) else tail


def power_of_t(effect: float, n: int, alpha: float = ALPHA) -> float:
    """Chance that a one-sided paired t-test on n seeds is significant when the mean difference is `effect` deviations."""
    return _tail(effect, n, float(stdtrit(n - 1, 1 - alpha)))


def _unbiased(effect: float, n: int) -> float:
    """Hedges' correction: with few seeds, mean / s overstates δ/σ (of two by so much that nothing can be said)."""
    freedom = n - 1
    if freedom < 2:
        return 0.0
    return effect * float(np.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2))


def more_seeds(a: pd.Series, b: pd.Series, *, power: float = 0.8, alpha: float = ALPHA, most: int = 1000) -> int | None:
    """Seeds to add to find `a` above `b` with this power; None: more than `most`, or too few are there to tell.

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
    effect = _unbiased(mean / spread, n)
    if power_of_t(effect, most, alpha) < power:
        return None
    # Power grows with n: bisect for the smallest that suffices.
    needed = bisect(range(most), False, 2, key=lambda seeds: power_of_t(effect, seeds, alpha) >= power)
    return max(0, needed - n)
