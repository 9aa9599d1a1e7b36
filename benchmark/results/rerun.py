"""Comparison of a run that was done again with its stored row, cell by cell.

On the same platform (processor, graphics card, versions) every number has to be the same; on another one,
metrics may differ by as much as `TOLERANCE`, because other kernels round differently and training carries
that on.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

TOLERANCE = 0.02  # absolute, on fractions
PLATFORM = ("cpu", "gpu", "versions")


@dataclass(frozen=True)
class Difference:
    cell: str
    stored: Any
    now: Any


@dataclass(frozen=True)
class Comparison:
    run_id: str
    same_platform: bool
    cells: int
    differences: list[Difference]  # beyond what the platform allows

    @property
    def rule(self) -> str:
        return "exact" if self.same_platform else f"within {TOLERANCE} (another platform)"


def compare(stored: dict[str, Any], now: dict[str, Any]) -> Comparison:
    same = all(stored[name] == now[name] for name in PLATFORM)
    before, after = _cells(stored, exact=same), _cells(now, exact=same)
    if "retrieved" not in before:
        after.pop("retrieved", None)  # not kept by older versions
    names = sorted(before.keys() | after.keys())
    differences = [
        Difference(name, before.get(name), after.get(name))
        for name in names
        if not _equal(before.get(name), after.get(name), 0.0 if same else TOLERANCE)
    ]
    return Comparison(stored["run_id"], same, len(names), differences)


def _cells(row: dict[str, Any], exact: bool) -> dict[str, Any]:
    """What two rows of a spec must agree on: status, data, metrics; on the same platform all of the curve."""
    cells = {name: row[name] for name in ("status", "fingerprint")}
    cells |= {f"metrics/{name}": value for name, value in dict(row["metrics"]).items() if exact or _metric(name)}
    if exact:
        cells |= {name: row[name] for name in ("score", "best_epoch")}
        for point in json.loads(row["curve"]):
            cells |= {f"curve/{point.get('epoch')}/{name}": value for name, value in point.items()}
        cells["histograms"] = json.loads(row["histograms"])
        if row.get("retrieved"):
            cells["retrieved"] = json.loads(row["retrieved"])
    if row["phase"] == "tune":  # a trial is judged by its score alone; older ones looked at more
        beyond = ("/train/", "curve/0/", "/mean cosine")
        cells = {name: value for name, value in cells.items() if not any(part in name for part in beyond)}
    return cells


def _metric(name: str) -> bool:
    """Fractions that a tolerance makes sense for; not losses and the like."""
    return not name.startswith(("loss", "health"))


def _equal(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance
    return a == b
