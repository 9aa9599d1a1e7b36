"""The fairness audit as data: what each method was given to be tuned with, and what came of it.

`audit(ledger, runs)` has one row per (data set, protocol, method, variation); `rate_curves(ledger, runs)`
one per trial. Both need pandas only; tables and figures print them.
"""

import json

import pandas as pd

BY = ["study", "scale", "setting", "dataset", "protocol", "method", "variation"]


def _joined(ledger: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    told = runs[["run_id", "status", "score", "seconds"]].drop_duplicates("run_id")
    joined = ledger.merge(told, on="run_id", how="left")
    return joined.assign(status=joined["status"].fillna("missing"))


def audit(ledger: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Trials, budget, range, edges, time and failures of every method, from a ledger and the stored runs."""
    frame = _joined(ledger, runs)
    # A method is tuned at one variation and judged at several, so the two phases are counted apart.
    rows = []
    for key, part in frame.groupby(BY[:-1], sort=True):
        tune, final = part[part["phase"] == "tune"], part[part["phase"] == "final"]
        chosen = tune[tune["chosen"]]
        for variation, seeds in final.groupby("variation", sort=True) if len(final) else [("{}", final)]:
            rows.append(
                dict(zip(BY, (*key, variation), strict=True))
                | {
                    "trials": int(part["trials"].max()),
                    "trial_runs": len(tune),
                    "lr_low": part["lr_low"].min(),
                    "lr_high": part["lr_high"].max(),
                    "extended": bool(part["extended"].any()),
                    "edge": next(iter(seeds["edge"]), ""),
                    "lr": next(iter(seeds["lr"]), float("nan")),
                    "tuned": _shown(next(iter(seeds["tuned"]), "{}")),
                    "search": _shown(next(iter(part["search"]), "{}")),
                    "score": chosen["score"].mean(),
                    "seeds_planned": len(seeds),
                    "seeds_done": int((seeds["status"] == "ok").sum()),
                    "diverged": int((part["status"] == "diverged").sum()),
                    "failed": int(part["status"].isin(["error", "out_of_memory"]).sum()),
                    "missing": int((part["status"] == "missing").sum()),
                    "tuning_seconds": tune["seconds"].sum(),
                    "final_seconds": seeds["seconds"].sum(),
                }
            )
    return pd.DataFrame(rows)


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
    """{"lam": 0.8} → "lam 0.8"."""
    return ", ".join(f"{name} {value}" for name, value in json.loads(text).items())
