"""Cells from runs: means over seeds with intervals and marks, what is missing and why, verdicts on published values.

A `Layout` says which cells a comparison has: its columns as measures, what makes its sections, titles of its variants.
`_comparison.py` fills it.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd

import baselines
from benchmark.errors import UserError
from benchmark.results.store import FAILED
from plots import style
from plots.data import finished
from plots.stats import Interval, Published, judge, separable, t_interval
from plots.tables._table import Cell, Column, Row, Section

METRIC = "test/R@1"  # what methods are ranked by
NO_NUMBER = ("missing", "diverged", *FAILED)
EXTRAS = {
    "lr": Column("lr", "lr", text=True),
    "tuned": Column("tuned", "tuned", text=True),
    "trials": Column("trials", "trials", digits=0),
    "seeds": Column("seeds", "seeds", text=True),
}


@dataclass(frozen=True)
class Measure:
    """A metric as a column of ours and, where the paper has it, one of the paper's."""

    metric: str  # "test/R@1"
    title: str  # "R@1"
    where: Mapping[str, str] = field(default_factory=dict)  # values of the study's [vary]: {"lam": "0.8"}
    group: str = ""
    shaded: bool = False
    digits: int = 1
    published: str = ""  # the metric's name in results/published, if it differs
    ranked: bool = True  # whether the highest is the best
    against: str = ""  # key of the measure that a coloured change is shown against

    @property
    def key(self) -> str:
        return ";".join([self.metric, *(f"{k}={v}" for k, v in self.where.items())])

    @property
    def column(self) -> Column:
        return Column(self.key, self.title, self.group, self.digits, self.shaded)

    @property
    def paper_column(self) -> Column:
        return Column(f"{self.key} paper", "paper", self.group, self.digits)

    def by_seed(self, runs: pd.DataFrame) -> pd.Series:
        """Percent per seed of the runs that finished; runs come with the parsed `values` of their variant."""
        found: dict[int, list[float]] = {}
        if self.metric in runs:  # lists: a cell has a handful of runs, and a table has hundreds of cells
            lists = zip(*(runs[name].tolist() for name in ("seed", "status", self.metric)), strict=True)
            for seed, status, value in lists:
                if status == "ok" and value == value:
                    found.setdefault(seed, []).append(value)
        means = {seed: 100.0 * (sum(values) / len(values)) for seed, values in sorted(found.items())}
        return pd.Series(means, dtype=float)

    def of(self, runs: pd.DataFrame) -> pd.DataFrame:
        """The runs whose variant belongs into this column (they come with its parsed `values`)."""
        return runs[[self.fits(values) for values in runs["values"]]] if self.where else runs

    def fits(self, values: Mapping[str, str]) -> bool:
        return all(values.get(key) == value for key, value in self.where.items())


@dataclass(frozen=True)
class Layout:
    measures: tuple[Measure, ...]
    sections: tuple[str, ...] = ()  # keys of [vary] that make sections instead of rows
    extras: tuple[str, ...] = ("lr", "trials", "seeds")  # of EXTRAS
    titles: Mapping[str, str] = field(default_factory=dict)  # of variants: {"variant=step1": "step 1 only"}
    stub: str = "Method"
    note: str = ""  # a sentence of the caption


def known(value: float) -> float | None:
    """A number for a cell: none where the statistics have none."""
    return None if pd.isna(value) else float(value)


def measured(values: Iterable[float], run_ids: Iterable[str] = (), **more) -> Cell:
    """mean ± half over seeds."""
    interval = t_interval(values)
    return Cell(known(interval.mean), known(interval.half), interval.n, run_ids=tuple(run_ids), **more)


def p_value(p: float) -> Cell:
    return Cell(known(p), text="< 0.001" if p < 0.001 else "")


def section(title: str, cells: Mapping[str, Mapping[str, Cell]], **keys: str) -> list[Section]:
    """A section with a row for each method, in the order of tables; none without rows."""
    rows = [Row(style.title(name), cells[name], keys | {"method": name}) for name in style.ordered(cells)]
    return [Section(title, tuple(rows))] if rows else []


