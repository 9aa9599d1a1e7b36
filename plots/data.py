"""The runs of a study as one frame: its ledger joined with the stored runs, one row a trial or final run.

Every table and figure starts from `Results(folder, scale).frame(study)`. Metrics are columns ("test/R@1",
fractions); a run that the ledger names and that is not there has status "missing". Results made here come
before those in `results/reference/`.
"""

import json
import shlex
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.errors import UserError
from benchmark.results.store import Store
from benchmark.shipped import reference
from plots.tables._table import Table


class Results:
    """A results folder at one scale; reads the runs once, however many tables ask for them."""

    def __init__(self, root: Path, scale: str, runs: pd.DataFrame | None = None, data: Path = Path("data")) -> None:
        self.root, self.scale, self.data = root, scale, data  # data: where images may be found
        if runs is not None:
            self.runs = runs  # in the place of reading them
        self.store = Store(root)
        self.committed = Store(reference(root), reference=False)
        self.tables: dict[str, list[Table]] = {}  # made so far, for the summary
        self._frames: dict[str, pd.DataFrame] = {}

    @cached_property
    def runs(self) -> pd.DataFrame:
        return self.store.frame()

    def studies(self) -> list[str]:
        """The studies that have a ledger at this scale, the main comparisons first."""
        folders = [store.ledger_path("_", self.scale).parent for store in (self.store, self.committed)]
        names = {path.stem for folder in folders for path in folder.glob("*.parquet")}
        return sorted(names, key=lambda name: (name != "main", not name.startswith("main"), name))

    @cached_property
    def repeats(self) -> dict[str, str]:
        """Study → another that has all its runs, data set by data set: what is said of the other holds for it."""
        seen: dict[str, set[frozenset[str]]] = {}
        found = {}
        for study in self.studies():
            of_parts = self._ledger(study).groupby(["dataset", "protocol"])["run_id"]
            parts = {frozenset(ids) for _, ids in of_parts}
            whole = [
                other
                for other, of_other in seen.items()
                if all(any(part <= larger for larger in of_other) for part in parts)
            ]
            if whole:
                found[study] = whole[0]
            else:
                seen[study] = parts
        return found

    def distinct(self) -> dict[str, list[str]]:
        """The studies that repeat no other, each with those that repeat it."""
        alike = self.repeats
        return {
            study: [other for other, first in alike.items() if first == study]
            for study in self.studies()
            if study not in alike
        }

    def frame(self, study: str) -> pd.DataFrame:
        """One row per ledger row, or a UserError that says how to get some."""
        if study not in self._frames:
            ledger = self._ledger(study)
            if ledger.empty:
                raise UserError(f"no results of study {study!r} at scale {self.scale!r} ({self.command(study)})")
            self._frames[study] = joined(ledger, self.runs)
        return self._frames[study].copy(deep=False)  # writing to one changes no other

    def _ledger(self, study: str) -> pd.DataFrame:
        made_here = self.store.ledger(study, self.scale)
        return self.committed.ledger(study, self.scale) if made_here.empty else made_here

    def command(self, study: str) -> str:
        """What to type to get results of a study."""
        there = ["--results", str(self.root)] if self.root != Path("results") else []
        return shlex.join(["python", "-m", "benchmark", "run", study, "--scale", self.scale, *there])

    def nothing(self) -> pd.DataFrame:
        """The frame of a study that has not been run."""
        return joined(self.store.ledger("", self.scale).head(0), self.runs.head(0))

    def synthetic(self, name: str) -> pd.DataFrame:
        """The table that a synthetic experiment left."""
        return self._measured(f"synthetic/{name}.parquet", f"python -m benchmark synthetic {name}")

    def bench(self, area: str) -> pd.DataFrame:
        """The measurements of one area of the bench."""
        return self._measured(f"bench/{area}.parquet", f"make bench first, or python -m benchmark.bench {area}")

    def _measured(self, file: str, command: str) -> pd.DataFrame:
        for path in (self.root / file, reference(self.root) / file):
            if path.is_file():
                try:
                    return pd.read_parquet(path)
                except (OSError, ValueError) as problem:
                    raise UserError(f"{path} cannot be read ({problem}); {command}") from None
        raise UserError(f"no {self.root / file} ({command})")


