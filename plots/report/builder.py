"""From a results folder to the page: `write` makes the file, `build` its text.

Tables, figures, verdicts and warnings come from the modules of `plots/`; here they are put in order: verdicts
and warnings first, then tables, figures, the audit, the methods and what could not be made.
"""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.errors import unknown
from benchmark.files import replacing
from benchmark.planning.study import SCALES
from plots import render, style
from plots.data import PAPER_ORDER, Results, in_order
from plots.report import methods, page, retrieval
from plots.report.collection import Pictures, collect
from plots.report.runs import Groups, packed
from plots.tables import _caption as caption
from plots.tables._audit_warnings import audit_warnings
from plots.tables._cells import trains
from plots.tables._table import Table
from plots.tables.leaderboard import Leaderboard, leaderboards

FIRST = ("main", "main_cub_cars", "main_sop", "main_256", "inshop")  # tables in the paper's order
LARGEST = 11_500_000  # bytes of the page, as far as thumbnails decide it
ANALYSES = ("confusions", "protocol_gap", "robustness_slopes", "verdicts", "audit", "summary")  # have own sections


@dataclass
class Content:
    """What every scale adds to; templates know it by the names of the fields."""

    groups: Groups = field(default_factory=Groups)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    flaws: list[dict[str, Any]] = field(default_factory=list)
    tuning: list[dict[str, Any]] = field(default_factory=list)
    sources: dict[str, dict[str, str]] = field(default_factory=dict)
    open_runs: int = 0  # that ledgers name and that are not there


def scales_of(root: Path) -> list[str]:
    """The scales that have results, the one that says most first."""
    return [scale for scale in reversed(SCALES) if Results(root, scale).studies()]


def build(
    root: Path,
    scales: list[str] | None = None,
    live: str = "",
    drawn: Pictures | None = None,
    data: Path = Path("data"),
) -> str:
    """The page as text. `live` is a line about its age; `drawn` keeps pictures between calls; `data` has the images."""
    for scale in scales or []:
        if scale not in SCALES:
            raise unknown("scale", scale, SCALES)
    shown = scales or scales_of(root) or [SCALES[0]]
    first = Results(root, shown[0], data=data)
    of_scales = [first, *(Results(root, scale, first.runs, data) for scale in shown[1:])]
    made = collect(of_scales, {} if drawn is None else drawn)
    content = Content()
    for results in of_scales:
        _add(content, results)
    grids: dict[str, list[dict[str, Any]]] = {one.name: [] for one in made if one.kind == "table"}
    for one in made:
        for table in one.tables:
            grids[one.name].append(_grid(table, content, one.scale))
    runs = packed(content.groups, first.runs)
    seen = {run["spec"].get("method", runs["usual"].get("method")) for run in runs["runs"] if "spec" in run}
    values = _values(grids, content.tuning)
    told = vars(content) | {
        "scales": shown,
        "rehearsal": [caption.SCALES[scale] for scale in shown if scale in caption.SCALES],
        "live": live,
        "tables": _ordered({one.name: one.about for one in made if one.kind == "table"}, grids),
        "analyses": {name: grids.get(name, []) for name in ANALYSES},
        "figures": [one for one in made if one.picture],
        "missing": [one for one in made if one.reason],
        "methods": methods.pages({str(name) for name in seen if name}),
        "filters": values,
        "count": sum(run["status"] != "missing" for run in runs["runs"]),
        "command": "python -m benchmark reproduce",
        "options": "" if root == Path("results") else f" --results {shlex.quote(str(root))}",
        "data": runs,
        "looks": {name: style.look(name).colour for name in values["method"]},
        "titles": {name: style.title(name) for name in values["method"]}
        | {name: title for name in values["dataset"] if (title := style.place(name)) != name},
    }
    rest = page.render(**told, retrieval={"places": [], "sprites": []})
    return page.render(**told, retrieval=retrieval.places(of_scales, LARGEST - len(rest.encode())))


