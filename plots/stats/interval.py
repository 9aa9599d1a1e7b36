"""The mean over seeds with the half-width of its t-interval: what every cell with a ± shows."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit


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
