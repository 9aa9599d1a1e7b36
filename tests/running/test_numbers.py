"""What a user would lose if real training gave other numbers on two workers or on a cluster than in one process."""

import json
from pathlib import Path

import pytest
from desk import STUDY, Desk
from test_clusters import Cluster

from benchmark.planning import study
from benchmark.running.driver import Options, Session

TINY = """
title = "Real training, very short"
datasets = ["glyphs"]
methods = ["contrastive", "proxy_anchor"]
setting = "glyphs"
seeds = 2
[fields]
train_classes = 24
test_classes = 24
epochs = 2
batches_per_epoch = 2
batch_size = 32
"""
TIMES = [
    "seconds",
    "preparation",
    "step_seconds",
    "peak_memory_mb",
    "finished",
    "commit",
    "dirty",
]  # may differ between two runs of a spec


def test_one_process_two_workers_and_a_cluster_give_the_same_numbers(tmp_path: Path, data: Path):
    pytest.importorskip("distributed")
    alone = Desk(tmp_path)
    alone.write(TINY)
    here = Session([study.load(str(tmp_path / "small.toml"))], alone.store, Options(data, "sequential"))
    assert here.run() == 0
    frames = {"sequential": alone.store.frame().drop(columns=TIMES)}
    for backend in ("loky", "dask"):
        desk = Desk(tmp_path / backend)
        desk.folder.mkdir()
        desk.write(TINY)
        arguments = ["run", "small.toml", "--data", str(data), "--jobs", "2", "--backend", backend]
        cluster = Cluster(desk) if backend == "dask" else None
        try:
            if cluster:
                cluster.wait()
                arguments += ["--scheduler", cluster.address]
            done = desk.call(*arguments, timeout=300)
        finally:
            if cluster:
                cluster.close()
        assert done.returncode == 0, done.stderr
        frames[backend] = desk.store.frame().drop(columns=TIMES)
    assert len(frames["sequential"]) == 4
    assert set(frames["sequential"]["status"]) == {"ok"}
    for backend in ("loky", "dask"):
        assert frames[backend].astype(str).equals(frames["sequential"].astype(str)), backend


def test_a_slow_method_does_not_keep_the_trials_of_the_others_waiting(desk: Desk):
    """Its two first trials are at two of three workers until the other method's second batch has begun."""
    changes = {', "untrained"': "", '"test", ': "", '"grid"': '"tpe"\nextend = false'}
    text = STUDY
    for old, new in changes.items():
        text = text.replace(old, new)
    desk.write(text)
    desk.environment["STAND_IN_TROUBLE"] = json.dumps({"triplet": "behind"})
    done = desk.call(*desk.arguments("--jobs", "3"))
    assert done.returncode == 0, done.stderr + desk.store.frame()["error"].iloc[-1]
    alone = Desk(desk.folder / "alone")
    alone.folder.mkdir()
    alone.write(text)
    assert alone.run().returncode == 0
    assert alone.numbers() == desk.numbers()