def marks(scores: pd.DataFrame) -> dict[Any, dict[str, Any]]:
    """Of each column whether it is the best, or not separable from the best; none where it is alone."""
    if scores.shape[1] < 2:
        return {name: {} for name in scores}
    best, told = scores.mean().idxmax(), separable(scores)["separable"]
    return {name: {"best": name == best, "tied": name != best and not told[name]} for name in scores}


def score(runs: pd.DataFrame, values: pd.Series) -> Cell:
    """mean ± half over the seeds that finished; a footnote where seeds are missing, a dash where all are.

    `values`: of a measure, by seed of these runs.
    """
    planned = runs["seed"].nunique()
    if len(values) == planned and planned:
        return measured(values, runs["run_id"])
    states = runs["status"].value_counts()
    if "ok" in states and values.empty:  # measured in no run of this row: the column does not apply here
        return Cell()
    if "tuning" in states:
        return Cell(missing=True, notes=("no result: tuning is not finished",))
    why = ", ".join(f"{states[status]} {status.replace('_', ' ')}" for status in NO_NUMBER if status in states)
    if values.empty:
        return Cell(missing=True, notes=(f"no result: {why}",), run_ids=tuple(runs["run_id"]))
    note = f"mean of {len(values)} of {planned} seeds: {why or 'not measured in the others'}"
    return measured(values, runs["run_id"], notes=(note,))


def judged(paper: Published, ours: Cell) -> Cell:
    """The published value with our difference and the verdict on it; without ours, not run."""
    cell = Cell(value=paper.value, spread=paper.spread)
    if ours.value is None:
        return dataclasses.replace(cell, verdict="not run")
    told = judge(Interval(ours.value, ours.half or 0.0, ours.n), paper)
    return dataclasses.replace(cell, difference=told.difference, verdict=told.word, seeds=told.seeds)


def extras(runs: pd.DataFrame) -> dict[str, Cell]:
    """What papers hide: the rate that was chosen, what else was tuned, how many trials and seeds."""
    if runs.empty or (runs["status"] == "tuning").all():
        return {}
    planned, done = runs["seed"].nunique(), finished(runs)["seed"].nunique()
    seeds = {"seeds": Cell(text=str(planned) if done == planned else f"{done} of {planned}")}
    if not trains(str(runs["method"].iloc[0])):
        return seeds
    trials = runs["trials"].max()
    return seeds | {"lr": _lr(runs), "tuned": _tuned(runs), "trials": Cell(float(trials) if trials > 0 else None)}


@cache  # asked for every run of a table
def trains(method: str) -> bool:
    try:
        return baselines.card(method).trains
    except UserError:
        return True


def rates(runs: pd.DataFrame) -> str:
    return " / ".join(f"{rate:.2g}" for rate in sorted(runs["lr"].dropna().unique()))


def _lr(runs: pd.DataFrame) -> Cell:
    notes = tuple(
        f"best learning rate at the {edge} end of the range searched ({low:g} to {high:g})"
        for edge, low, high in runs[["edge", "lr_low", "lr_high"]].drop_duplicates().itertuples(index=False)
        if edge in ("low", "high")
    )
    return Cell(text=rates(runs), notes=notes)


def _tuned(runs: pd.DataFrame) -> Cell:
    """What was tuned beyond the learning rate, with the values that tuning chose."""
    chosen: dict[str, set[str]] = {}
    for tuned, params in runs[["tuned", "params"]].dropna().drop_duplicates().itertuples(index=False):
        given = json.loads(params or "{}")
        for name, usual in json.loads(tuned or "{}").items():
            value = given.get(name, usual)
            chosen.setdefault(name, set()).add(f"{value:g}" if isinstance(value, float) else str(value))
    return Cell(text=", ".join(f"{name} {'/'.join(sorted(values))}" for name, values in chosen.items()))
