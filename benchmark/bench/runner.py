"""Speed of the runner: planning, reading back, its own cost per run, and how two workers compare with one.

Run by `make bench`; what is compared is measured in the same run.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmark.bench import Row, best
from benchmark.bench import row as measured
from benchmark.planning import plan as planner
from benchmark.planning.plan import Family
from benchmark.planning.study import Study
from benchmark.results.store import Store
from benchmark.running.pools import Loky, Pool, Sequential
from benchmark.running.progress import Progress
from benchmark.running.scheduler import Scheduler
from benchmark.running.worker import Job, row
from benchmark.spec import RunSpec

HERE = "benchmark.bench.runner"


def run() -> Iterator[Row]:
    yield _planning()
    yield _overhead()
    yield _reading()
    yield from _workers()


def instant(spec: RunSpec, **where: object) -> dict[str, object]:
    """A run that takes no time: what remains is the runner's own."""
    metrics = {f"test/{name}": 0.5 for name in ("R@1", "R@2", "R@4", "R@8", "mAP", "mAP@R")}
    curve = [{"epoch": epoch, "loss": 0.1, "train/R@1": 0.9, "test/R@1": 0.5} for epoch in range(20)]
    return {"status": "ok", "score": 0.5, "best_epoch": 1, "metrics": metrics, "curve": curve}


def busy(spec: RunSpec, **where: object) -> dict[str, object]:
    """A run of steady arithmetic on one core, as training is, without anything to load."""
    total = 0
    for i in range(8_000_000):
        total += i * i % 7
    return {"status": "ok", "score": total % 100 / 100}


def _families(seeds: int) -> list[Family]:
    """A study of so many runs that differ in the seed."""
    return planner.families(Study("bench", "bench", "quick", "Bench", ("glyphs",), ("triplet",), "glyphs", seeds=seeds))


def _run(results: Path, pool: Pool, executor: str, seeds: int) -> Scheduler:
    job = Job(data=results, checkpoints=None, executor=f"{HERE}:{executor}")
    with (results / "log").open("w") as log:
        runner = Scheduler(Store(results), pool, job, Progress(log), {})
        runner.run(_families(seeds))
    return runner


def _planning() -> Row:
    """The command line from start to end: 10,000 runs of a study without tuning."""
    command = [sys.executable, "-m", "benchmark", "plan", "main", "--results", "none"]
    for change in ("tuning=false", 'methods=["contrastive","triplet"]', 'protocols=["test"]', "seeds=5000"):
        command += ["--set", change]
    seconds = best(lambda: subprocess.run(command, check=True, capture_output=True))
    return measured("plan, start to end", 10_000, seconds, seconds / 2, "2 s allowed")


def _overhead(runs: int = 200) -> Row:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        _run(Path(other), Sequential(), "instant", 1)  # loads pyarrow
        seconds = best(lambda: _run(Path(folder), Sequential(), "instant", runs), 1) / runs
    return measured("the runner's own time, a run", runs, seconds, seconds / 0.05, "50 ms allowed")


def _reading(runs: int = 500) -> Row:
    """A finished sweep planned, read and tabulated."""
    with tempfile.TemporaryDirectory() as folder:
        store, families = Store(Path(folder)), _families(runs)
        job = Job(data=Path(folder), checkpoints=None)
        for task in families[0].known({}).tasks:
            store.write_run(row(task.spec, instant(task.spec), job))
        store.gather()  # as at the end of every session

        def read() -> None:
            assert not families[0].known(store.outcomes()).waiting
            assert len(store.frame().groupby(["dataset", "method"])["test/R@1"].agg(["mean", "std"])) == 1

        seconds = best(read)
    return measured("plan, read and tabulate a finished sweep", runs, seconds, seconds / 5, "5 s allowed")


def _workers(runs: int = 16) -> list[Row]:
    """The same runs with one worker and with two; on two cores, two should be nearly twice as fast."""
    seconds = {}
    for workers in (1, 2):
        pool = Loky(workers)
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            _run(Path(other), pool, "busy", 2 * workers)  # starts the processes
            seconds[workers] = best(partial(_run, Path(folder), pool, "busy", runs), 1)
    pool.close(kill=False)
    return [
        measured("sweep with one worker", runs, seconds[1], 1.0, "one worker"),
        measured("sweep with two workers", runs, seconds[2], seconds[1] / seconds[2], "one worker, times as fast"),
    ]
