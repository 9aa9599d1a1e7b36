"""A leaderboard: the methods of a study on one data set under one protocol, and what can be said about the best.

`leaderboards(frame)` finds them in a study's runs; `verdicts.py` prints them as a table and the report page
begins with their sentences. Where a study has one method only, its variants are the contenders.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from plots import style
from plots.data import final, seeds_by, variant_values
from plots.stats import ALPHA, MOST, Interval, more_seeds, separable, t_interval

METRIC = "test/R@1"
SEVERAL = 3  # contenders that a sentence names one by one
COLUMNS = (
    "study", "scale", "dataset", "protocol", "setting", "variant", "method", "seed", "status", "run_id", METRIC,
)  # fmt: skip
SEPARATOR = "\t"  # between method and variant in the name of a contender


@dataclass(frozen=True)
class Leaderboard:
    study: str
    scale: str
    dataset: str
    protocol: str
    setting: str
    variant: str  # the same for all contenders; "" where variants are the contenders
    runs: pd.DataFrame  # the final runs; their column `contender` says who each belongs to

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Percent: one row a seed, one column a contender."""
        return 100 * seeds_by(self.runs, "contender", METRIC)

    @cached_property
    def best(self) -> str:
        return str(self.scores.mean().idxmax())

    @cached_property
    def told(self) -> pd.DataFrame:
        """Each contender against the best: difference, half, n, p, separable."""
        return separable(self.scores)

    @property
    def seeds(self) -> int:
        return int(self.scores[self.best].notna().sum())

    def mean(self, name: str) -> Interval:
        return t_interval(self.scores[name].dropna())

    def ordered(self) -> list[str]:
        """The best first."""
        return [str(name) for name in self.scores.mean().sort_values(ascending=False, kind="stable").index]

    def others(self) -> list[str]:
        return [name for name in self.ordered() if name != self.best]

    def open(self) -> list[str]:
        """Contenders that cannot be told from the best."""
        return [name for name in self.others() if not self.told.loc[name, "separable"]]

    def missing(self) -> list[str]:
        """Contenders without any finished run."""
        return sorted(set(self.runs["contender"]) - set(self.scores.columns))

    @cached_property
    def more(self) -> dict[str, int | None]:
        """Seeds to add to separate those from the best, if the difference seen is the true one."""
        alpha = ALPHA / len(self.others())
        best = self.scores[self.best]
        return {name: more_seeds(best, self.scores[name], alpha=alpha) for name in self.open()}

    def of(self, name: str) -> pd.DataFrame:
        return self.runs[self.runs["contender"] == name]

    def title(self, name: str) -> str:
        method, _, variant = name.partition(SEPARATOR)
        words = ", ".join(f"{key} {value}" for key, value in variant_values(variant).items())
        alone = self.runs["method"].nunique() == 1
        return words if alone and words else style.title(method) + (f" ({words})" if words else "")

    def place(self) -> str:
        words = [self.dataset, f"protocol {self.protocol}"]
        words += [f"{key} {value}" for key, value in variant_values(self.variant).items()]
        return ", ".join(words)

    def sentences(self) -> list[str]:
        """The verdict in words."""
        top, others, open_ = self.mean(self.best), self.others(), self.open()
        spread = "" if pd.isna(top.half) else f" ± {top.half:.1f}"
        count = f"{self.seeds} seed{'' if self.seeds == 1 else 's'}"
        lines = [f"{self.title(self.best)} has the best mean R@1: {top.mean:.1f}{spread} ({count})."]
        if self.seeds < 2:
            lines.append("One seed separates nothing.")
        elif not open_:
            lines.append(f"It is separable from all {len(others)} others.")
        elif len(open_) <= SEVERAL:
            told = ", ".join(f"{self.title(name)} ({self.remedy(name)})" for name in open_)
            lines.append(f"It is separable from {len(others) - len(open_)} of {len(others)} others; not from: {told}.")
        else:
            apart = len(others) - len(open_)
            nearest = ", ".join(self.title(name) for name in open_[:SEVERAL])
            lines.append(f"It is separable from {apart or 'none'} of {len(others)} others; nearest: {nearest}.")
            lines.append(self.remedies())
        if self.told.loc[self.best, "separable"]:
            lines.append("On the seeds that it shares with another, the other is above it: it lacks seeds.")
        if self.missing():
            lines.append(f"Without a result: {', '.join(map(self.title, self.missing()))}.")
        return lines

    def remedies(self) -> str:
        """How many seeds would separate many contenders from the best, in words."""
        known_ = {name: more for name, more in self.more.items() if more is not None}
        if not known_:
            return f"{MOST} seeds would separate none of them, or there are too few to tell."
        low, high = min(known_, key=known_.__getitem__), max(known_, key=known_.__getitem__)
        rest = len(self.more) - len(known_)
        words = f"More seeds would tell {len(known_)} of them apart: from {known_[low]} ({self.title(low)})"
        words += f" to {known_[high]} ({self.title(high)})"
        return words + (f"; not even {MOST} the other{'s' if rest > 1 else ''}." if rest else ".")

    def remedy(self, name: str) -> str:
        """How many seeds would separate a contender from the best, in words."""
        if self.told.loc[name, "n"] < 3:
            return "too few seeds to tell how many would do"
        more = self.more[name]
        if more is None:
            return f"{MOST} seeds would not do"
        # Power is about a new experiment: the seeds at hand may have been enough and unlucky.
        return f"{more} more seed{'' if more == 1 else 's'} would do" if more else "as many new seeds would do"


def known(value: float) -> float | None:
    """A number for a cell: none where the statistics have none."""
    return None if pd.isna(value) else float(value)


def leaderboards(frame: pd.DataFrame) -> Iterator[Leaderboard]:
    """Every leaderboard with at least two contenders that finished, in the order of data sets and protocols."""
    runs = final(frame)[[name for name in COLUMNS if name in frame]]
    keys = ["study", "scale", "dataset", "protocol", "setting"]
    if runs.groupby("variant")["method"].nunique().max() > 1:  # methods meet within a variant
        keys, runs = [*keys, "variant"], runs.assign(contender=runs["method"])
    else:
        runs = runs.assign(contender=runs["method"] + SEPARATOR + runs["variant"])
    for key, part in runs.groupby(keys, sort=True):
        told = dict(zip(keys, map(str, key), strict=True))
        board = Leaderboard(**({"variant": ""} | told), runs=part)
        if board.scores.shape[1] > 1:
            yield board
