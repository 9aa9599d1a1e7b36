"""A desk: a folder with a small study, and the command line run as a user runs it: in processes of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmark.results.store import Store

HERE = Path(__file__).parent
STUDY = """
title = "A small study"
datasets = ["glyphs"]
methods = ["contrastive", "triplet", "untrained"]
setting = "glyphs"
seeds = 2
protocols = ["test", "validation"]
[tuning]
lr = [1e-4, 3e-2]
trials = 4
sampler = "grid"
"""
RUNS = 2 * (2 * 4 + 3 * 2)  # protocols × (trials of two methods + seeds of three)


@dataclass
class Desk:
    """Where a test works: `desk.run("small.toml")` is `python -m benchmark run small.toml` there."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def store(self) -> Store:
        return Store(self.results)

    def write(self, text: str = STUDY, name: str = "small.toml") -> None:
        (self.folder / name).write_text(text)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "benchmark", *arguments]

    def environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(HERE), str(HERE.parents[1]))),
            "STAND_IN_LOG": str(self.folder / "log"),
            **self.environment,
        }

    def call(self, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def arguments(self, *more: str) -> list[str]:
        return ["run", "small.toml", "--executor", "stand_in:run", *more]

    def look(self, verb: str, *more: str) -> subprocess.CompletedProcess:
        """`plan` or `status`, of the runs that `run` does."""
        return self.call(verb, "small.toml", "--executor", "stand_in:run", *more)

    def run(self, *more: str) -> subprocess.CompletedProcess:
        """In one process, which is faster, where a test is not about workers."""
        return self.call(*self.arguments("--backend", "sequential", *more))

    def start(self, *more: str) -> subprocess.Popen:
        return subprocess.Popen(
            self.command(*self.arguments("--jobs", "2", *more)),
            cwd=self.folder,
            env=self.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A suite that runs in the background ignores Ctrl-C, and hands that on to what it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def started(self) -> list[str]:
        """run_ids in the order in which runs were started, however often."""
        log = self.folder / "log"
        return log.read_text().split() if log.exists() else []

    def stored(self) -> list[str]:
        return sorted(path.stem for path in (self.results / "runs").glob("*.parquet"))

    def numbers(self, study: str = "small", scale: str = "quick") -> tuple[list, list]:
        """All that a table could be made of: rows of the ledger, and what was stored for them."""
        runs = self.store.frame()[["run_id", "status", "score", "test/R@1", "test/mAP", "curve", "best_epoch"]]
        return self.store.ledger_rows(study, scale), runs.astype(object).where(runs.notna(), None).to_dict("records")


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
