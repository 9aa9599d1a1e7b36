"""Whether a published number was reproduced: by the interval of the difference and a margin that is stated beforehand.

*Reproduced*: the interval lies within the margin. *Above*, *below*: it excludes zero. *Undecided*: neither, and then the
number of seeds that would decide. So few seeds reproduce nothing, and a wide interval is no agreement.
"""

import math
from bisect import bisect
from dataclasses import dataclass

from scipy.special import stdtrit

from plots.stats.difference import Interval

MARGIN = 1.0  # point of R@1 (or of whatever is in percent): what a reader would call the same
MOST = 1000  # seeds; more are no plan


@dataclass(frozen=True)
class Published:
    value: float
    spread: float | None = None  # standard deviation over its runs, where the paper gives one
    runs: int | None = None  # behind the value, where the paper says so
    rounding: float = 0.0  # half a unit of the last digit printed


@dataclass(frozen=True)
class Verdict:
    word: str  # reproduced, above, below, undecided
    difference: Interval  # ours minus the paper's
    seeds: int | None = None  # of ours that would decide, if the difference stays; None: no number of them


def judge(ours: Interval, paper: Published, margin: float = MARGIN, level: float = 0.95) -> Verdict:
    """Without a spread of the paper's, its runs are taken to vary as ours do, and to be one where it says nothing."""
    gap = ours.mean - paper.value
    if ours.n < 2:
        return Verdict("undecided", Interval(gap, math.nan, ours.n))
    deviation = ours.half / float(stdtrit(ours.n - 1, (1 + level) / 2)) * math.sqrt(ours.n)

    def half(n: int) -> float:
        return _half(deviation, n, paper, level) + paper.rounding

    word = _word(gap, half(ours.n), margin)
    seeds = None
    if word == "undecided" and _word(gap, half(MOST), margin) != "undecided":
        # Intervals shrink with n: bisect for the smallest that decides.
        seeds = bisect(range(MOST), False, ours.n + 1, key=lambda n: _word(gap, half(n), margin) != "undecided")
    return Verdict(word, Interval(gap, half(ours.n), ours.n), seeds)


def _word(gap: float, half: float, margin: float) -> str:
    if abs(gap) + half <= margin:
        return "reproduced"
    return "undecided" if abs(gap) <= half else "above" if gap > 0 else "below"


def _half(deviation: float, n: int, paper: Published, level: float) -> float:
    """Half-width of the interval for the difference of two means: Welch's or the pooled one, whichever is wider.

    Welch's alone is too narrow where the paper has three runs and we have ten: it is wrong in 7 cases of 100.
    """
    runs, quantile = paper.runs or 1, (1 + level) / 2
    if paper.spread is None or runs < 2:
        return float(stdtrit(n - 1, quantile)) * deviation * math.sqrt(1 / n + 1 / runs)
    a, b = deviation**2 / n, paper.spread**2 / runs
    if a + b == 0:
        return 0.0
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (runs - 1))
    pooled = ((n - 1) * deviation**2 + (runs - 1) * paper.spread**2) / (n + runs - 2)
    return max(
        float(stdtrit(freedom, quantile)) * math.sqrt(a + b),
        float(stdtrit(n + runs - 2, quantile)) * math.sqrt(pooled * (1 / n + 1 / runs)),
    )
