"""Robustness as one number: points gained or lost per 10 % of noise or per 10 classes withheld.

A slope is fitted within each seed, so that what a seed has in common with itself cancels, and its
t-interval is over seeds. Scores are a frame: one row a seed, one column a level of the disturbance (its
number).
"""

import pandas as pd

from plots.stats.interval import Interval, t_interval
from plots.stats.separable import Paired, paired


def slopes(scores: pd.DataFrame, per: float = 1.0) -> pd.Series:
    """Least-squares slope of each seed that has every level, per `per` units of the level."""
    complete = scores.dropna()
    if complete.shape[1] < 2:
        return pd.Series(dtype=float)
    levels = complete.columns.to_numpy(dtype=float)
    centred = levels - levels.mean()
    values = complete.to_numpy(dtype=float) @ centred / (centred @ centred) * per
    return pd.Series(values, index=complete.index)


def slope(scores: pd.DataFrame, per: float = 1.0, level: float = 0.95) -> Interval:
    return t_interval(slopes(scores, per), level)


def slope_difference(a: pd.DataFrame, b: pd.DataFrame, per: float = 1.0) -> Paired:
    """How much less method a loses than b, paired by seed, over the levels that both have."""
    shared = [column for column in a.columns if column in b.columns]
    if len(shared) < 2:
        return Paired(float("nan"), float("nan"), 0, 1.0)
    return paired(slopes(a[shared], per), slopes(b[shared], per))
