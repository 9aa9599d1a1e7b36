"""The runner: does what a plan still lacks, on any pool of workers, and stores each result at once.

The plan is asked again whenever the runs of a family are finished, so tuning, extension and final runs
follow from what is stored and a killed sweep goes on where it was. `python -m benchmark run main`
"""

import heapq
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any

from benchmark.claims import Claims
from benchmark.errors import UserError
from benchmark.planner import Family, Known
from benchmark.pool import Pool
from benchmark.progress import Progress
from benchmark.spec import RunSpec
from benchmark.store import Outcome, Store, outcome_of
from benchmark.worker import Job, failure, row, work

LIVES = 3  # a run that was there so often when a worker died, the last time alone, is what kills them
POLL = 0.5  # seconds


@dataclass
class Shard:
    """The share `index` of `count` of all runs, by a hash that does not depend on the plan."""

    index: int = 0
    count: int = 1

    def has(self, run_id: str) -> bool:
        return int(run_id[:8], 16) % self.count == self.index


@dataclass
class Ongoing:
    order: int
    family: Family
    known: Known = field(default_factory=lambda: Known([], 0, []))
    pending: set[str] = field(default_factory=set)


class Runner:
    def __init__(
        self,
        store: Store,
        pool: Pool,
        job: Job,
        progress: Progress,
        outcomes: dict[str, Outcome],
        again: Iterable[str] = (),  # stored failures to do once more
        shard: Shard | None = None,
        advanced: Callable[[Family, Known], None] = lambda family, known: (
            None
        ),  # told of every step of a family
    ) -> None:
        self.store, self.pool, self.job, self.progress = store, pool, job, progress
        self.shard = shard or Shard()
        self.advanced = advanced
        self.claims = Claims(store.results / "claims")
        self.outcomes = dict(outcomes)
        self.stale: dict[str, int] = {}  # failures to do once more → age of their file
        for run_id in again:
            self.outcomes.pop(run_id, None)
            path = store.path(run_id)
            self.stale[run_id] = path.stat().st_mtime_ns if path.exists() else 0
        self.ongoing: list[Ongoing] = []
        self.waiters: dict[str, list[Ongoing]] = {}
        self.queue: list[tuple[int, int, RunSpec]] = []  # a heap: first families first
        self.alone: list[RunSpec] = []  # suspected of killing their worker: nothing runs beside them
        self.held: list[RunSpec] = []  # by another driver
        self.flying: dict[Future, tuple[RunSpec, str | None]] = {}
        self.deaths: dict[str, int] = {}
        self.devices = list(pool.devices)
        self.done: list[str] = []  # run_ids of this session

    def run(self, families: Iterable[Family]) -> None:
        """Returns when there is nothing left that could be done here and now."""
        for order, family in enumerate(families):
            self.ongoing.append(Ongoing(order, family))
            self._advance(self.ongoing[-1])
        self.progress.start(self.left())
        try:
            while self._fill():
                self._collect()
        finally:
            self.claims.close()
            self.progress.close()

    def left(self) -> int:
        """Runs that are still to do, as far as the plan can tell."""
        pending = {run_id for one in self.ongoing for run_id in one.pending if self.shard.has(run_id)}
        waiting = 0 if self.shard.count > 1 else sum(one.known.waiting for one in self.ongoing)
        return len(pending) + waiting

    def elsewhere(self) -> int:
        """Runs that other shards have to do before this one can go on."""
        return len({i for one in self.ongoing for i in one.pending if not self.shard.has(i)})

    def _advance(self, one: Ongoing) -> None:
        one.known = one.family.known(self.outcomes)
        one.pending = set()
        for task in one.known.tasks:
            run_id = task.spec.run_id
            if run_id in self.outcomes or run_id in one.pending:
                continue
            one.pending.add(run_id)
            if run_id not in self.waiters and self.shard.has(run_id):
                heapq.heappush(self.queue, (one.order, len(self.waiters), task.spec))
            self.waiters.setdefault(run_id, []).append(one)
        self.advanced(one.family, one.known)

    def _fill(self) -> bool:
        """Starts as many runs as there is room for. False: nothing is left to wait for."""
        if self.held and not self.queue:
            self.queue = [(0, i, spec) for i, spec in enumerate(self.held)]
            self.held = []
        slots = self.pool.slots()
        while self.queue and len(self.flying) < slots and not self.alone:
            self._start(heapq.heappop(self.queue)[2])
        if self.alone and not self.flying and slots:
            self._start(self.alone.pop())
        if not self.flying and (self.held or self.queue):
            time.sleep(POLL)  # for another driver, or for the first worker of a cluster
        return bool(self.flying or self.held or self.queue or self.alone)

    def _start(self, spec: RunSpec) -> None:
        run_id = spec.run_id
        if not self.claims.take(run_id):
            self.held.append(spec)
            return
        outcome = self._stored_meanwhile(run_id)
        if outcome is not None:
            self._settle(spec, outcome)
            return
        device = self.devices.pop() if self.devices else None
        future = self.pool.submit(work, spec, replace(self.job, device=device))
        self.flying[future] = (spec, device)

    def _stored_meanwhile(self, run_id: str) -> Outcome | None:
        """The result of another driver, if it has finished the run since we planned."""
        path = self.store.path(run_id)
        if not path.exists() or self.stale.get(run_id) == path.stat().st_mtime_ns:
            return None
        return self.store.outcome(run_id)

    def _collect(self) -> None:
        done, _ = wait(self.flying, timeout=POLL, return_when=FIRST_COMPLETED)
        crowd = len(self.flying)
        for future in done:
            spec, device = self.flying.pop(future)
            if self.pool.devices:
                self.devices.append(device)
            problem = _death(future)
            if problem is None:
                finished = _row(future)
            else:
                deaths = self.deaths[spec.run_id] = self.deaths.get(spec.run_id, 0) + 1
                if deaths < LIVES or crowd > 1:
                    self.claims.release(spec.run_id)
                    self._again(spec, deaths)
                    continue
                finished = row(
                    spec, failure(_status(problem), f"the run ended its worker: {problem}"), self.job
                )
            self.store.write_run(finished)
            self.done.append(spec.run_id)
            self._settle(spec, outcome_of(finished))
            self.progress.finished(spec, self.outcomes[spec.run_id])

    def _again(self, spec: RunSpec, deaths: int) -> None:
        if deaths >= LIVES - 1:
            self.alone.append(spec)
        else:
            heapq.heappush(self.queue, (0, -len(self.deaths), spec))

    def _settle(self, spec: RunSpec, outcome: Outcome) -> None:
        """A run is finished, here or elsewhere: families that waited for it may go on."""
        self.claims.release(spec.run_id)
        self.outcomes[spec.run_id] = outcome
        for one in self.waiters.get(spec.run_id, ()):
            one.pending.discard(spec.run_id)
            if not one.pending:
                self._advance(one)
        self.progress.expect(self.progress.done + 1 + self.left())


def _death(future: Future) -> BaseException | None:
    """What ended the worker, if it did not live to see the end of its run."""
    from concurrent.futures.process import BrokenProcessPool

    if future.cancelled():
        return CancelledError("the run was cancelled")
    problem = future.exception()
    killed = isinstance(problem, BrokenProcessPool) or type(problem).__name__ == "KilledWorker"
    return problem if killed else None


def _row(future: Future) -> dict[str, Any]:
    """The row of a run; raises what concerns all runs: a full disk, a worker that cannot load the project."""
    try:
        return future.result()
    except (OSError, UserError):
        raise
    except Exception as problem:
        raise UserError(
            f"a worker cannot start runs ({type(problem).__name__}: {problem}); "
            "is this project, at this version, installed where the workers run?"
        ) from problem


def _status(problem: BaseException) -> str:
    """SIGKILL is what the kernel sends when memory runs out."""
    return (
        "out_of_memory" if "SIGKILL" in str(problem) or type(problem).__name__ == "KilledWorker" else "error"
    )