def write(root: Path, scales: list[str] | None = None, data: Path = Path("data")) -> Path:
    path = root / "report" / "index.html"
    text = build(root, scales, data=data)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def _add(content: Content, results: Results) -> None:
    """What one scale says. Studies may share runs: what holds for several is said once."""
    cards: dict[tuple, dict[str, Any]] = {}
    told: dict[tuple, list[str]] = {}
    missing: set[str] = set()
    content.tuning += methods.tuning(results, content.groups)
    for study in results.studies():
        frame = results.frame(study)
        missing |= set(frame[frame["status"] == "missing"]["run_id"])
        for flaw in audit_warnings(frame):
            told.setdefault((flaw.level, flaw.text, flaw.places), []).append(study)
        if not study.startswith("main") and study != "inshop":
            continue
        for board in leaderboards(frame):
            key = (board.dataset, board.protocol, board.variant, frozenset(board.runs["run_id"]))
            if key in cards:
                cards[key]["studies"].append(study)
            else:
                cards[key] = _verdict(board, content.groups)
    content.open_runs += len(missing)
    content.verdicts += cards.values()
    content.flaws += [
        {"level": level, "text": text, "places": places, "studies": studies, "scale": results.scale}
        for (level, text, places), studies in told.items()
    ]


def _verdict(board: Leaderboard, groups: Groups) -> dict[str, Any]:
    """A leaderboard as a card: the sentences, and every contender with its interval on a common axis."""
    means = {name: board.mean(name) for name in board.ordered()}
    method = {name: str(board.of(name)["method"].iloc[0]) for name in means}
    # The untrained network is far behind and would press the others together: it may lie off the axis.
    on_axis = [mean for name, mean in means.items() if trains(method[name])] or list(means.values())
    ends = [end for m in on_axis for end in ((m.low, m.high) if m.n > 1 else (m.mean,))]
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0
    low, span = low - 0.06 * span, 1.1 * span

    def at(value: float) -> float:
        return round(100 * (value - low) / span, 2)

    rows = [
        {
            "title": board.title(name),
            "method": method[name],
            "colour": style.look(method[name]).colour,
            "text": f"{mean.mean:.1f}" + (f" ± {mean.half:.1f}" if mean.n > 1 else ""),
            "state": "best" if name == board.best else "open" if name in board.open() else "behind",
            "at": at(mean.mean),
            "left": max(0.0, at(mean.low)) if mean.n > 1 else at(mean.mean),
            "width": round(at(mean.high) - max(0.0, at(mean.low)), 2) if mean.n > 1 else 0,
            "group": groups.number(board.of(name)["run_id"]),
        }
        for name, mean in means.items()
    ]
    told = {name: getattr(board, name) for name in ("scale", "dataset", "protocol")}
    return told | {"studies": [board.study], "place": board.place(), "sentences": board.sentences(), "rows": rows}


def _grid(table: Table, content: Content, scale: str) -> dict[str, Any]:
    made = page.grid(table, content.groups, scale)
    made["id"] = page.slug(f"{scale} {table.name} {table.part}")
    while made["id"] in content.sources:  # names that differ in punctuation only
        made["id"] += "-x"
    content.sources[made["id"]] = {"csv": render.as_csv([table]), "latex": render.latex([table])}
    return made


def _ordered(about: dict[str, str], grids: dict[str, list]) -> list[dict[str, Any]]:
    """The tables of the paper, the main comparisons first."""
    names = [name for name in grids if name not in ANALYSES and grids[name]]
    return [{"name": name, "about": about[name], "grids": grids[name]} for name in in_order(names, FIRST)]


def _values(grids: dict[str, list], tuning: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What each filter offers: values of rows that we ran; what only the paper has is one choice, "other"."""
    sections = [section for of_name in grids.values() for made in of_name for section in made["sections"]]
    rows = [row for section in sections for row in section["rows"]]
    ran = [row["keys"] for row in rows if any(cell["group"] is not None for cell in row["cells"])]
    found = {key: {one[key] for one in [*ran, *tuning] if key in one} for key in page.KEYS}
    return {
        "dataset": in_order(found["dataset"], PAPER_ORDER),
        "method": style.ordered(found["method"]),
        "protocol": sorted(found["protocol"]),
        "scale": [scale for scale in SCALES if scale in found["scale"]],
    }
