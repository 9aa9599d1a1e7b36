"""A leaderboard: the methods of a study on one data set under one protocol, who is best, from whom it can be told apart,
and how many more seeds would tell it from the others.

`leaderboards(frame)` finds them in a study's runs. `python -m plots tables --only verdicts` prints one table per study and
data set; the report page begins with the same in words. Where a study has one method only, its variants are the contenders.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, final, seeds_by
from plots.stats import ALPHA, MOST, Interval, more_seeds, probability_of_improvement, separable, t_interval
from plots.tables import _caption as caption
from plots.tables._cells import METRIC, known, measured, p_value
from plots.tables._table import Cell, Column, Row, Section, Table

SEVERAL = 3  # contenders that a sentence names one by one
PLACE = ["study", "scale", "dataset", "protocol", "setting"]
SEPARATOR = "\t"  # between method and variant in the name of a contender
COLUMNS = (
    Column("score", "R@1", shaded=True),
    Column("difference", "behind the best", digits=2),
    Column("p", "p", digits=3),
    Column("separable", "separable", text=True),
    Column("wins", "best wins on a seed", text=True),
    Column("more", "more seeds", text=True),
)
CAPTION = (
    "R@1 in percent, mean ± half-width of the 95 % t-interval over seeds; behind the best: paired difference "
    "on shared seeds, ± half-width.",
    "p: of the one-sided paired t-tests that any other is above it, the smallest, times their number; separable: below 5 %. "
    f"{caption.SEPARABLE}",
    "Best wins on a seed: probability that the best scores higher in a run with the same seed, with its 95 % "
    "interval (exact for normal differences).",
    "More seeds: to add for a power of 80 % in the test against the best mean, at the same level, if the difference seen is "
    "the true one. Rank tests are left out: with five seeds their smallest p is 1/16.",
)


def contenders(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with the column `contender`, which is method and variant."""
    return runs.assign(contender=runs["method"] + SEPARATOR + runs["variant"])


def title(contender: str, alone: bool = False) -> str:
    method, _, variant = contender.partition(SEPARATOR)
    return caption.named(style.title(method), caption.variant(variant), alone)


@dataclass(frozen=True)
class Leaderboard:
    study: str
    scale: str
    dataset: str
    protocol: str
    setting: str
    runs: pd.DataFrame  # the final runs; their column `contender` says who each belongs to
    variant: str = ""  # the same for all contenders; "" where variants are the contenders

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

    def mean(self, name: str) -> Interval:
        return t_interval(self.scores[name])

    def cell(self, name: str) -> Cell:
        best = name == self.best
        tied = not best and not self.told.loc[name, "separable"]
        return measured(self.scores[name], self.of(name)["run_id"], best=best, tied=tied)

    def ordered(self) -> list[str]:
        """The best first."""
        return [str(name) for name in self.scores.mean().sort_values(ascending=False, kind="stable").index]

    def others(self) -> list[str]:
        return [name for name in self.ordered() if name != self.best]

    def open(self) -> list[str]:
        """Contenders that cannot be told from the best."""
        return [name for name in self.others() if not self.told.loc[name, "separable"]]

    @cached_property
    def more(self) -> dict[str, int | None]:
        """Seeds to add to separate those from the best, if the difference seen is the true one."""
        alpha, best = ALPHA / len(self.others()), self.scores[self.best]
        return {name: more_seeds(best, self.scores[name], alpha) for name in self.open()}

    def of(self, name: str) -> pd.DataFrame:
        return self.runs[self.runs["contender"] == name]

    def titles(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.title, names))

    def title(self, name: str) -> str:
        return title(name, self.runs["method"].nunique() == 1)

    def place(self) -> str:
        return ", ".join(filter(None, (self.dataset, f"protocol {self.protocol}", caption.variant(self.variant))))

    def sentences(self) -> list[str]:
        """The verdict in words."""
        top, others, open_ = self.mean(self.best), self.others(), self.open()
        spread = "" if pd.isna(top.half) else f" ± {top.half:.1f}"
        count = f"{top.n} seed{'' if top.n == 1 else 's'}"
        lines = [f"{self.title(self.best)} has the best mean R@1: {top.mean:.1f}{spread} ({count})."]
        apart = len(others) - len(open_)
        if top.n < 2:
            lines.append("One seed separates nothing.")
        elif not open_:
            lines.append(f"It is separable from all {len(others)} others.")
        elif len(open_) <= SEVERAL:
            told = ", ".join(f"{self.title(name)} ({self._remedy(name)})" for name in open_)
            lines.append(f"It is separable from {apart} of {len(others)} others; not from: {told}.")
        else:
            nearest = self.titles(open_[:SEVERAL])
            lines.append(f"It is separable from {apart or 'none'} of {len(others)} others; nearest: {nearest}.")
            lines.append(self._remedies())
        if self.told.loc[self.best, "separable"]:
            lines.append("On the seeds that it shares with another, the other is above it: it lacks seeds.")
        missing = sorted(set(self.runs["contender"]) - set(self.scores.columns))
        return lines + ([f"Without a result: {self.titles(missing)}."] if missing else [])

    def _remedies(self) -> str:
        """How many seeds would separate many contenders from the best, in words."""
        few = {name: more for name, more in self.more.items() if more is not None}
        if not few:
            return f"{MOST} seeds would separate none of them, or there are too few to tell."
        low, high = min(few, key=few.__getitem__), max(few, key=few.__getitem__)
        rest = len(self.more) - len(few)
        words = f"More seeds would tell {len(few)} of them apart: from {few[low]} ({self.title(low)})"
        words += f" to {few[high]} ({self.title(high)})"
        return words + (f"; not even {MOST} the other{'s' if rest > 1 else ''}." if rest else ".")

    def _remedy(self, name: str) -> str:
        """How many seeds would separate a contender from the best, in words."""
        more = self.more[name]
        if self.told.loc[name, "n"] < 3:
            return "too few seeds to tell how many would do"
        if more is None:
            return f"{MOST} seeds would not do"
        # Power is about a new experiment: the seeds at hand may have been enough and unlucky.
        return f"{more} more seed{'' if more == 1 else 's'} would do" if more else "as many new seeds would do"


