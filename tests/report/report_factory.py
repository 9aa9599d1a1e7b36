"""Made-up studies with their tuning, written through the real store: what the page is tested on.

`python tests/report/report_factory.py DIR` writes a folder to look at, with the flaws that the audit must tell.
"""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

from benchmark.results.store import Store
from benchmark.seeds import numpy_generator
from benchmark.spec import FIELDS, RunSpec

RATES = (1e-4, 3.1e-4, 9.8e-4, 3.1e-3, 9.6e-3, 3e-2)
SKILL = {
    "untrained": 0.31, "contrastive": 0.602, "triplet": 0.604, "proxy_nca": 0.55, "proxy_anchor": 0.58,
    "multi_similarity_miner": 0.61, "contextual": 0.64,
}  # fmt: skip
HOSTILE = "<script>window.hacked=1</script>"


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def skill(method: str, seed: int, lr: float, protocol: str, shift: float) -> float:
    """R@1: the method's, best near 1e-3, with the luck that methods share on a seed and some of their own."""
    luck = 0.02 * numpy_generator("luck", seed).normal()
    own = 0.006 * numpy_generator("own", method, seed, protocol).normal()
    far = abs(numpy_generator("best rate", method).normal(0, 0.3) + 3 + _log10(lr))
    return SKILL.get(method, 0.5) + luck + own - 0.03 * far**2 - 0.01 * (protocol == "validation") + shift


def _log10(value: float) -> float:
    return float(f"{value:e}".partition("e")[2]) + (float(f"{value:e}"[:8]) - 1) / 9


def row_of(spec: RunSpec, status: str, score: float, commit: str = "a" * 40) -> dict[str, Any]:
    epochs = range(0, 6)
    judged = "val/R@1" if spec.protocol == "validation" else "test/R@1"
    curve = [
        {"epoch": e, "loss": float("nan") if e == 0 else 1 / (e + 1), "lr": spec.lr,
         "train/R@1": min(1.0, score * (0.6 + 0.12 * e)), judged: score * (0.5 + 0.1 * e)}
        for e in epochs
    ]  # fmt: skip
    metrics = {f"test/R@{k}": min(1.0, score + 0.04 * i) for i, k in enumerate((1, 2, 4, 8))}
    metrics |= {"test/mAP": score - 0.3, "test/mAP@R": score - 0.35, "train/R@1": min(1.0, score + 0.2)}
    ok = status == "ok"
    fields = {name: getattr(spec, name) for name in FIELDS} | {"params": as_json(dict(spec.params))}
    return fields | {
        "run_id": spec.run_id, "status": status, "spec": spec.canonical(), "metrics": metrics if ok else {},
        "score": score if ok else None, "best_epoch": 5, "curve": json.dumps(curve), "histograms": "{}",
        "error": "" if ok else f"Traceback\nValueError: {HOSTILE}", "seconds": 2.5, "peak_memory_mb": 300.0,
        "fingerprint": f"data of {spec.dataset}", "versions": '{"torch":"2"}', "commit": commit,
        "dirty": False, "cpu": "cpu", "gpu": "", "finished": "2026-01-01T00:00:00",
        "device": "cpu", "precision_used": "float32", "deterministic": True, "preparation": 0.0,
    }  # fmt: skip


def write_study(
    root: Path,
    study: str = "main",
    scale: str = "quick",
    methods: tuple[str, ...] = tuple(SKILL),
    datasets: tuple[str, ...] = ("glyphs",),
    protocols: tuple[str, ...] = ("test", "validation"),
    variations: tuple[dict[str, Any], ...] = ({},),
    seeds: int = 5,
    rates: tuple[float, ...] = RATES,
    trials: dict[str, int] | None = None,
    status=lambda method, seed, phase: "ok",
    shift=lambda method, variation: 0.0,
    edges: dict[str, str] | None = None,
    commit=lambda method: "a" * 40,
    fields: dict[str, Any] | None = None,
    retrieved=lambda method, seed: {},
) -> list[dict[str, Any]]:
    """Trials at `rates` and final runs at the best of them; a status "missing" leaves the run out."""
    store, ledger = Store(root), []
    for dataset, protocol, method in product(datasets, protocols, methods):
        mine = [] if method == "untrained" else list(rates[: (trials or {}).get(method, len(rates))])
        scores = {lr: skill(method, 1000, lr, protocol, 0.0) for lr in mine}
        best = max(scores, key=scores.__getitem__) if scores else 1e-3
        plan = [("tune", i, lr, variations[0], 0) for i, lr in enumerate(mine)]
        plan += [("final", -1, best, variation, s) for variation in variations for s in range(seeds)]
        for phase, trial, lr, variation, seed in plan:
            changes = {k: v for k, v in variation.items() if k in FIELDS}
            spec = RunSpec(
                dataset=dataset, method=method, protocol=protocol, phase=phase, seed=seed, lr=lr,
                params={} if changes == variation else {"variation": as_json(variation)}, **changes, **(fields or {}),
            )  # fmt: skip
            state = status(method, seed, phase)
            if state != "missing":
                number = 1000 if phase == "tune" else seed
                score = skill(method, number, lr, protocol, shift(method, variation))
                kept = {"retrieved": as_json(retrieved(method, seed) if phase == "final" else {})}
                store.write_run(row_of(spec, state, score, commit(method)) | kept)
            ledger.append(
                {
                    "study": study, "scale": scale, "dataset": dataset, "method": method,
                    "protocol": protocol, "setting": "glyphs", "phase": phase, "variation": as_json(variation),
                    "trial": trial, "seed": seed, "lr": lr, "params": "{}", "run_id": spec.run_id,
                    "chosen": lr == best, "edge": (edges or {}).get(method, ""), "extended": False,
                    "trials": len(mine), "lr_low": min(mine, default=None), "lr_high": max(mine, default=None),
                    "tuned": "{}", "search": "{}",
                }
            )  # fmt: skip
    store.write_ledger(study, scale, ledger)
    return ledger


def write_flawed(root: Path) -> None:
    """A main study with one flaw of each kind, and a robustness study."""
    states = {("triplet", 1, "final"): "diverged", ("proxy_nca", 2, "final"): "error"}
    write_study(
        root, status=lambda *key: states.get(key, "ok"), edges={"proxy_anchor": "high"},
        trials={"contrastive": 5}, commit=lambda method: "b" * 40 if method == "triplet" else "a" * 40,
    )  # fmt: skip
    levels = tuple({"label_noise": share} for share in (0.0, 0.05, 0.1, 0.2))
    cost = {"contextual": 0.4, "contrastive": 0.6, "triplet": 0.8}
    write_study(
        root, "robustness", methods=tuple(cost), variations=levels, protocols=("test",),
        shift=lambda method, variation: -cost[method] * variation.get("label_noise", 0.0),
    )  # fmt: skip


if __name__ == "__main__":
    write_flawed(Path(sys.argv[1]))
    write_study(Path(sys.argv[1]), "main", "laptop", seeds=10, fields={"epochs": 8})
