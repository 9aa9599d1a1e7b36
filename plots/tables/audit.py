"""The fairness audit: one table per study with what every method was given and what came of it.

`python -m plots tables --only audit` makes it for all studies of the scale; warnings come first, in words
(`_audit_warnings.py`).
"""

from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd

from benchmark.errors import UserError
from benchmark.results import tuning_summary
from benchmark.results.schema import LEDGER_COLUMNS
from plots import style
from plots.catalogue import made_from
from plots.data import Results, final
from plots.tables import _caption as caption
from plots.tables._audit_warnings import audit_warnings
from plots.tables._cells import trains
from plots.tables._table import Cell, Column, Row, Section, Table

SETTING = {
    "setting": {
        "backbone": "backbone",
        "size": "pixels",
        "crop": "augmentation",
        "pooling": "pooling",
        "batch_norm": "batch norm",
        "dimensions": "embedding",
        "batch": "batch",
    },
    "code": {"commit": "commit", "dirty": "changed since", "device": "device"},
}
PLACE = ["dataset", "protocol", "setting", "method"]
RUN = [
    "run_id", "phase", "status", "backbone", "pretrained", "lane", "image_size", "augmentation", "crop_scale",
    "pooling", "batch_norm", "embedding_dim", "batch_size", "per_class", "commit", "dirty",
    *caption.DEVICE,
]  # fmt: skip
COLUMNS = (
    Column("trials", "trials", text=True),
    Column("rates", "rates tried", text=True),
    Column("range", "range", text=True),
    Column("search", "also tuned", text=True),
    Column("tuning", "tuning s", digits=0),
    Column("training", "final s", digits=0),
    Column("lr", "best rate", text=True),
    Column("edge", "at an end", text=True),
    Column("seeds", "seeds", text=True),
    Column("diverged", "diverged", digits=0),
    Column("failed", "failed", digits=0),
    Column("missing", "missing", digits=0),
    *(Column(key, title, group, text=True) for group, of_group in SETTING.items() for key, title in of_group.items()),
)
CAPTION = (
    "Trials: that a method was given, whatever it tunes, for each variation that is tuned apart. Rates tried: how many "
    "different ones. Seconds (s): of all its trials, of its final runs. At an end: the best rate, or what else is tuned, "
    "lies at that end of its range. Diverged, failed, missing: trials and "
    "final runs. Changed since: runs made by code that is in no commit."
)


@made_from()
def audit(results: Results) -> list[Table]:
    if not results.studies():
        raise UserError(f"no study has results at scale {results.scale!r} ({results.command('main')})")
    return [_table(study, alike, results) for study, alike in results.distinct().items()]


def _table(study: str, alike: list[str], results: Results) -> Table:
    frame = results.frame(study)
    told = tuning_summary.audit(frame[list(LEDGER_COLUMNS)], results.runs)
    by_place = dict(iter(frame[[*PLACE, *RUN]].groupby(PLACE)))
    sections = []
    for (dataset, protocol, setting), part in told.groupby(PLACE[:3], sort=True):
        rows = []
        for method in style.ordered(part["method"]):
            runs = by_place[dataset, protocol, setting, method]
            keys = {"dataset": dataset, "protocol": protocol, "scale": results.scale, "method": method}
            rows.append(Row(style.title(method), _cells(part[part["method"] == method], runs), keys))
        sections.append(Section(f"{dataset}, protocol {protocol}, setting {setting}", tuple(rows)))
    found = audit_warnings(frame)
    count = sum(one.level == "warning" for one in found)
    same = _same(sections)
    shared = ", ".join(f"{column.title} {text}" for column, text in same.items())
    words = (
        f"Fairness audit of study {study}: {count or 'no'} warning{'' if count == 1 else 's'}.",
        *caption.same_runs(alike),
        *map(str, found),
        *([f"Every method: {shared}."] if shared else []),
        CAPTION,
        caption.scale(results.scale),
    )
    return Table("audit", study, tuple(c for c in COLUMNS if c not in same), tuple(sections), words)


