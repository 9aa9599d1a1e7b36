"""What tuning did, as ledger and stored runs tell it: the fairness audit, score against rate, a storage for Optuna's dashboard.

`audit` has one row per (data set, protocol, method, variation), `rate_curves` one per trial; tables and figures print them.
`optuna-dashboard results/optuna/main-quick.log` shows what `export` made: workers never touch it, and deleting it loses nothing.
"""

import json
from collections import Counter
from collections.abc import Hashable, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.files import replacing
from benchmark.results.store import FAILED, Outcome

if TYPE_CHECKING:
    import pandas as pd

NAN = float("nan")
BY = ["study", "scale", "setting", "dataset", "protocol", "method", "variation"]
Rows = list[dict[Hashable, Any]]


def _joined(ledger: "pd.DataFrame", runs: "pd.DataFrame") -> "pd.DataFrame":
    told = runs[["run_id", "status", "score", "seconds"]].drop_duplicates("run_id")
    joined = ledger.merge(told, on="run_id", how="left")
    return joined.assign(status=joined["status"].fillna("missing"))


def audit(ledger: "pd.DataFrame", runs: "pd.DataFrame") -> "pd.DataFrame":
    """Trials, budget, range, edges, time and failures of every method, from a ledger and the stored runs."""
    import pandas as pd

    # A search is made at one variation and serves those that are not tuned apart, so the two phases are counted apart.
    groups: dict[tuple, Rows] = {}
    for row in _joined(ledger, runs).to_dict("records"):
        key = (*(row[name] for name in BY[:-1]), row.get("tuned_at") or "")
        groups.setdefault(key, []).append(row)
    rows = []
    for (*about, tuned_at), part in sorted(groups.items(), key=lambda group: group[0]):
        tune = [row for row in part if row["phase"] == "tune"]
        judged: dict[str, Rows] = {}
        for row in part:
            if row["phase"] == "final":
                judged.setdefault(row["variation"], []).append(row)
        given = _given(part, tune)
        for variation, seeds in sorted(judged.items()) or [("{}", [])]:
            named = dict(zip(BY, (*about, variation), strict=True)) | {"tuned_at": tuned_at}
            rows.append(named | given | _came_of_it(seeds))
    return pd.DataFrame(rows)


def _given(part: Rows, tune: Rows) -> dict[str, Any]:
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


def _came_of_it(seeds: Rows) -> dict[str, Any]:
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


def _numbers(rows: Rows, name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None and row[name] == row[name]]


def rate_curves(ledger: "pd.DataFrame", runs: "pd.DataFrame") -> "pd.DataFrame":
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


def distributions(search: Mapping[str, Any], low: float, high: float) -> dict[str, Any]:
    """The space of a search: the rate, and lists of values or ranges beyond it."""
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

    space: dict[str, BaseDistribution] = {"lr": FloatDistribution(low, high, log=True)}
    for name, choices in search.items():
        if not isinstance(choices, Mapping):
            space[name] = CategoricalDistribution(choices)
            continue
        ends, log = (choices["low"], choices["high"]), bool(choices.get("log"))
        whole = all(isinstance(end, int) for end in ends)
        space[name] = IntDistribution(*ends, log=log) if whole else FloatDistribution(*ends, log=log)
    return space


def export(path: Path, ledger: list[dict[str, Any]], outcomes: Mapping[str, Outcome]) -> None:
    """One Optuna study per (data set, protocol, method, variation), each trial with the score it was told."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    trials = [row for row in ledger if row["phase"] == "tune"]
    with replacing(path) as temporary:
        temporary.unlink(missing_ok=True)
        storage = JournalStorage(JournalFileBackend(str(temporary), lock_obj=JournalFileOpenLock(str(temporary))))
        for about, rows in groupby(sorted(trials, key=itemgetter(*BY, "trial")), itemgetter(*BY)):
            title = " · ".join(part for part in about[3:] if part != "{}")
            study = optuna.create_study(storage=storage, study_name=title, direction="maximize")
            for name, value in zip(BY, about, strict=True):
                study.set_user_attr(name, value)
            frozen = []
            for number, seeds in groupby(rows, itemgetter("trial")):
                runs = list(seeds)
                params = {"lr": runs[0]["lr"], **json.loads(runs[0]["tuned"])}
                space = distributions(json.loads(runs[0]["search"]), runs[0]["lr_low"], runs[0]["lr_high"])
                found = [outcomes[run["run_id"]] for run in runs if run["run_id"] in outcomes]
                if len(found) < len(runs):
                    continue  # not tried yet
                scores = [outcome.score for outcome in found if outcome.score is not None]
                whole = len(scores) == len(runs)
                value, state = (sum(scores) / len(scores), "COMPLETE") if whole else (None, "FAIL")
                told = {"number": number, "run_ids": [run["run_id"] for run in runs], "chosen": runs[0]["chosen"]}
                ended: dict[str, Any] = {"value": value, "state": optuna.trial.TrialState[state], "user_attrs": told}
                frozen.append(optuna.trial.create_trial(params=params, distributions=space, **ended))
            study.add_trials(frozen)
