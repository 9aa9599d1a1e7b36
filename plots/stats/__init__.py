"""Statistics that hold at the number of seeds people can afford, for tables, figures and the report.

Not used, and why:
- percentile bootstrap: with 3–10 seeds its "95 %" interval covers far less (the t-interval is exact if
  seeds are normal);
- rank tests (Wilcoxon, sign): with 5 pairs the smallest two-sided p is 1/16, so they can never be
  significant;
- critical-difference diagrams: they rank over data sets and need at least six of them to separate anything.
"""

from plots.stats.budget import expected_best
from plots.stats.gap import protocol_gap
from plots.stats.improvement import Probability, probability_of_improvement
from plots.stats.interval import Interval, t_interval
from plots.stats.more_seeds import more_seeds, power_of_t
from plots.stats.separable import Paired, holm, paired, separable
from plots.stats.slope import slope, slope_difference, slopes

__all__ = [
    "Interval",
    "Paired",
    "Probability",
    "expected_best",
    "holm",
    "more_seeds",
    "paired",
    "power_of_t",
    "probability_of_improvement",
    "protocol_gap",
    "separable",
    "slope",
    "slope_difference",
    "slopes",
    "t_interval",
]
