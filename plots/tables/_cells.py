"""Cells from runs: means over seeds with intervals, what is missing and why, verdicts on published values."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd

import baselines
from benchmark.errors import UserError
from benchmark.results.store import FAILED
from plots.stats import Interval, Published, judge, t_interval
from plots.tables._table import Cell

PERCENT = 100.0
NO_NUMBER = ("missing", "diverged", *FAILED)


def matching(rows: pd.DataFrame, where: Mapping[str, str]) -> pd.DataFrame:
    """The rows whose variant has these values (rows come with their parsed `values`)."""
    if not where or rows.empty:
        return rows
    return rows[[all(values.get(k) == v for k, v in where.items()) for values in rows["values"]]]


def by_seed(runs: pd.DataFrame, metric: str) -> pd.Series:
    """Percent per seed of the runs that finished."""
    found: dict[int, list[float]] = {}
    if metric in runs:  # lists: a cell has a handful of runs, and a table has hundreds of cells
        lists = zip(*(runs[name].tolist() for name in ("seed", "status", metric)), strict=True)
        for seed, status, value in lists:
            if status == "ok" and value == value:
                found.setdefault(seed, []).append(value)
    means = {seed: PERCENT * (sum(values) / len(values)) for seed, values in sorted(found.items())}
    return pd.Series(means, dtype=float)


def score(runs: pd.DataFrame, values: pd.Series) -> Cell:
    """mean ± half over the seeds that finished; a footnote where seeds are missing, a dash where all are.

    `values`: the metric `by_seed` of these runs.
    """
    planned = runs["seed"].nunique()
    run_ids = tuple(runs["run_id"])
    if len(values) == planned and planned:
        interval = t_interval(values)
        return Cell(interval.mean, _known(interval.half), interval.n, run_ids=run_ids)
    done = runs[runs["status"] == "ok"]
    if len(done) and values.empty:  # measured in no run of this row: the column does not apply here
        return Cell()
    states = runs["status"].value_counts()
    if "tuning" in states:
        return Cell(missing=True, notes=("no result: tuning is not finished",))
    why = ", ".join(f"{states[status]} {status.replace('_', ' ')}" for status in NO_NUMBER if status in states)
    if values.empty:
        return Cell(missing=True, notes=(f"no result: {why}",), run_ids=run_ids)
    interval = t_interval(values)
    note = f"mean of {interval.n} of {planned} seeds: {why or 'not measured in the others'}"
    return Cell(interval.mean, _known(interval.half), interval.n, notes=(note,), run_ids=run_ids)


def _known(value: float) -> float | None:
    return None if pd.isna(value) else value


def judged(paper: Published, ours: Cell) -> Cell:
    """The published value with our difference and the verdict on it; without ours, not run."""
    cell = Cell(value=paper.value, spread=paper.spread)
    if ours.value is None:
        return dataclasses.replace(cell, verdict="not run")
    told = judge(Interval(ours.value, ours.half or 0.0, ours.n), paper)
    return dataclasses.replace(cell, difference=told.difference.mean, verdict=told.word, seeds=told.seeds)


def extras(runs: pd.DataFrame, names: Sequence[str]) -> dict[str, Cell]:
    """What papers hide: the rate that was chosen, what else was tuned, how many trials and seeds."""
    if runs.empty or (runs["status"] == "tuning").all():
        return {}
    method = str(runs["method"].iloc[0])
    return {name: MAKERS[name](runs) for name in names if name == "seeds" or trains(method)}


@cache  # asked for every run of a table
def trains(method: str) -> bool:
    try:
        return baselines.card(method).trains
    except UserError:
        return True


def _lr(runs: pd.DataFrame) -> Cell:
    values = sorted(runs["lr"].dropna().unique())
    text = " / ".join(f"{value:.2g}" for value in values)
    told = zip(*(runs[name].tolist() for name in ("edge", "lr_low", "lr_high")), strict=True)
    notes = tuple(
        f"best learning rate at the {edge} end of the range searched ({low:g} to {high:g})"
        for edge, low, high in dict.fromkeys(told)
        if edge in ("low", "high")
    )
    return Cell(text=text, notes=notes)


def _tuned(runs: pd.DataFrame) -> Cell:
    """What was tuned beyond the learning rate, with the values that tuning chose."""
    chosen: dict[str, set[str]] = {}
    for tuned, params in runs[["tuned", "params"]].dropna().drop_duplicates().itertuples(index=False):
        known = json.loads(params or "{}")
        for name, value in json.loads(tuned or "{}").items():
            value = known.get(name, value)
            chosen.setdefault(name, set()).add(f"{value:g}" if isinstance(value, float) else str(value))
    return Cell(text=", ".join(f"{name} {'/'.join(sorted(values))}" for name, values in chosen.items()))


def _trials(runs: pd.DataFrame) -> Cell:
    trials = runs["trials"].dropna()
    return Cell(value=float(trials.max())) if len(trials) and trials.max() > 0 else Cell()


def _seeds(runs: pd.DataFrame) -> Cell:
    planned, done = runs["seed"].nunique(), runs[runs["status"] == "ok"]["seed"].nunique()
    return Cell(text=str(planned) if done == planned else f"{done} of {planned}")


MAKERS = {"lr": _lr, "tuned": _tuned, "trials": _trials, "seeds": _seeds}
