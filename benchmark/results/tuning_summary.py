"""The fairness audit as data: what each method was given to be tuned with, and what came of it.

`audit(ledger, runs)` has one row per (data set, protocol, method, variation); `rate_curves(ledger, runs)`
one per trial. Both need pandas only; tables and figures print them.
"""

import json
from collections import Counter
from collections.abc import Hashable
from typing import Any

import pandas as pd

from benchmark.results.store import FAILED

NAN = float("nan")
BY = ["study", "scale", "setting", "dataset", "protocol", "method", "variation"]


def _joined(ledger: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    told = runs[["run_id", "status", "score", "seconds"]].drop_duplicates("run_id")
    joined = ledger.merge(told, on="run_id", how="left")
    return joined.assign(status=joined["status"].fillna("missing"))


def audit(ledger: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Trials, budget, range, edges, time and failures of every method, from a ledger and the stored runs."""
    # A search is made at one variation and serves those that are not tuned apart, so the two phases are counted apart.
    groups: dict[tuple, list[dict[Hashable, Any]]] = {}
    for row in _joined(ledger, runs).to_dict("records"):
        key = (*(row[name] for name in BY[:-1]), row.get("tuned_at") or "")
        groups.setdefault(key, []).append(row)
    rows = []
    for (*about, tuned_at), part in sorted(groups.items(), key=lambda group: group[0]):
        tune = [row for row in part if row["phase"] == "tune"]
        judged: dict[str, list[dict[Hashable, Any]]] = {}
        for row in part:
            if row["phase"] == "final":
                judged.setdefault(row["variation"], []).append(row)
        given = _given(part, tune)
        for variation, seeds in sorted(judged.items()) or [("{}", [])]:
            named = dict(zip(BY, (*about, variation), strict=True)) | {"tuned_at": tuned_at}
            rows.append(named | given | _came_of_it(seeds))
    return pd.DataFrame(rows)


def _given(part: list[dict[Hashable, Any]], tune: list[dict[Hashable, Any]]) -> dict[str, Any]:
    """What a method got and lost, whatever the variation; `part` are all its rows."""
    states = Counter(row["status"] for row in part)
    scores = _numbers([row for row in tune if row["chosen"]], "score")
    return {
        "trials": int(max(_numbers(part, "trials"))),
        "trial_runs": len(tune),
        "rates": len({row["lr"] for row in tune}),
        "lr_low": min(_numbers(part, "lr_low"), default=NAN),
        "lr_high": max(_numbers(part, "lr_high"), default=NAN),
        "extended": any(row["extended"] for row in part),
        "search": _shown(part[0]["search"]),
        "score": sum(scores) / len(scores) if scores else NAN,
        "diverged": states["diverged"],
        "failed": sum(states[status] for status in FAILED),
        "missing": states["missing"],
        "tuning_seconds": float(sum(_numbers(tune, "seconds"))),
    }


def _came_of_it(seeds: list[dict[Hashable, Any]]) -> dict[str, Any]:
    """What the final runs of one variation say."""
    first = seeds[0] if seeds else {}
    return {
        "edge": first.get("edge", ""),
        "ends": _shown(first.get("ends") or "{}"),
        "lr": first.get("lr", NAN),
        "tuned": _shown(first.get("tuned", "{}")),
        "seeds_planned": len(seeds),
        "seeds_done": sum(row["status"] == "ok" for row in seeds),
        "final_seconds": float(sum(_numbers(seeds, "seconds"))),
    }


def _numbers(rows: list[dict[Hashable, Any]], name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None and row[name] == row[name]]


def rate_curves(ledger: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Score against learning rate, one row per trial: the mean over its seeds; a diverged one has none."""
    frame = _joined(ledger, runs)
    tune = frame[frame["phase"] == "tune"]
    by = [*BY, "trial", "lr", "tuned", "chosen"]
    curves = tune.groupby(by, sort=True, as_index=False).agg(
        score=("score", lambda scores: scores.mean(skipna=False)),
        status=("status", lambda states: next((s for s in states if s != "ok"), "ok")),
        seconds=("seconds", "sum"),
    )
    return curves.sort_values([*BY, "lr", "trial"], ignore_index=True)


def _shown(text: str) -> str:
    """{"lam": 0.8} → "lam 0.8", {"lam": {"low": 0.2, "high": 1.0}} → "lam 0.2 to 1"."""
    return ", ".join(f"{name} {_value(value)}" for name, value in json.loads(text).items())


def _value(value: Any) -> str:
    return f"{value['low']:g} to {value['high']:g}" if isinstance(value, dict) else f"{value}"