def _same(sections: list[Section]) -> dict[Column, str]:
    """What is the same in every row, of setting, code and what was tuned: one sentence instead of columns."""
    rows = [row for section in sections for row in section.rows]
    found = {}
    for column in COLUMNS:
        texts = {row.cells[column.key].text for row in rows if column.key in row.cells}
        if (column.group in SETTING or texts == {"nothing"}) and len(texts) <= 1:
            found[column] = texts.pop() if texts else "unknown"
    return found


def _cells(told: pd.DataFrame, runs: pd.DataFrame) -> dict[str, Cell]:
    """`told`: one row a variation; several may share a search."""
    first = told.iloc[0]
    searches = told.drop_duplicates("tuned_at")
    apart = f" × {len(searches)}" if len(searches) > 1 else ""
    tune, finals = runs[runs["phase"] == "tune"], final(runs)
    tune_ids, final_ids = tuple(tune["run_id"]), tuple(finals["run_id"])
    planned, done = int(told["seeds_planned"].sum()), int(told["seeds_done"].sum())
    variants = f" × {len(told)}" if len(told) > 1 else ""
    whole = f"{planned // max(1, len(told))}{variants}"
    cells = {
        "seeds": Cell(text=whole if done == planned else f"{done} of {planned}", run_ids=final_ids),
        "training": Cell(value=float(told["final_seconds"].sum())),
        **{n: Cell(value=float(searches[n].sum())) for n in ("diverged", "failed", "missing")},
    }
    if trains(str(first["method"])):
        cells["lr"] = Cell(text=" / ".join(f"{lr:.2g}" for lr in sorted(told["lr"].dropna().unique())))
        if first["trials"]:
            cells |= {
                "trials": Cell(text=f"{_span(searches['trials'])}{apart}", run_ids=tune_ids),
                "rates": Cell(text=_span(searches["rates"])),
                "range": Cell(text=_range(first)),
                "search": Cell(text=first["search"] or "nothing"),
                "tuning": Cell(value=float(searches["tuning_seconds"].sum())),
                "edge": Cell(text=_ends(told)),
            }
    return cells | _setting(runs[runs["status"] == "ok"])


def _span(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _ends(told: pd.DataFrame) -> str:
    rates = [f"rate {edge}" for edge in sorted(set(told["edge"]) - {""})]
    return ", ".join(rates + sorted(set(told["ends"]) - {""})) or "no"


def _range(told: pd.Series) -> str:
    return f"{told['lr_low']:.2g} to {told['lr_high']:.2g}" + (" (extended)" if told["extended"] else "")


def _setting(runs: pd.DataFrame) -> dict[str, Cell]:
    """What the method was trained in; every value, where the study varies it."""
    if runs.empty:
        return {}
    rows = runs.to_dict("records")

    def every(shown: Callable[[dict[Hashable, Any]], str]) -> Cell:
        return Cell(text=" / ".join(sorted({shown(row) for row in rows})))

    changed = sum(bool(row["dirty"]) for row in rows)
    return {
        "backbone": every(_backbone),
        "size": every(lambda row: f"{row['image_size']:.0f}"),
        "crop": every(_crop),
        "pooling": every(lambda row: row["pooling"]),
        "batch_norm": every(lambda row: row["batch_norm"]),
        "dimensions": every(lambda row: f"{row['embedding_dim']:.0f}"),
        "batch": every(lambda row: f"{row['batch_size']:.0f} ({row['per_class']:.0f} per class)"),
        "commit": every(lambda row: row["commit"][:8] or "none"),
        "device": every(lambda row: caption.device(*(row[name] for name in caption.DEVICE))),
        "dirty": Cell(text="no" if not changed else "all" if changed == len(rows) else f"{changed} of {len(rows)}"),
    }


def _backbone(row: dict[Hashable, Any]) -> str:
    weights = "ImageNet" if row["pretrained"] else "scratch"
    return f"{row['backbone']} ({weights}{', frozen' if row['lane'] == 'frozen' else ''})"


def _crop(row: dict[Hashable, Any]) -> str:
    return f"crop from {row['crop_scale']:g}" if row["augmentation"] == "crop" else row["augmentation"]
