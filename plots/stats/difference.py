"""Means over seeds, differences between methods, slopes: each with its t-interval, and which can be told apart.

The same seed index means the same split, initialisation and batch order for every method
(`benchmark/seeds.py`), so differences within a seed are less noisy than the scores themselves. Scores are a
frame: one row a seed, one column a method (or a level of a disturbance).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit  # not scipy.stats, which takes a second to load

ALPHA = 0.05  # chance to call the true best separable from the best


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
