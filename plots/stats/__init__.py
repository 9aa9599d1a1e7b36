"""Statistics that hold at the number of seeds people can afford, for tables, figures and the report.

Not used, and why:
- percentile bootstrap: with 3–10 seeds its "95 %" interval covers far less (the t-interval is exact if
  seeds are normal);
- rank tests (Wilcoxon, sign): with 5 pairs the smallest two-sided p is 1/16, so they can never be
  significant;
- critical-difference diagrams: they rank over data sets and need at least six of them to separate anything.
"""

from plots.stats.decision import MARGIN, MOST, Published, judge, more_seeds, power_of_t, probability_of_improvement
from plots.stats.difference import ALPHA, Interval, holm, paired, separable, slopes, t_interval

__all__ = [
    "ALPHA", "MARGIN", "MOST", "Interval", "Published", "holm", "judge", "more_seeds", "paired", "power_of_t",
    "probability_of_improvement", "separable", "slopes", "t_interval",
]  # fmt: skip
