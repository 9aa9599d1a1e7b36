"""The trials of a study as an Optuna storage: `optuna-dashboard results/optuna/main-quick.log` shows them.

Made from the ledger and the stored results whenever they have changed: workers never touch it, and deleting
it loses nothing.
"""

import json
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmark.files import replacing
from benchmark.results.store import Outcome

ABOUT = ("study", "scale", "setting", "dataset", "protocol", "method", "variation")


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
    names = lambda row: tuple(row[name] for name in ABOUT)  # noqa: E731
    with replacing(path) as temporary:
        temporary.unlink(missing_ok=True)
        storage = JournalStorage(JournalFileBackend(str(temporary), lock_obj=JournalFileOpenLock(str(temporary))))
        for about, rows in groupby(sorted(trials, key=lambda row: (*names(row), row["trial"])), names):
            title = " · ".join(part for part in about[3:] if part != "{}")
            study = optuna.create_study(storage=storage, study_name=title, direction="maximize")
            for name, value in zip(ABOUT, about, strict=True):
                study.set_user_attr(name, value)
            frozen = []
            for number, seeds in groupby(rows, lambda row: row["trial"]):
                runs = list(seeds)
                params = {"lr": runs[0]["lr"], **json.loads(runs[0]["tuned"])}
                space = distributions(json.loads(runs[0]["search"]), runs[0]["lr_low"], runs[0]["lr_high"])
                found = [outcomes[run["run_id"]] for run in runs if run["run_id"] in outcomes]
                if len(found) < len(runs):
                    continue  # not tried yet
                scores = [outcome.score for outcome in found if outcome.score is not None]
                whole = len(scores) == len(runs)
                frozen.append(
                    optuna.trial.create_trial(
                        params=params,
                        distributions=space,
                        value=sum(scores) / len(scores) if whole else None,
                        state=optuna.trial.TrialState.COMPLETE if whole else optuna.trial.TrialState.FAIL,
                        user_attrs={
                            "number": number,
                            "run_ids": [run["run_id"] for run in runs],
                            "chosen": runs[0]["chosen"],
                        },
                    )
                )
            study.add_trials(frozen)
