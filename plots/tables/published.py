"""The paper's own numbers, every value of its ten tables, and how many of them were reproduced.

They are in `results/published/*.csv`, one file per table. Tables put them beside ours (`_comparison.py`). Values are percent,
as printed; `variant` is "key=value;…" of the study's [vary] keys; provenance says whether the paper reproduced a number itself
or copied it. One more file, `claimed.csv`, holds what the authors of each method claim, for the reality check.

`python -m plots tables --only summary` counts the verdicts of all tables at the scale; studies that have not been run count as
not run. Only numbers that the paper measured itself are counted, not those that it copied.
"""

import statistics
from functools import cache

import pandas as pd

from benchmark.errors import UserError, unknown
from benchmark.shipped import PUBLISHED
from plots.catalogue import entries, made_from
from plots.data import Results, where
from plots.stats import MARGIN
from plots.tables._table import VERDICTS, Cell, Column, Row, Section, Table

CLAIMED = "claimed"
COLUMNS = (
    *(Column(verdict, verdict, digits=0) for verdict in VERDICTS),
    Column("all", "all", digits=0),
    Column("median", "median ±"),
    Column("seeds", "seeds", digits=0),
)


def names() -> list[str]:
    """The tables there are, by the names that studies and modules of `plots/` have."""
    return sorted(path.stem for path in PUBLISHED.glob("*.csv") if path.stem != CLAIMED)


@cache
def _read(table: str) -> pd.DataFrame:
    text = ["table", "dataset", "method", "title", "variant", "metric", "provenance", "source", "note"]
    kinds = dict.fromkeys(text, str) | {"value": float, "spread": float, "trials": "Int64"}
    empty = {"spread": "", "trials": ""}
    return pd.read_csv(PUBLISHED / f"{table}.csv", dtype=kinds, na_values=empty, keep_default_na=False)


def load(table: str | None = None, **wanted: str) -> pd.DataFrame:
    """The rows in which every column that is named has the value wanted, in the paper's order."""
    if table is not None and table not in names():
        raise unknown("published table", table, names(), "results/published/")
    tables = names() if table is None else [table]
    return where(pd.concat(map(_read, tables)), **wanted).reset_index(drop=True)


def claimed() -> pd.DataFrame:
    """What authors claim, as printed: one row a method and data set."""
    return pd.read_csv(PUBLISHED / f"{CLAIMED}.csv", dtype=str, keep_default_na=False)


@made_from(last=True)
def summary(results: Results) -> list[Table]:
    """How many of the paper's numbers were reproduced: the verdicts of all tables, counted."""
    rows, found = [], []
    for name in names():
        tables = [table for table in _tables(name, results) if sum(table.verdicts().values())]
        rows += [_row(f"{name}: {table.part}", [table], results.scale) for table in tables]
        found += tables
    words = (
        "The paper's numbers against ours, by the 95 % interval of the difference (both spreads): reproduced, it lies "
        f"within ± {MARGIN:g} point; above, below, it excludes zero; undecided; or not run in the paper's setting.",
        "Median ±: half-width of our intervals. Seeds: how many would decide half of the undecided that seeds can decide.",
        "Numbers that the paper copied from other papers are not counted.",
        f"Scale {results.scale}.",
    )
    section = Section("", (*rows, _row("all", found, results.scale)))
    return [Table("summary", "", COLUMNS, (section,), words, stub="Table")]


def _tables(name: str, results: Results) -> list[Table]:
    if name in results.tables:
        return results.tables[name]
    try:
        frame = results.frame(name)
    except UserError:
        frame = results.nothing()
    return entries(["table"])[0][name].make(frame, results)


def _row(title: str, tables: list[Table], scale: str) -> Row:
    counts = {verdict: float(sum(table.verdicts()[verdict] for table in tables)) for verdict in VERDICTS}
    cells = {name: Cell(value=count) for name, count in (counts | {"all": sum(counts.values())}).items()}
    judged = [
        (table.cell(row, column), row.cells.get(f"{column.key} paper", Cell()))
        for table in tables
        for row in table.rows()
        for column in table.columns
    ]
    widths = [ours.half for ours, paper in judged if paper.difference is not None and ours.half is not None]
    seeds = [paper.seeds for _, paper in judged if paper.seeds]
    cells["median"] = Cell(value=statistics.median(widths)) if widths else Cell()
    cells["seeds"] = Cell(value=statistics.median(seeds)) if seeds else Cell()
    return Row(title, cells, {"dataset": tables[0].part if len(tables) == 1 else "", "scale": scale})
