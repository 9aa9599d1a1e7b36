"""The worker's side of a run: one spec in, one whole row out, whatever happens in between.

`scheduler.py` sends `work` to a process of this machine or of a cluster. A run that raises becomes a row with
its traceback; only a full disk is passed on, because no other run could be stored either.
"""

import contextlib
import ctypes
import faulthandler
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from benchmark.errors import FULL, UserError
from benchmark.planning.identity import EXECUTOR, code_of
from benchmark.running import provenance
from benchmark.spec import FIELDS, RunSpec

GRACE = 10.0  # seconds after the time limit in which a run may still stop by itself
THREAD_LIMITS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Job:
    """How to run, as opposed to what: nothing here changes a number."""

    data: Path
    checkpoints: Path | None
    executor: str = EXECUTOR  # module:function with the signature of benchmark.training.run.run
    device: str | None = None
    commit: str = ""
    dirty: bool = False
    same_code: bool = True  # refuse a run whose method is not, here and now, what it was planned with
    time_limit: float | None = None  # seconds that a run may take
    crashes: Path | None = None  # where a run that ends its process leaves a trace; None: it is the driver's

    def trace(self, spec: RunSpec) -> Path | None:
        return self.crashes / f"{spec.run_id}.txt" if self.crashes else None


class TimeLimit(BaseException):
    """A run takes too long. Not an Exception, so that no loss can hold it up."""


def work(spec: RunSpec, job: Job) -> dict[str, Any]:
    """The row of a run."""
    keep_memory()
    run = resolved(job.executor)  # loads torch, which should not count as time of the first run
    reset_peak_memory()
    started = time.perf_counter()
    try:
        if job.same_code and spec.code and spec.code != (now := code_of(spec.method, job.executor)):
            raise UserError(
                f"the code of {spec.method!r} is {now} here and was {spec.code} when the run was planned: an edit "
                "meanwhile, or a worker with another version of the project; type the same command again"
            )
        checkpoint = job.checkpoints / f"{spec.run_id}.pt" if job.checkpoints else None
        with watched(spec, job):
            result = run(spec, data=job.data, threads=1, device=job.device, checkpoint=checkpoint)
    except TimeLimit:
        result = failure("timeout", f"{traceback.format_exc()}{late(job)}")
    except SystemExit as problem:
        result = failure("error", f"{traceback.format_exc()}the run called sys.exit({problem.code!r})")
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno in FULL:
            raise
        result = failure(status_of(problem), traceback.format_exc())
        if isinstance(problem, UserError):  # it says all there is to say
            result["error"] = str(problem)
    seconds = time.perf_counter() - started
    return row(spec, result, job) | {"seconds": seconds, "peak_memory_mb": peak_memory_mb()}


def late(job: Job) -> str:
    return f"not finished after {job.time_limit:g} s, the --time-limit"


@contextlib.contextmanager
def watched(spec: RunSpec, job: Job) -> Iterator[None]:
    """Ends the block with TimeLimit when it takes too long.

    A block that crashes, or hangs in compiled code and hears no exception, takes the process with it; where it
    was is then left as a file.
    """
    with contextlib.ExitStack() as stack:
        if file := _opened(job.trace(spec)):
            stack.callback(Path(file.name).unlink, missing_ok=True)
            stack.enter_context(file)
            faulthandler.enable(file)
            stack.callback(faulthandler.disable)
            if job.time_limit is not None:
                faulthandler.dump_traceback_later(job.time_limit + GRACE, exit=True, file=file)
                stack.callback(faulthandler.cancel_dump_traceback_later)
        if job.time_limit is not None:
            stack.callback(_interrupt(job.time_limit))
        yield


def _opened(path: Path | None) -> TextIO | None:
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("w")
    except OSError:  # a worker elsewhere may not be able to write there: then it leaves no trace
        pass
    return None


def _interrupt(seconds: float) -> Callable[[], object]:
    """Raises TimeLimit in this thread later; returns what calls that off."""
    # of a Dask worker; signals reach the main one only
    if threading.current_thread() is not threading.main_thread():
        thread, limit = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(TimeLimit)
        timer = threading.Timer(seconds, ctypes.pythonapi.PyThreadState_SetAsyncExc, (thread, limit))
        timer.start()
        return timer.cancel

    def stop(*signal_and_frame: object) -> None:
        raise TimeLimit

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return lambda: signal.setitimer(signal.ITIMER_REAL, 0)


def failure(status: str, error: str) -> dict[str, Any]:
    return {"status": status, "error": error}


def row(spec: RunSpec, result: dict[str, Any], job: Job) -> dict[str, Any]:
    """A row of the `run` schema from the result of a run."""
    versions = provenance.versions()
    if job.executor != EXECUTOR:
        versions = versions | {"executor": job.executor}
    about = {
        "run_id": spec.run_id,
        "spec": spec.canonical(),
        "status": result["status"],
        "score": result.get("score"),
        "best_epoch": result.get("best_epoch"),
        "looks": result.get("looks"),
        "metrics": list((result.get("metrics") or {}).items()),
        "curve": json.dumps(result.get("curve") or []),
        "histograms": json.dumps(result.get("histograms") or {}),
        "retrieved": json.dumps(result.get("retrieved") or {}, separators=(",", ":")),
        "error": result.get("error") or "",
        "fingerprint": result.get("fingerprint") or "",
        "preparation": result.get("preparation"),
        "step_seconds": result.get("step_seconds"),
        "loss_parameters": result.get("loss_parameters"),
        "device": result.get("device"),
        "precision_used": result.get("precision_used"),
        "deterministic": result.get("deterministic"),
        "seconds": 0.0,
        "peak_memory_mb": 0.0,
        "versions": json.dumps(versions, sort_keys=True),
        "commit": job.commit,
        "dirty": job.dirty,
        "cpu": provenance.cpu(),
        "gpu": provenance.gpu(job.device),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    fields = {name: getattr(spec, name) for name in FIELDS}
    return about | fields | {"params": json.dumps(dict(spec.params), sort_keys=True, separators=(",", ":"))}


def resolved(executor: str) -> Callable[..., dict[str, Any]]:
    module, colon, name = executor.partition(":")
    try:
        if not colon:
            raise ImportError("no colon")
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as problem:
        raise UserError(
            f"executor {executor!r} must be an importable module:function ({problem})"
        ) from problem


def status_of(problem: BaseException) -> str:
    words = f"{type(problem).__name__}: {problem}".lower()
    memory = isinstance(problem, MemoryError) or "out of memory" in words or "can't allocate memory" in words
    return "out_of_memory" if memory or "outofmemory" in words else "error"


@cache
def keep_memory() -> None:
    """Lets this process keep the memory it has had: handing large blocks back after each step takes half of the time.

    What MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ say in an environment, for a process that has begun (glibc only).
    """
    with contextlib.suppress(OSError, AttributeError):
        allocator = ctypes.CDLL(None)
        allocator.mallopt(-3, 2**30)  # M_MMAP_THRESHOLD: blocks below this come from the heap
        allocator.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: so much may lie idle at its end


def reset_peak_memory() -> None:
    """Sets the peak of this process back, so that a run is not charged with an earlier one (Linux only)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def peak_memory_mb() -> float:
    """Of the graphics card where there is one, else of the process."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def start_process() -> None:
    """In every worker process of this machine: leave Ctrl-C to the driver, and go when the driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = os.getppid()

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(1)
        os._exit(1)  # killed drivers store nothing: going on would only take the processor from the next one

    threading.Thread(target=watch, daemon=True).start()
