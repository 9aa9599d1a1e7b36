"""Made-up studies in the real store: runs and a ledger as the runner writes them, without any training."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import baselines
from benchmark.results.schema import write_file
from benchmark.results.store import Store
from benchmark.seeds import numpy_generator
from benchmark.spec import FIELDS, RunSpec

METRICS = ["R@1", "R@2", "R@4", "R@8", "R@10", "R@100", "mAP", "mAP@R"]
METHODS = ("untrained", "contrastive", "triplet", "contextual")
SKILL = {"untrained": 0.3, "contrastive": 0.6, "triplet": 0.601, "contextual": 0.7}


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def metrics_of(method: str, seed: int, shift: float = 0.0) -> dict[str, float]:
    """Scores that differ between methods by what SKILL says, share the luck of the seed, and grow with k."""
    luck = 0.02 * numpy_generator("luck", seed).normal()
    own = 0.004 * numpy_generator("own", method, seed).normal()
    base = SKILL.get(method, 0.5) + luck + own + shift
    found = {f"test/{name}": min(1.0, base + 0.02 * i) for i, name in enumerate(METRICS)}
    found |= {"test/mAP": base - 0.3, "test/mAP@R": base - 0.35, "train/R@1": min(1.0, base + 0.2)}
    return found


def write_study(
    root: Path,
    study: str = "main",
    scale: str = "quick",
    datasets: tuple[str, ...] = ("glyphs",),
    methods: tuple[str, ...] = METHODS,
    protocols: tuple[str, ...] = ("test",),
    variations: tuple[dict[str, Any], ...] = ({},),
    seeds: int = 3,
    setting: str = "glyphs",
    shift=lambda variation, dataset: 0.0,
    status=lambda method, seed: "ok",
    more_metrics=lambda method, seed: {},
    fields: dict[str, Any] | None = None,
    lr: float = 1e-3,
    edge: str = "",
    separate: bool = False,
    stored: dict[str, Any] | None = None,
    first: int = 0,
    retrieved=lambda method, seed: {},
) -> list[dict[str, Any]]:
    """Writes a finished study and returns its ledger rows. A status "missing" leaves the run out.

    Runs go to one file, as in `results/reference/`, or with `separate` to one each, as the runner writes them.
    `stored` are columns that differ, from the seed `first` on.
    """
    store, ledger, runs = Store(root), [], []
    for dataset, protocol, method, variation, seed in product(datasets, protocols, methods, variations, range(seeds)):
        changes = {k: v for k, v in variation.items() if k in FIELDS}
        spec = RunSpec(
            dataset=dataset, method=method, protocol=protocol, seed=seed, lr=lr,
            params={"variation": as_json(variation)}, **(fields or {}), **changes,
        )  # fmt: skip
        state = status(method, seed)
        if state != "missing":
            found = metrics_of(method, seed, shift(variation, dataset)) | more_metrics(method, seed)
            kept = {"retrieved": as_json(retrieved(method, seed))}
            runs.append(run_row(spec, state, found) | kept | ((stored or {}) if seed >= first else {}))
        trained = method in baselines.names() and baselines.card(method).trains
        ledger.append(
            {
                "study": study, "scale": scale, "dataset": dataset, "method": method, "protocol": protocol,
                "setting": setting, "phase": "final", "variation": as_json(variation), "trial": -1,
                "seed": seed, "lr": lr, "params": "{}", "run_id": spec.run_id, "chosen": True, "edge": edge,
                "extended": False, "search": "{}", "trials": 6 if trained else 0,
                "lr_low": 1e-4, "lr_high": 3e-2,
                "tuned": '{"lam":0.8}' if method == "contextual" else "{}",
            }
        )  # fmt: skip
    store.write_ledger(study, scale, ledger)
    if separate:
        for row in runs:
            store.write_run(row)
    else:
        name = "-".join([study, scale, *datasets, *map(str, map(len, methods))])
        write_file(root / "reference" / f"{name}.parquet", runs, "run")
    return ledger


def run_row(spec: RunSpec, status: str, metrics: dict[str, float]) -> dict[str, Any]:
    fields = {name: getattr(spec, name) for name in FIELDS} | {"params": as_json(dict(spec.params))}
    curve = [
        {
            "epoch": e,
            "loss": 1 / (e + 1),
            "train/R@1": metrics["train/R@1"] * e / 5,
            "test/R@1": metrics["test/R@1"] * e / 5,
        }
        for e in range(1, 6)
    ]
    failed = status != "ok"
    return fields | {
        "run_id": spec.run_id, "status": status, "spec": spec.canonical(),
        "metrics": {} if failed else metrics, "score": None if failed else metrics["test/R@1"],
        "best_epoch": 5, "curve": json.dumps(curve), "histograms": "{}",
        "error": "Traceback" if failed else "", "seconds": 1.0, "peak_memory_mb": 100.0, "fingerprint": "f",
        "versions": "{}", "commit": "0" * 40, "dirty": False, "cpu": "cpu", "gpu": "",
        "device": "cpu", "precision_used": "float32", "deterministic": True, "preparation": 0.0,
        "step_seconds": 0.02 if spec.method == "ibc" else 0.01, "loss_parameters": 7 * len(spec.method),
        "finished": "2026-01-01T00:00:00",
    }  # fmt: skip
