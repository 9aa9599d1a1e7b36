"""The scheduler: does what a plan still lacks, on any pool of workers, and stores each result at once.

The plan is asked again whenever the runs of a family are finished, so tuning, extension and final runs
follow from what is stored and a killed sweep goes on where it was. `python -m benchmark run main`
"""

import heapq
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from benchmark.errors import UserError
from benchmark.files import Claims
from benchmark.planning.plan import Family, Known
from benchmark.results.store import Outcome, Store, outcome_of
from benchmark.running.pools import Death, Pool
from benchmark.running.process import LATE
from benchmark.running.progress import Progress
from benchmark.running.worker import Job, failure, row, work
from benchmark.spec import RunSpec

LIVES = 3  # a run that was there so often when a worker died, the last time alone, is what kills them
POLL = 0.5  # seconds
LOST = 120.0  # seconds beyond its time limit after which a run is given up whose worker, which had to start, is silent


@dataclass(frozen=True)
class Shard:
    """The share `index` of `count` of all runs, by a hash that does not depend on the plan."""

    index: int = 0
    count: int = 1

    def has(self, run_id: str) -> bool:
        return int(run_id[:8], 16) % self.count == self.index


@dataclass
class Ongoing:
    """A family on its way: what is known of it, and which of its runs are not finished."""

    order: int
    family: Family
    known: Known = field(default_factory=lambda: Known([], frozenset(), []))
    pending: set[str] = field(default_factory=set)
    moved: bool = False  # one of them has been finished since it was planned last


class Flight(NamedTuple):
    """A run at a worker."""

    spec: RunSpec
    device: str | None
    alone: bool  # nothing else is at a worker
    started: float  # on the monotonic clock


