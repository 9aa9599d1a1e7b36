"""What a user would lose when a disk turns a bit over: the damaged run, and nothing else.

A few hundred bits by default; every bit of both files: FLIPS=all python -m pytest tests/results/test_bit_flips.py
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.errors import UserError
from benchmark.results.store import Store
from benchmark.running.worker import Job, row
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec

FLIPS = os.environ.get("FLIPS", "150")
SPECS = [RunSpec(dataset="glyphs", params={"margin": 0.5}, seed=seed) for seed in range(2)]
LEDGER = [
    {"study": "main", "scale": "quick", "dataset": "glyphs", "method": "contrastive", "phase": "final"}
    | {"variation": "{}", "seed": spec.seed, "lr": 0.01, "run_id": spec.run_id, "chosen": True}
    for spec in SPECS
]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two runs and their ledger, as the runner leaves them."""
    store, job = Store(tmp_path), Job(data=tmp_path, checkpoints=None)
    curve = [{"epoch": e, "loss": 1 / (e + 1), "train/R@1": 0.5, "test/R@1": 0.4} for e in range(5)]
    told = {"status": "ok", "score": 0.4, "metrics": {"test/R@1": 0.4, "test/mAP": 0.3}, "curve": curve}
    for spec in SPECS:
        store.write_run(row(spec, told, job))
    store.write_ledger("main", "quick", LEDGER)
    return tmp_path


def flipped(path: Path) -> Iterator[int]:
    """Puts one turned bit after the other into the file; gives its place."""
    whole = path.read_bytes()
    bits = 8 * len(whole)
    chosen = range(bits)
    if FLIPS != "all":
        chosen = sorted(numpy_generator("flips", path.suffix).choice(bits, int(FLIPS), replace=False))
    for bit in map(int, chosen):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        yield bit


def test_a_turned_bit_in_a_run_costs_that_run_at_most(results: Path):
    told: list[str] = []
    store = Store(results, notify=told.append)
    rows, outcomes = store.rows(spec.run_id for spec in SPECS), store.outcomes()
    victim, other = (spec.run_id for spec in SPECS)
    aside = store.path(victim).with_name(f"{victim}.parquet.aside")
    for bit in flipped(store.path(victim)):
        told.clear()
        seen = store.rows([victim, other])
        assert seen.get(victim, rows[victim]) == rows[victim], f"bit {bit}: another value, and nobody said so"
        assert seen[other] == rows[other]
        assert bool(told) == (victim not in seen), f"bit {bit}: {told}"
        frame = store.frame()
        assert len(frame) == len(seen)
        told.clear()
        found = store.outcomes(repair=True)
        assert found == {run_id: outcomes[run_id] for run_id in seen}
        assert aside.exists() == (victim not in seen) == (victim in "".join(told))
        aside.unlink(missing_ok=True)


def test_a_turned_bit_in_a_ledger_is_named_and_the_ledger_is_made_anew(results: Path):
    told: list[str] = []
    store = Store(results, notify=told.append)
    path = store.ledger_path("main", "quick")
    whole = store.ledger_rows("main", "quick")
    noticed = []
    for bit in flipped(path):
        try:
            seen = store.ledger_rows("main", "quick")
        except UserError as problem:
            noticed.append(str(problem))
            seen = whole
        assert seen == whole, f"bit {bit}: another value, and nobody said so"
        store.write_ledger("main", "quick", LEDGER)
        assert store.ledger_rows("main", "quick") == whole
    assert noticed
    assert len(told) == len(noticed)
    assert all(path.name in text for text in noticed + told)
