"""How many more seeds would separate two methods, if the difference seen so far is the true one."""

import numpy as np
import pandas as pd
from scipy.special import gammaln, ncfdtr, stdtrit

from plots.stats.separable import shared


def power_of_t(effect: float, n: int, alpha: float = 0.05) -> float:
    """Chance that a paired t-test on n seeds is significant when the mean difference is `effect`
    deviations.
    """
    critical = stdtrit(n - 1, 1 - alpha / 2)
    missed = float(ncfdtr(1, n - 1, effect**2 * n, critical**2))  # T² of a two-sided test: non-central F
    return 1.0 if np.isnan(missed) else 1.0 - missed  # scipy loses its digits where it is 0 to all of them


def _unbiased(effect: float, n: int) -> float:
    """Hedges' correction: with few seeds, mean / s overstates δ/σ (n = 2: by so much that nothing can be
    said).
    """
    freedom = n - 1
    if freedom < 2:
        return 0.0
    return effect * float(np.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2))


def more_seeds(
    a: pd.Series, b: pd.Series, *, power: float = 0.8, alpha: float = 0.05, most: int = 1000
) -> int | None:
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
