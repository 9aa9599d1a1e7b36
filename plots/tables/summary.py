"""How many of the paper's numbers were reproduced: the verdicts of all tables, counted.

`python -m plots tables --only summary` makes it from every study that has been run at the scale; the others
count as not run. Only numbers that the paper measured itself are counted, not those that it copied.
"""

import statistics

from benchmark.errors import UserError
from plots.catalogue import entries, made_from
from plots.data import Results
from plots.stats import MARGIN
from plots.tables import _published as published
from plots.tables._table import VERDICTS, Cell, Column, Row, Section, Table, all_verdicts

COLUMNS = (
    *(Column(verdict, verdict, digits=0) for verdict in VERDICTS),
    Column("all", "all", digits=0),
    Column("median", "median ±"),
    Column("seeds", "seeds", digits=0),
)


@made_from(last=True)
def summary(results: Results) -> list[Table]:
    rows, found = [], []
    for name in published.names():
        tables = [table for table in _tables(name, results) if sum(table.verdicts().values())]
        rows += [_row(f"{name}: {table.part}", [table], results.scale) for table in tables]
        found += tables
    caption = (
        "The paper's numbers against ours, by the 95 % interval of the difference (both spreads): reproduced, it lies "
        f"within ± {MARGIN:g} point; above, below, it excludes zero; undecided; or not run in the paper's setting.",
        "Median ±: half-width of our intervals. Seeds: how many would decide half of the undecided that seeds can decide.",
        "Numbers that the paper copied from other papers are not counted.",
        f"Scale {results.scale}.",
    )
    section = Section("", (*rows, _row("all", found, results.scale)))
    return [Table("summary", "", COLUMNS, (section,), caption, stub="Table")]


def _tables(name: str, results: Results) -> list[Table]:
    if name in results.tables:
        return results.tables[name]
    try:
        frame = results.frame(name)
    except UserError:
        frame = results.nothing()
    return entries(["table"])[0][name].make(frame, results)


def _row(title: str, tables: list[Table], scale: str) -> Row:
    counts = all_verdicts(tables)
    cells = {verdict: Cell(value=float(count)) for verdict, count in counts.items()}
    cells["all"] = Cell(value=float(sum(counts.values())))
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
