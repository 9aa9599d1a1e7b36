"""Means over seeds, differences between methods, slopes: each with its t-interval, and which can be told apart.

The same seed index means the same split, initialisation and batch order for every method
(`benchmark/seeds.py`), so differences within a seed are less noisy than the scores themselves. Scores are a
frame: one row a seed, one column a method (or a level of a disturbance).
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit  # not scipy.stats, which takes a second to load


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

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def t_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Mean and half-width t · s / √n of the interval that holds the true mean with probability `level`."""
    x = np.asarray(list(values), dtype=float)
    x = x[np.isfinite(x)]
    if len(x) == 0:
        return Interval(float("nan"), float("nan"), 0)
    if len(x) == 1:
        return Interval(float(x[0]), float("nan"), 1)
    quantile = stdtrit(len(x) - 1, (1 + level) / 2)
    return Interval(float(x.mean()), float(quantile * x.std(ddof=1) / np.sqrt(len(x))), len(x))


@dataclass(frozen=True)
class Paired:
    """Difference a − b over the n seeds that both have, ± half, and the two-sided p of "no difference"."""

    mean: float
    half: float
    n: int
    p: float


def paired(a: pd.Series, b: pd.Series, level: float = 0.95) -> Paired:
    """Compare two methods on the seeds that both have (Series indexed by seed)."""
    difference = shared(a, b)
    interval = t_interval(difference, level)
    n, spread = len(difference), float(np.std(difference, ddof=1)) if len(difference) > 1 else 0.0
    # Differences that agree to rounding have no spread to test against. From three seeds on that is as sure
    # as it gets; from two it is a coincidence of rounding.
    if spread <= 1e-12 * max(1.0, abs(interval.mean if n else 0.0)):
        certain = n >= 3 and abs(interval.mean) > 1e-12
        return Paired(interval.mean, interval.half, n, 0.0 if certain else 1.0)
    p = 2 * stdtr(n - 1, -abs(interval.mean) / (spread / np.sqrt(n)))
    return Paired(interval.mean, interval.half, n, float(p))


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


def separable(scores: pd.DataFrame, reference: str | None = None, alpha: float = 0.05) -> pd.DataFrame:
    """Each method against the reference (None: the best mean): difference, half, n, p (Holm-adjusted),
    separable.

    Holm runs over the baselines when the reference is named in advance. The best of the data is not: it is
    picked because it looks good, so Holm then runs over all pairs (over the baselines alone, 14 equal
    methods would give a false claim in one table of eight).
    """
    methods = list(scores.columns)
    of = {name: scores[name] for name in methods}
    best = reference if reference is not None else scores.mean().idxmax()
    others = [name for name in methods if name != best]
    pairs = [(best, name) for name in others]
    if reference is None:
        pairs += list(itertools.combinations(others, 2))
    results = [paired(of[a], of[b]) for a, b in pairs]
    adjusted = holm([result.p for result in results])
    rows = {
        name: (result.mean, result.half, result.n, p, p < alpha)
        for name, result, p in zip(others, results, adjusted, strict=False)  # the pairs with the best come first
    }
    rows[best] = (0.0, 0.0, int(scores[best].notna().sum()), 1.0, False)
    columns = ["difference", "half", "n", "p", "separable"]
    return pd.DataFrame([rows[name] for name in methods], index=pd.Index(methods, name="method"), columns=columns)


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
