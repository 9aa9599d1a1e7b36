"""A worker's process: its threads, its memory, and the watch that ends a run in time and leaves word of a crash."""

import contextlib
import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

THREAD_LIMITS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
LATE = "Timeout"  # how a trace begins of a run that was ended for its time; any other trace is of a crash
GRACE = 10.0  # seconds after the time limit in which a run may still stop by itself


def start_process() -> None:
    """In every worker process of this machine: leave Ctrl-C to the driver, and go when the driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = os.getppid()

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(1)
        os._exit(1)  # killed drivers store nothing: going on would only take the processor from the next one

    threading.Thread(target=watch, daemon=True).start()


@cache
def keep_memory() -> None:
    """Lets this process keep the memory it has had: handing large blocks back after each step takes half of the time.

    What MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ say in an environment, for a process that has begun (glibc only).
    """
    with contextlib.suppress(OSError, AttributeError):
        allocator = ctypes.CDLL(None)
        allocator.mallopt(-3, 2**30)  # M_MMAP_THRESHOLD: blocks below this come from the heap
        allocator.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: so much may lie idle at its end


def reset_peak() -> None:
    """Sets the peak of this process back, so that a run is not charged with an earlier one (Linux only)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def peak_mb(card: bool = True) -> float:
    """The most that was used since `reset_peak`: of the graphics card where there is one, else of the process."""
    torch = sys.modules.get("torch")
    if card and torch is not None and torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


class TimeLimit(BaseException):
    """A run takes too long. Not an Exception, so that no loss can hold it up."""


@contextlib.contextmanager
def watched(limit: float | None, trace: Path | None) -> Iterator[None]:
    """Ends the block with TimeLimit after `limit` seconds.

    A block that crashes, or hangs in compiled code and hears no exception, takes the process with it; where it
    was is then left at `trace`. None: the process is not to be ended.
    """
    with contextlib.ExitStack() as stack:
        file = None
        if trace is not None:
            with contextlib.suppress(OSError):  # a worker elsewhere may not be able to write there: it leaves no trace
                trace.parent.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context(trace.open("w"))
                stack.callback(trace.unlink, missing_ok=True)
        if file is not None:
            faulthandler.enable(file)
            stack.callback(faulthandler.disable)
            if limit is not None:
                faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=file)
                stack.callback(faulthandler.cancel_dump_traceback_later)
        if limit is not None:
            stack.callback(_interrupt(limit))
        yield


def _interrupt(seconds: float) -> Callable[[], object]:
    """Raises TimeLimit in this thread later; returns what calls that off."""
    if threading.current_thread() is not threading.main_thread():  # a Dask worker's: signals do not reach it
        thread, limit = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(TimeLimit)
        timer = threading.Timer(seconds, ctypes.pythonapi.PyThreadState_SetAsyncExc, (thread, limit))
        timer.start()
        return timer.cancel

    def stop(*signal_and_frame: object) -> None:
        raise TimeLimit

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return lambda: signal.setitimer(signal.ITIMER_REAL, 0)