class Scheduler:
    def __init__(
        self,
        store: Store,
        pool: Pool,
        job: Job,
        progress: Progress,
        outcomes: dict[str, Outcome],
        again: Iterable[str] = (),
        shard: Shard | None = None,
        advanced: Callable[[Family, Known], None] = lambda family, known: None,
    ) -> None:
        """`outcomes` is what is stored, `again` names failures to do once more, `advanced` hears of every step."""
        self.store, self.pool, self.job, self.progress = store, pool, job, progress
        self.shard, self.advanced = shard or Shard(), advanced
        self.claims = Claims(store.results / "claims")
        self.outcomes = dict(outcomes)
        self.stale = {run_id: self._written(run_id) for run_id in again}  # failures → time of their file
        self.ongoing: list[Ongoing] = []
        self.waiters: dict[str, list[Ongoing]] = {}  # of runs that are not finished
        self.mine: dict[str, RunSpec] = {}  # of those, the ones of this shard
        self.waiting = 0  # runs that will follow from tuning
        self.queue: list[tuple[int, int, RunSpec]] = []  # a heap: the first family first
        self.counter = itertools.count()
        self.suspects: list[RunSpec] = []  # workers died with them: nothing runs beside them
        self.held: list[RunSpec] = []  # by another driver
        self.flying: dict[Future, Flight] = {}
        self.deaths: Counter[str] = Counter()
        self.devices = list(pool.devices)
        self.slots = 1  # runs at a time, as of the last look
        self.done: list[str] = []  # what this session has run

    def run(self, families: Iterable[Family]) -> None:
        """Returns when there is nothing left that could be done here and now."""
        self.ongoing = [Ongoing(order, family) for order, family in enumerate(families)]
        for one in self.ongoing:
            self._advance(one)
        self.progress.start(self.left(), self._seconds_left)
        try:
            while self._fill():
                self._collect()
        finally:
            self.claims.close()
            self.progress.close()

    def left(self) -> int:
        """Runs that are still to do here, as far as the plan can tell."""
        return len(self.mine) + self.waiting

    def _seconds_left(self) -> float | None:
        seconds = self.progress.estimate.total(list(self.mine.values()), self.waiting)
        if seconds is None:
            return None
        for flight in list(self.flying.values()):
            usual = self.progress.estimate.of(flight.spec)  # one that takes longer does not shorten the others
            seconds -= min(time.monotonic() - flight.started, usual or 0.0)
        return max(0.0, seconds) / max(1, self.slots)

    def elsewhere(self) -> int:
        """Runs that other shards have to do before this one can go on."""
        return len(self.waiters) - len(self.mine)

    def _advance(self, one: Ongoing) -> None:
        one.known, one.moved = one.family.known(self.outcomes), False
        for task in one.known.tasks:
            run_id = task.spec.run_id
            if run_id in self.outcomes or run_id in one.pending:
                continue
            one.pending.add(run_id)
            if run_id not in self.waiters and self.shard.has(run_id):
                self.mine[run_id] = task.spec
                self._queue(task.spec, one.order)
            self.waiters.setdefault(run_id, []).append(one)
        if self.shard.count == 1:  # else nobody knows whose they will be
            self.waiting = len(frozenset().union(*(other.known.waiting for other in self.ongoing)))
        self.advanced(one.family, one.known)

    def _queue(self, spec: RunSpec, order: int = -1) -> None:
        heapq.heappush(self.queue, (order, next(self.counter), spec))

    def _fill(self) -> bool:
        """Starts as many runs as there is room for. False: nothing is left to wait for."""
        slots = self.slots = self.pool.slots()
        if not self.suspects and not any(flight.alone for flight in self.flying.values()):
            for one in self.ongoing:  # no worker waits for the slowest run of a batch, if another method's is done
                if one.moved and len(self.queue) + len(self.flying) < slots:
                    self._advance(one)
            if not self.queue:  # look again at what another driver had
                held, self.held = self.held, []
                for spec in held:
                    self._queue(spec)
            while self.queue and len(self.flying) < slots:
                self._start(heapq.heappop(self.queue)[2])
        elif not self.flying and slots:
            self._start(self.suspects.pop(), alone=True)
        if not self.flying and (self.held or self.queue):
            time.sleep(POLL)  # for another driver, or for the first worker of a cluster
        return bool(self.flying or self.held or self.queue or self.suspects)

    def _start(self, spec: RunSpec, alone: bool = False) -> None:
        run_id = spec.run_id
        if not self.claims.take(run_id):
            self.held.append(spec)
            return
        # Another driver may have finished the run since we planned.
        changed = self._written(run_id) != self.stale.get(run_id, 0)
        if changed and (outcome := self.store.outcome(run_id)) is not None:
            self._settle(spec, outcome)
            return
        device = self.devices.pop() if self.devices else None
        started = time.monotonic()
        self.progress.launched(spec)
        future = self.pool.submit(work, spec, replace(self.job, device=device))
        self.flying[future] = Flight(spec, device, alone, started)

    def _written(self, run_id: str) -> int:
        """When the file of a run was written, 0 if there is none."""
        path = self.store.path(run_id)
        return path.stat().st_mtime_ns if path.exists() else 0

    def _collect(self) -> None:
        done, others = wait(self.flying, timeout=POLL, return_when=FIRST_COMPLETED)
        for future in [*done, *(future for future in others if self._lost(self.flying[future]))]:
            flight = self.flying.pop(future)
            if self.pool.devices:
                self.devices.append(flight.device)
            self.progress.landed(flight.spec)
            death = self.pool.death(future) if future in done else Death(self.job.late(), "timeout", certain=True)
            future.cancel()  # a cluster might go on with what is lost
            finished = self._after_death(flight, death) if death else _row(future)
            if finished is None:
                continue
            self.store.write_run(finished)
            outcome = outcome_of(finished)
            self.done.append(flight.spec.run_id)
            self._settle(flight.spec, outcome)
            self.progress.finished(flight.spec, outcome)

    def _lost(self, flight: Flight) -> bool:
        limit = self.job.time_limit
        return limit is not None and time.monotonic() - flight.started > limit + LOST

    def _after_death(self, flight: Flight, death: Death) -> dict[str, Any] | None:
        """A run whose worker died is tried again, at last alone; None, or its row if it is the killer."""
        spec, trace = flight.spec, self._trace(flight.spec)
        self.deaths[spec.run_id] += 1
        if trace.startswith(LATE):
            death = Death(self.job.late(), "timeout", certain=True)
        if trace or death.certain or (flight.alone and self.deaths[spec.run_id] >= LIVES):
            reason = death.reason if death.status == "timeout" else f"the run ended its process: {death.reason}"
            return row(spec, failure(death.status, trace + reason), self.job)
        self.claims.release(spec.run_id)
        if self.deaths[spec.run_id] >= LIVES - 1:
            self.suspects.append(spec)
        else:
            self._queue(spec)
        return None

    def _trace(self, spec: RunSpec) -> str:
        """Where a run was when its process ended, if it left word of that."""
        path = self.job.trace(spec)
        if path is None or not path.exists():
            return ""
        text = path.read_text(errors="replace")
        path.unlink(missing_ok=True)
        return text if not text or text.endswith("\n") else text + "\n"

    def _settle(self, spec: RunSpec, outcome: Outcome) -> None:
        """A run is finished, here or elsewhere: families that waited for it may go on."""
        self.claims.release(spec.run_id)
        self.outcomes[spec.run_id] = outcome
        self.mine.pop(spec.run_id, None)
        for one in self.waiters.pop(spec.run_id, ()):
            one.pending.discard(spec.run_id)
            one.moved = True
            if not one.pending:
                self._advance(one)
        self.progress.expect(len(self.done) + self.left())


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
