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
from plots.catalogue import made_from
from plots.data import Results, final
from plots.tables import _caption as caption
from plots.tables._audit_warnings import audit_warnings
from plots.tables._cells import rates, section, trains
from plots.tables._table import Cell, Column, Section, Table

Run = dict[Hashable, Any]


def _backbone(run: Run) -> str:
    weights = "ImageNet" if run["pretrained"] else "scratch"
    return f"{run['backbone']} ({weights}{', frozen' if run['lane'] == 'frozen' else ''})"


def _crop(run: Run) -> str:
    return f"crop from {run['crop_scale']:g}" if run["augmentation"] == "crop" else run["augmentation"]


SETTING: dict[str, tuple[str, str, Callable[[Run], str]]] = {  # key → group, title, text of a run
    "backbone": ("setting", "backbone", _backbone),
    "size": ("setting", "pixels", lambda run: f"{run['image_size']:.0f}"),
    "crop": ("setting", "augmentation", _crop),
    "pooling": ("setting", "pooling", lambda run: run["pooling"]),
    "batch_norm": ("setting", "batch norm", lambda run: run["batch_norm"]),
    "dimensions": ("setting", "embedding", lambda run: f"{run['embedding_dim']:.0f}"),
    "batch": ("setting", "batch", lambda run: f"{run['batch_size']:.0f} ({run['per_class']:.0f} per class)"),
    "commit": ("code", "commit", lambda run: run["commit"][:8] or "none"),
    "dirty": ("code", "changed since", lambda run: "yes" if run["dirty"] else ""),
    "device": ("code", "device", lambda run: caption.device(*(run[name] for name in caption.DEVICE))),
}
PLACE = ["dataset", "protocol", "setting", "method"]
RUN = ["run_id", "phase", "status", "commit", "dirty", *caption.DEVICE, *caption.FACTS]  # of hundreds of columns
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
    *(Column(key, title, group, text=True) for key, (group, title, _) in SETTING.items()),
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
    sections: list[Section] = []
    for (dataset, protocol, setting), part in told.groupby(PLACE[:3], sort=True):
        cells = {
            str(method): _cells(rows, by_place[dataset, protocol, setting, method])
            for method, rows in part.groupby("method")
        }
        place = f"{dataset}, protocol {protocol}, setting {setting}"
        sections += section(place, cells, dataset=dataset, protocol=protocol, scale=results.scale)
    found = audit_warnings(frame)
    count = sum(one.level == "warning" for one in found)
    same = _same(sections)
    shared = ", ".join(f"{column.title} {text}" for column, text in same.items())
    words = [f"Fairness audit of study {study}: {count or 'no'} warning{'' if count == 1 else 's'}."]
    words += [*caption.same_runs(alike), *map(str, found)]
    end = [*([f"Every method: {shared}."] if shared else []), CAPTION, caption.scale(results.scale)]
    return Table(
        "audit", study, tuple(c for c in COLUMNS if c not in same), tuple(sections), (*words, *end), lead=len(words)
    )


def _same(sections: list[Section]) -> dict[Column, str]:
    """What is the same in every row, of setting, code and what was tuned: one sentence instead of columns."""
    rows = [row for section in sections for row in section.rows]
    found = {}
    for column in COLUMNS:
        texts = {row.cells[column.key].text for row in rows if column.key in row.cells}
        if (column.key in SETTING or texts == {"nothing"}) and len(texts) <= 1:
            found[column] = texts.pop() if texts else "unknown"
    return found


def _cells(told: pd.DataFrame, runs: pd.DataFrame) -> dict[str, Cell]:
    """`told`: one row a variation; several may share a search."""
    first = told.iloc[0]
    searches = told.drop_duplicates("tuned_at")
    planned, done = int(told["seeds_planned"].sum()), int(told["seeds_done"].sum())
    whole = f"{planned // len(told)}{_times(told)}"
    cells = {
        "seeds": Cell(text=whole if done == planned else f"{done} of {planned}", run_ids=tuple(final(runs)["run_id"])),
        "training": Cell(value=float(told["final_seconds"].sum())),
        **{n: Cell(value=float(searches[n].sum())) for n in ("diverged", "failed", "missing")},
    }
    if trains(str(first["method"])):
        cells["lr"] = Cell(text=rates(told))
        if first["trials"]:
            tried = tuple(runs[runs["phase"] == "tune"]["run_id"])
            extended = " (extended)" if first["extended"] else ""
            cells |= {
                "trials": Cell(text=f"{_span(searches['trials'])}{_times(searches)}", run_ids=tried),
                "rates": Cell(text=_span(searches["rates"])),
                "range": Cell(text=f"{first['lr_low']:.2g} to {first['lr_high']:.2g}{extended}"),
                "search": Cell(text=first["search"] or "nothing"),
                "tuning": Cell(value=float(searches["tuning_seconds"].sum())),
                "edge": Cell(
                    text=", ".join([f"rate {end}" for end in _named(told["edge"])] + _named(told["ends"])) or "no"
                ),
            }
    return cells | _setting(runs[runs["status"] == "ok"])


def _span(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _times(rows: pd.DataFrame) -> str:
    return f" × {len(rows)}" if len(rows) > 1 else ""


def _named(ends: pd.Series) -> list[str]:
    return sorted(set(ends) - {""})


def _setting(runs: pd.DataFrame) -> dict[str, Cell]:
    """What the method was trained in; every value, where the study varies it."""
    if runs.empty:
        return {}
    rows = runs.to_dict("records")
    changed = sum(bool(row["dirty"]) for row in rows)
    texts = {key: " / ".join(sorted({shown(row) for row in rows})) for key, (_, _, shown) in SETTING.items()}
    texts["dirty"] = "no" if not changed else "all" if changed == len(rows) else f"{changed} of {len(rows)}"
    return {key: Cell(text=text) for key, text in texts.items()}