def joined(ledger: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    known = [name for name in runs.columns if name == "run_id" or name not in ledger.columns]
    frame = ledger.merge(runs[known], on="run_id", how="left", validate="many_to_one")
    frame["status"] = frame["status"].astype(object).where(frame["status"].notna(), "missing")
    frame["variant"] = [variant_text(json.loads(text or "{}")) for text in frame["variation"]]
    whole = _without_options(frame)
    frame["dataset"] = frame["dataset"].replace(whole)
    frame["judged_on"] = frame["judged_on"].replace(whole)
    for name, shorter in whole.items():
        frame["variant"] = [text.replace(f"={name}", f"={shorter}") for text in frame["variant"]]
    # Tables filter rows a thousand times, and hundreds of columns are slow one by one: text as objects, then a
    # copy, which puts the columns of a type into one block.
    frame = frame.astype({name: object for name, kind in frame.dtypes.items() if kind == "str"}).copy()
    order = ["dataset", "protocol", "method", "variant", "phase", "trial", "seed", "run_id"]
    return frame.sort_values(order, ignore_index=True, kind="stable")


def _without_options(frame: pd.DataFrame) -> dict[str, str]:
    """ "cars?missing=skip" stands beside the published numbers of cars, and the caption counts what is absent; where there are
    runs on all of cars too, it stays apart."""
    known = {*frame["dataset"], *frame["judged_on"].dropna()}
    whole = {name: name.removesuffix("?missing=skip") for name in known}
    return {name: shorter for name, shorter in whole.items() if shorter not in known}


def variant_text(variation: dict[str, object]) -> str:
    """{"params.lam": 0.8} → "lam=0.8"; sorted, numbers in their shortest form: how rows are keyed."""
    short = {key.rpartition(".")[2]: value for key, value in variation.items()}
    return ";".join(f"{key}={_shortest(short[key])}" for key in sorted(short))


def variant_values(text: str) -> dict[str, str]:
    """The inverse of `variant_text`, with values as text."""
    return {key: _shortest(value) for key, _, value in (part.partition("=") for part in text.split(";") if part)}


def _shortest(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return f"{float(value):.10g}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(value)


def final(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that tables are made of: not the tuning trials."""
    return frame[frame["phase"] == "final"]


def finished(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["status"] == "ok"]


def where(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The rows that have these values in these columns."""
    for column, value in values.items():
        frame = frame[frame[column] == value]
    return frame


def with_params(runs: pd.DataFrame) -> pd.DataFrame:
    """The parameters of the loss as columns "params.lam", "params.gamma" …"""
    values = [json.loads(text or "{}") for text in runs["params"]]
    names = sorted({name for one in values for name in one})
    columns = {f"params.{name}": [one.get(name) for one in values] for name in names}
    return runs.assign(**columns)


def seeds_by(frame: pd.DataFrame, columns: str | list[str], metric: str) -> pd.DataFrame:
    """Scores as one row a seed and one column a method (or combination of `columns`): what the statistics take."""
    done = finished(frame)
    if metric not in done.columns or done.empty:
        return pd.DataFrame()
    scores = done.pivot_table(index="seed", columns=columns, values=metric, aggfunc="mean", dropna=False)
    return scores.dropna(axis=1, how="all")


PAPER_ORDER = ("glyphs", "cub", "cars", "sop", "inat", "inshop")


def datasets(frame: pd.DataFrame) -> list[str]:
    """The data sets of a frame, in the paper's order, others after them by name."""
    return in_order(frame["dataset"].unique(), PAPER_ORDER)


def in_order(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """Those named first in that order, others after them by name."""
    return sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))
