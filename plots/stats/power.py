"""How sure a difference is and how many seeds would settle it: chance to win, power, seeds to add.

If the differences between two methods over seeds are normal, the probability that one wins on a seed is Φ(δ/σ), and
√n · mean / s follows a non-central t distribution; inverting it gives an interval that is exact at any number of seeds.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import gammaln, ncfdtr, nctdtr, ndtr, stdtrit

from plots.stats.difference import shared

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
            tail = 1.0 - float(nctdtr(n - 1, size * np.sqrt(n), statistic))
            if np.isnan(tail):  # scipy loses its digits where the tail is 0 or 1 to all of them
                tail = float(size * np.sqrt(n) > statistic)
            return tail - probability

        if excess(-LIMIT) > 0:
            return -LIMIT
        return LIMIT if excess(LIMIT) < 0 else float(brentq(excess, -LIMIT, LIMIT))

    tail = (1 - level) / 2
    return Probability(float(ndtr(mean / spread)), float(ndtr(effect(tail))), float(ndtr(effect(1 - tail))), n)


def power_of_t(effect: float, n: int, alpha: float = 0.05) -> float:
    """Chance that a paired t-test on n seeds is significant when the mean difference is `effect` deviations."""
    critical = stdtrit(n - 1, 1 - alpha / 2)
    missed = float(ncfdtr(1, n - 1, effect**2 * n, critical**2))  # T² of a two-sided test: non-central F
    return 1.0 if np.isnan(missed) else 1.0 - missed  # scipy loses its digits where it is 0 to all of them


def _unbiased(effect: float, n: int) -> float:
    """Hedges' correction: with few seeds, mean / s overstates δ/σ (of two by so much that nothing can be said)."""
    freedom = n - 1
    if freedom < 2:
        return 0.0
    return effect * float(np.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2))


def more_seeds(a: pd.Series, b: pd.Series, *, power: float = 0.8, alpha: float = 0.05, most: int = 1000) -> int | None:
    """Seeds to add for `power`; None where more than `most` are needed or too few are there to tell.

    `alpha` is per comparison: divide it by their number to plan for a corrected test.
    """
    difference = shared(a, b)
    n = len(difference)
    if n < 3:
        return None
    spread = float(difference.std(ddof=1))
    if spread == 0:
        return 0 if difference.mean() != 0 else None
    effect = _unbiased(abs(float(difference.mean())) / spread, n)
    low, high = 2, most  # power grows with n: bisect for the smallest that suffices
    if power_of_t(effect, high, alpha) < power:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of_t(effect, middle, alpha) >= power else (middle + 1, high)
    return max(0, low - n)
