"""The probability that one method beats another in a run with the same seed, with its interval.

If the differences between two methods over seeds are normal, the probability is Φ(δ/σ), and √n · mean / s
follows a non-central t distribution; inverting it gives an interval that is exact at any number of seeds.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import nctdtr, ndtr  # not scipy.stats, which takes a second to load

from plots.stats.separable import shared

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
    return Probability(
        float(ndtr(mean / spread)), float(ndtr(effect(tail))), float(ndtr(effect(1 - tail))), n
    )