def leaderboards(frame: pd.DataFrame) -> Iterator[Leaderboard]:
    """Every leaderboard with at least two contenders that finished, in the order of data sets and protocols."""
    columns = [name for name in (*PLACE, "variant", "method", "seed", "status", "run_id", METRIC) if name in frame]
    runs, keys = final(frame)[columns], PLACE
    if runs.groupby("variant")["method"].nunique().max() > 1:  # methods meet within a variant
        keys, runs = [*keys, "variant"], runs.assign(contender=runs["method"])
    else:
        runs = contenders(runs)
    for key, part in runs.groupby(keys, sort=True):
        board = Leaderboard(**dict(zip(keys, map(str, key), strict=True)), runs=part)
        if board.scores.shape[1] > 1:
            yield board


def by_dataset(frame: pd.DataFrame) -> dict[str, list[Leaderboard]]:
    boards = list(leaderboards(frame))
    names = datasets(pd.DataFrame({"dataset": [board.dataset for board in boards]}))
    return {name: [board for board in boards if board.dataset == name] for name in names}


@made_from()
def verdicts(results: Results) -> list[Table]:
    """Who is best, from whom it can be told apart, and how many more seeds would tell it from the others."""
    tables = [
        _table(study, alike, dataset, found, results.scale)
        for study, alike in results.distinct().items()
        for dataset, found in by_dataset(results.frame(study)).items()
    ]
    if not tables:
        why = f"no study at scale {results.scale!r} has two methods with finished runs"
        raise UserError(f"{why} ({results.command('main')})")
    return tables


def _table(study: str, alike: list[str], dataset: str, found: list[Leaderboard], scale: str) -> Table:
    sections = [
        Section(board.place().removeprefix(f"{dataset}, "), tuple(_row(board, name) for name in board.ordered()))
        for board in found
    ]
    words = [f"Verdicts on study {study}, data set {dataset}.", *caption.same_runs(alike)]
    words += [f"{board.place()}: {' '.join(board.sentences())}" for board in found[:4]]
    end = (*CAPTION, caption.scale(scale))
    return Table("verdicts", f"{study}, {dataset}", COLUMNS, tuple(sections), (*words, *end), lead=len(words))


def _row(board: Leaderboard, name: str) -> Row:
    told, mine, cells = board.told.loc[name], board.of(name), {"score": board.cell(name)}
    if name != board.best:
        wins = probability_of_improvement(board.scores[board.best], board.scores[name])
        percent = [f"{100 * value:.0f}" for value in (wins.value, wins.low, wins.high)]
        more = ""
        if not told["separable"]:
            needed = board.more[name]
            more = "?" if told["n"] < 3 else f"> {MOST}" if needed is None else str(needed)
        cells |= {
            "difference": Cell(known(told["difference"]), known(told["half"]), int(told["n"])),
            "p": p_value(told["p"]),
            "separable": Cell(text="yes" if told["separable"] else "no"),
            "wins": Cell(text="" if pd.isna(wins.value) else "{} % ({}–{})".format(*percent)),
            "more": Cell(text=more),
        }
    keys = {"dataset": board.dataset, "protocol": board.protocol, "scale": board.scale}
    keys |= {"method": str(mine["method"].iloc[0]), "variant": board.variant or str(mine["variant"].iloc[0])}
    return Row(board.title(name), cells, keys)
