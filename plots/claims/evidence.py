"""What a rule looks at: the final runs of a study in one regime, and contrasts that ought to lie above zero.

A contrast is a number per seed, in points, that the claim says is positive. Intervals are 95 % t-intervals, each at the
level that keeps the chance of any wrong word of a claim below 5 % (Bonferroni over its contrasts).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

import baselines
from benchmark.errors import UserError
from plots.data import Results, final, finished, with_params
from plots.stats import Interval, t_interval

SUPPORTED, NOT_SEEN, CONTRADICTED, UNDECIDED, NOT_RUN = (
    "supported", "not seen here", "contradicted", "undecided", "not run",
)  # fmt: skip


@dataclass(frozen=True)
class Regime:
    """Data and network that results come from."""

    title: str
    scale: str
    dataset: str
    lane: str = ""  # "": any
    papers: bool = False  # whether it is the paper's own, so that it can contradict


@dataclass(frozen=True)
class Contrast:
    name: str  # "against Roadmap"
    values: pd.Series  # points by seed


@dataclass(frozen=True)
class Finding:
    word: str
    contrasts: tuple[tuple[str, Interval], ...] = ()


class Evidence:
    """The results of one regime."""

    def __init__(self, results: Results, regime: Regime) -> None:
        self.results, self.regime = results, regime

    def runs(self, *studies: str, protocol: str = "test") -> pd.DataFrame:
        """The finished final runs of the first study that has some here, parameters as columns."""
        for study in studies:
            try:
                runs = finished(final(self.results.frame(study)))
            except UserError:
                continue
            runs = runs[[str(name).partition("?")[0] == self.regime.dataset for name in runs["dataset"]]]
            runs = runs[runs["protocol"] == protocol]
            runs = runs[runs["lane"] == self.regime.lane] if self.regime.lane else runs
            if len(runs):
                return with_params(runs)
        raise UserError(f"no runs of {' or '.join(studies)} on {self.regime.dataset}")

    def judge(self, contrasts: Iterable[Contrast], margin: float | None = None) -> Finding:
        """Every contrast must lie above zero; with a margin, every one within it on both sides."""
        some = [contrast for contrast in contrasts if len(contrast.values.dropna())]
        level = 1 - 0.05 / max(1, len(some))
        found = tuple((contrast.name, t_interval(contrast.values.dropna(), level)) for contrast in some)
        if not found:
            return Finding(NOT_RUN)
        if any(interval.n < 2 for _, interval in found):
            return Finding(UNDECIDED, found)
        intervals = [interval for _, interval in found]
        if margin is None:
            holds, fails = all(i.low > 0 for i in intervals), any(i.high < 0 for i in intervals)
        else:
            holds = all(-margin < i.low and i.high < margin for i in intervals)
            fails = any(i.low > margin or i.high < -margin for i in intervals)
        against = CONTRADICTED if self.regime.papers else NOT_SEEN
        return Finding(SUPPORTED if holds else against if fails else UNDECIDED, found)


def by_seed(runs: pd.DataFrame, metric: str = "test/R@1") -> pd.Series:
    """Percent, mean over what else the runs differ in."""
    if metric not in runs or runs.empty:
        return pd.Series(dtype=float)
    return 100 * runs.groupby("seed")[metric].mean()


def others(runs: pd.DataFrame) -> list[str]:
    """The paper's other trained methods that there are."""
    names = sorted(set(runs["method"]) & set(baselines.names()) - {"contextual"})
    cards = {name: baselines.card(name) for name in names}
    return [name for name, card in cards.items() if card.trains and card.group == "paper"]
