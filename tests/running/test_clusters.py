"""What a user would lose if numbers depended on where runs are done."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from desk import RUNS, Desk, wait_until

pytest.importorskip("distributed")


class Cluster:
    """A Dask scheduler and workers, each a process of its own, talking over TCP."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        self.processes: list[subprocess.Popen] = []
        self.scheduler = self._start("scheduler", "--host", self.address, "--no-dashboard", "--no-show")
        self.workers = [self._worker() for _ in range(2)]

    def _start(self, *arguments: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            cwd=self.desk.folder,
            env=self.desk.environ(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def _worker(self) -> subprocess.Popen:
        return self._start("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def wait(self) -> None:
        from distributed import Client

        with Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

    def close(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def cluster(desk: Desk) -> Iterator[Cluster]:
    desk.environment["STAND_IN_SECONDS"] = "0.1"
    made = Cluster(desk)
    yield made
    made.close()


def test_a_cluster_gives_the_numbers_of_one_process_even_when_a_worker_is_killed(
    desk: Desk, undisturbed: Desk, cluster: Cluster
):
    cluster.wait()
    driver = desk.start("--backend", "dask", "--scheduler", cluster.address)
    wait_until(lambda: len(desk.stored()) >= 5)
    os.killpg(cluster.workers[0].pid, signal.SIGKILL)
    _, errors = driver.communicate(timeout=90)
    assert driver.returncode == 0, errors
    assert sum(count - 1 for count in Counter(desk.started()).values()) <= 2  # the killed worker's
    assert desk.numbers() == undisturbed.numbers()


def test_no_scheduler_is_one_line(desk: Desk):
    done = desk.run("--backend", "dask", "--scheduler", "tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert "no Dask scheduler answers" in done.stderr.splitlines()[-1]


def test_workers_in_other_processes_give_the_numbers_of_one_process(desk: Desk, undisturbed: Desk):
    done = desk.run("--backend", "loky", "--jobs", "3")
    assert done.returncode == 0, done.stderr
    assert max(Counter(desk.started()).values()) == 1
    assert desk.numbers() == undisturbed.numbers()


def test_shards_together_do_everything_once(desk: Desk, undisturbed: Desk):
    waited = []
    for _ in range(4):  # trials, extension, final runs: a shard goes on when the others have done theirs
        for shard in ("1/2", "2/2"):
            done = desk.run("--shard", shard)
            assert done.returncode == 0, done.stderr
            waited += re.findall(r"(\d+) runs belong to other shards", done.stderr)
        if len(desk.stored()) == RUNS:
            break
    assert waited, "a shard says what it waits for"
    assert max(Counter(desk.started()).values()) == 1
    assert desk.numbers() == undisturbed.numbers()
