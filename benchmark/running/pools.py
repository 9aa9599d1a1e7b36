"""Pools: where runs are done: in this process, by joblib's loky on this machine, or on a Dask cluster.

All give futures, so that the runner can claim a run just before it is started and see each end.
`joblib.Parallel` itself hides that: on a Dask cluster of one core it runs everything in the driver, and it
never returns when a run kills its worker.
"""

import ipaddress
import re
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from benchmark.errors import UserError
from benchmark.running import provenance
from benchmark.running.process import THREAD_LIMITS, start_process

REFRESH = 2.0  # seconds between looks at the size of a cluster


@dataclass(frozen=True)
class Death:
    """A worker ended while it had a run."""

    reason: str
    status: str = "error"  # of the run, if it is to blame
    certain: bool = False  # whether it is


class Pool(ABC):
    devices: list[str | None]  # one for each run at a time, where the driver hands them out

    def slots(self) -> int:
        """Runs at a time; a cluster may grow and shrink."""
        return len(self.devices)

    @abstractmethod
    def submit(self, function: Callable, *args: Any) -> Future: ...

    def death(self, future: Future) -> Death | None:
        """Why its worker ended, if it did."""
        return None

    def close(self, kill: bool) -> None:  # noqa: B027  # most have none to end
        """Ends the workers, with `kill` at once."""


def open_pool(backend: str, jobs: int | None, scheduler: str | None) -> Pool:
    if jobs is not None and jobs < 1:
        raise UserError(f"--jobs {jobs} must be 1 or more")
    if backend == "dask":
        return Dask(scheduler, jobs)
    if backend == "sequential":
        return Sequential()
    import joblib

    return Loky(jobs or provenance.gpu_count() or joblib.cpu_count())


def exposed(address: str) -> bool:
    """Whether strangers might reach a Dask scheduler: it runs the code of whoever connects."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme in ("tls", "wss", "inproc") or parts.hostname == "localhost":
        return False
    try:
        return not ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:  # a name
        return True


class Sequential(Pool):
    def __init__(self) -> None:
        self.devices = [None]

    def submit(self, function: Callable, *args: Any) -> Future:
        future: Future = Future()
        try:
            future.set_result(function(*args))
        except Exception as problem:
            future.set_exception(problem)
        return future


class Loky(Pool):
    def __init__(self, jobs: int) -> None:
        cards = provenance.gpu_count()
        self.devices = [f"cuda:{i % cards}" if cards else None for i in range(jobs)]
        self.executor: Any = None  # started with the first run

    def submit(self, function: Callable, *args: Any) -> Future:
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")  # loky renews it
        for _ in range(2):
            with suppress(BrokenProcessPool):  # it broke just now
                return self._renewed().submit(function, *args)
        return self._renewed().submit(function, *args)

    def _renewed(self) -> Any:
        """Idle workers are kept: loading torch takes longer than many a run. A broken executor is replaced."""
        from joblib.externals.loky import get_reusable_executor

        self.executor = get_reusable_executor(self.slots(), timeout=3600, initializer=start_process, env=THREAD_LIMITS)
        return self.executor

    def death(self, future: Future) -> Death | None:
        """All runs at workers share the fate of one, so nobody can tell which one it was."""
        problem = future.exception()
        if not isinstance(problem, BrokenProcessPool):
            return None
        codes = ", ".join(re.findall(r"\{(.*)\}", str(problem))) or str(problem)
        if "SIGKILL" in codes:
            return Death(f"{codes}, which the system sends when memory runs out; try fewer --jobs", "out_of_memory")
        if "EXIT" in codes:
            return Death(f"{codes}; something in it, the loss perhaps, calls exit")
        return Death(f"{codes}; compiled code crashed")

    def close(self, kill: bool) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=True, kill_workers=kill)


class Dask(Pool):
    def __init__(self, scheduler: str | None, jobs: int | None) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise UserError("--backend dask needs the extra: pip install -e '.[dask]'") from None
        if scheduler is None:
            raise UserError("--backend dask needs --scheduler: the address that `dask scheduler` prints, tcp://…")
        try:
            self.client = Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError) as problem:
            raise UserError(
                f"no Dask scheduler answers at {scheduler!r} ({problem}); start one: dask scheduler"
            ) from None
        self.jobs, self.address = jobs, scheduler
        self.executor = self.client.get_executor(pure=False)
        self.devices = []  # a worker of the cluster uses the card that it was started with
        self.threads, self.looked = 0, 0.0

    def slots(self) -> int:
        if not self.threads or time.monotonic() - self.looked > REFRESH:
            try:
                self.threads = sum(self.client.nthreads().values())
            except (OSError, TimeoutError, RuntimeError) as problem:
                raise UserError(
                    f"the Dask scheduler at {self.address!r} is gone ({problem}); finished runs are stored. "
                    "Start it again, then type the same command"
                ) from None
            self.looked = time.monotonic()
        return min(self.jobs or self.threads, self.threads)

    def submit(self, function: Callable, *args: Any) -> Future:
        return self.executor.submit(function, *args)

    def death(self, future: Future) -> Death | None:
        """The scheduler gives a run to another worker by itself; when it gives up, the run is to blame."""
        from distributed import KilledWorker

        if future.cancelled():  # the scheduler has lost it
            return Death("the cluster forgot the run")
        problem = future.exception()
        return Death(str(problem), "out_of_memory", certain=True) if isinstance(problem, KilledWorker) else None

    def close(self, kill: bool) -> None:
        self.executor.shutdown(wait=False)  # cancels what has not begun
        self.client.close(timeout=5)
