"""The runs behind the cells as compact JSON: what differs between runs is told once per run, the rest once.

A cell refers to a group of runs by number; the page draws a group only when somebody opens it, so that
thousands of runs cost nothing at first sight.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from benchmark.spec import FIELDS

POINTS = 40  # of a curve; more than a small picture can show
METRICS = ("test/", "train/", "val/", "rerank", "diml")
CURVES = ("epoch", "loss", "train/R@1", "test/R@1", "val/R@1")
ERROR = 2000  # characters of a traceback, its end


class Groups:
    """Numbers for the groups of runs that cells show; the same runs get the same number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, ...], int] = {}

    def number(self, run_ids: Iterable[str]) -> int | None:
        key = tuple(dict.fromkeys(run_ids))
        return self.numbers.setdefault(key, len(self.numbers)) if key else None


def packed(groups: Groups, frame: pd.DataFrame) -> dict[str, Any]:
    """Everything that the dialog of a cell shows, for the runs of all groups."""
    wanted = list(dict.fromkeys(run_id for group in groups.numbers for run_id in group))
    place = {run_id: i for i, run_id in enumerate(wanted)}
    rows = {row["run_id"]: row for row in frame[frame["run_id"].isin(place)].to_dict("records")}
    specs = {run_id: _spec(row) for run_id, row in rows.items()}
    usual = _usual(list(specs.values()))
    metrics = [str(name) for name in frame.columns if str(name).startswith(METRICS) and "/" in str(name)]
    return {
        "groups": [[place[run_id] for run_id in group] for group in groups.numbers],
        "usual": usual,
        "metrics": metrics,
        "runs": [
            _run(run_id, rows[run_id], specs[run_id], usual, metrics)
            if run_id in rows
            else {"id": run_id, "status": "missing"}
            for run_id in wanted
        ],
    }


def _spec(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the spec, parameters of the loss as fields of their own."""
    spec = json.loads(row["spec"])
    params = spec.pop("params", {})
    return {name: spec[name] for name in FIELDS if name in spec} | {f"params.{k}": v for k, v in params.items()}


def _usual(specs: list[dict[str, Any]]) -> dict[str, Any]:
    """The most frequent value of each field that all runs have."""
    shared = [name for name in specs[0] if all(name in spec for spec in specs)] if specs else []
    told = {name: pd.Series([json.dumps(spec[name]) for spec in specs]).mode().iloc[0] for name in shared}
    return {name: json.loads(text) for name, text in told.items()}


def _run(
    run_id: str, row: Mapping[str, Any], spec: dict[str, Any], usual: dict[str, Any], metrics: list[str]
) -> dict[str, Any]:
    told = {
        "id": run_id,
        "status": row["status"],
        "spec": {name: value for name, value in spec.items() if name not in usual or usual[name] != value},
        "score": rounded(row["score"]),
        "epoch": rounded(row["best_epoch"]),
        "seconds": rounded(row["seconds"], 3),
        "commit": (row["commit"] or "")[:12],
        "dirty": bool(row["dirty"]),
        "finished": row["finished"],
    }
    if row["status"] != "ok":
        told["error"] = (row["error"] or "")[-ERROR:]
    if spec.get("phase") == "final":  # of a trial, its score and its place in the picture are enough
        found = {place: rounded(row.get(name)) for place, name in enumerate(metrics)}
        told["metrics"] = {place: value for place, value in found.items() if value is not None}  # by place in `metrics`
        told["curve"] = _curve(json.loads(row["curve"] or "[]"))
    return {name: value for name, value in told.items() if value not in (None, "", False)}


def _curve(points: list[dict[str, float]]) -> dict[str, list[float | None]]:
    """Columns instead of rows, thinned, without what was never measured."""
    step = max(1, math.ceil(len(points) / POINTS))
    kept = points[::step] + ([points[-1]] if points and (len(points) - 1) % step else [])
    columns = {name: [rounded(point.get(name), 4) for point in kept] for name in CURVES}
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def rounded(value: Any, digits: int = 5) -> float | int | None:
    """Significant digits that can be seen; None for what is no number."""
    if value is None or pd.isna(value) or math.isinf(value):
        return None
    short = float(f"{value:.{digits}g}")
    if math.isinf(short):  # the largest numbers round to more than there is
        short = float(value)
    return int(short) if short.is_integer() else short
