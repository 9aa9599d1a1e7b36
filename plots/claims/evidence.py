"""What a rule looks at: the final runs of a study in one regime, and contrasts that ought to lie above zero.

A contrast is a number per seed, in points, that the claim says is positive. Intervals are 95 % t-intervals, each at the
level that keeps the chance of any wrong word of a claim below 5 % (Bonferroni over its contrasts).
"""

from dataclasses import dataclass, field

import pandas as pd

import baselines
from benchmark.errors import UserError
from plots.data import Results, final, finished, where, with_params
from plots.stats import Interval, t_interval

SUPPORTED, NOT_SEEN, CONTRADICTED, UNDECIDED, NOT_RUN = (
    "supported", "not seen here", "contradicted", "undecided", "not run",
)  # fmt: skip
OURS = "contextual"


@dataclass(frozen=True)
class Regime:
    """Data and network that results come from."""

    title: str
    scale: str
    dataset: str
    lane: str = ""  # "": any
    papers: bool = False  # whether it is the paper's own, so that it can contradict


Contrasts = dict[str, pd.Series]  # what is compared, "Roadmap" or "λ = 0" → points by seed


@dataclass(frozen=True)
class Finding:
    word: str
    contrasts: dict[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """The results of one regime."""

    results: Results
    regime: Regime

    def runs(self, *studies: str, protocol: str = "test") -> pd.DataFrame:
        """The finished final runs of the first study that has some here, parameters as columns."""
        for study in studies:
            try:
                runs = where(finished(final(self.results.frame(study))), protocol=protocol)
            except UserError:
                continue
            runs = runs[runs["dataset"].map(lambda name: name.partition("?")[0]) == self.regime.dataset]
            runs = where(runs, lane=self.regime.lane) if self.regime.lane else runs
            if len(runs):
                return with_params(runs)
        raise UserError(f"no runs of {' or '.join(studies)} on {self.regime.dataset}")

    def judge(self, contrasts: Contrasts, margin: float | None = None) -> Finding:
        """Every contrast must lie above zero; with a margin, every one within it on both sides."""
        some = {name: values for name, values in contrasts.items() if values.notna().any()}
        if not some:
            return Finding(NOT_RUN)
        found = {name: t_interval(values, 1 - 0.05 / len(some)) for name, values in some.items()}
        sides = {side(interval, margin) for interval in found.values()}
        if sides == {"yes"}:
            return Finding(SUPPORTED, found)
        if "no" not in sides or any(interval.n < 2 for interval in found.values()):
            return Finding(UNDECIDED, found)
        return Finding(CONTRADICTED if self.regime.papers else NOT_SEEN, found)


def side(interval: Interval, margin: float | None) -> str:
    """Whether a contrast lies where the claim says: yes, no or open."""
    if interval.n < 2:
        return "open"
    if margin is None:
        return "yes" if interval.low > 0 else "no" if interval.high < 0 else "open"
    if -margin < interval.low and interval.high < margin:
        return "yes"
    return "no" if interval.low > margin or interval.high < -margin else "open"


def by_seed(runs: pd.DataFrame, metric: str = "test/R@1") -> pd.Series:
    """Percent, mean over what else the runs differ in."""
    if metric not in runs or runs.empty:
        return pd.Series(dtype=float)
    return 100 * runs.groupby("seed")[metric].mean()


def by_method(runs: pd.DataFrame, metric: str = "test/R@1") -> dict[str, pd.Series]:
    """The same of each of the paper's trained methods, its own last."""
    return {name: by_seed(where(runs, method=name), metric) for name in [*others(runs), OURS]}


def others(runs: pd.DataFrame) -> list[str]:
    """The paper's other trained methods that there are."""
    names = sorted(set(runs["method"]) & set(baselines.names()) - {OURS})
    cards = {name: baselines.card(name) for name in names}
    return [name for name, card in cards.items() if card.trains and card.group == "paper"]
