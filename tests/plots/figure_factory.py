"""Finished studies with made-up numbers: the real plan of a study file, and results that follow from each spec.

So a figure is tested on the very variations, parameters and seeds that its study has.
"""

import json
import math
from pathlib import Path
from typing import Any

from study_factory import run_row

from benchmark.planning import plan as planner
from benchmark.planning import study
from benchmark.results.schema import write_file
from benchmark.results.store import Store, outcome_of
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec

EPOCHS = 4


def rehearse(root: Path, name: str, scale: str = "quick", lost=lambda spec: False) -> list[RunSpec]:
    """Writes a study as if it had been run; runs for which `lost` is true are in the ledger only."""
    found = study.load(name, scale)
    rows: dict[str, dict[str, Any]] = {}
    outcomes: dict[str, Any] = {}
    while True:
        tasks = [task for family in planner.families(found) for task in family.known(outcomes).tasks]
        new = {task.spec.run_id: task.spec for task in tasks if task.spec.run_id not in rows}
        if not new:
            break
        rows |= {run_id: result(spec) for run_id, spec in new.items()}
        outcomes |= {run_id: outcome_of(rows[run_id]) for run_id in new}
    Store(root).write_ledger(name, scale, [task.ledger_row() for task in tasks])
    kept = [rows[task.spec.run_id] for task in tasks if not lost(task.spec)]
    once = {row["run_id"]: row for row in kept}
    write_file(root / "reference" / f"{name}-{scale}.parquet", once.values(), "run")
    return [task.spec for task in tasks]


def result(spec: RunSpec) -> dict[str, Any]:
    """A stored run: R@1 best at λ = 0.8 and a middle rate, worse with noise, with some luck of the seed."""
    lam = float(spec.params.get("lam") or 0)
    skill = 0.7 - 0.1 * (lam - 0.8) ** 2 - 0.02 * abs(math.log10(spec.lr / 3e-3))
    skill -= 0.4 * spec.label_noise + 0.2 * spec.image_noise
    skill += 0.03 * float(numpy_generator("skill", spec.method, spec.params.get("variant")).normal())
    skill += 0.01 * float(numpy_generator("luck", spec.run_id).normal())
    metrics = {"test/R@1": skill, "test/mAP": skill - 0.2, "train/R@1": skill + 0.1}
    if spec.monitor:
        metrics |= {"train/mAP": skill - 0.1, "train/L_context": 0.02}
    row = run_row(spec, "ok", metrics)
    share = [math.sqrt(e / EPOCHS) for e in range(EPOCHS + 1)]
    curve = [
        {"epoch": e, "loss": 1 / (e + 1), "lr": spec.lr, "train/R@1": 0.3 + (skill - 0.2) * s, "test/R@1": skill * s,
         "train/mAP": 0.2 + 0.5 * s * (0.5 + lam / 2), "train/L_context": 0.3 * 10 ** (-1.2 * s * (0.6 + lam)),
         "loss/context": 0.1}
        for e, s in enumerate(share)
    ]  # fmt: skip
    edges = [2 * i / 50 for i in range(51)]
    bell = [[math.exp(-(((e - middle) / 0.2) ** 2)) * 1000 for e in edges[:-1]] for middle in (0.5, 1.1)]
    histograms = {"edges": edges, "positive": bell[0], "negative": bell[1]}
    return row | {"curve": json.dumps(curve), "histograms": json.dumps(histograms)}
