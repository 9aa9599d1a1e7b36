"""A watch over a run: it ends in time, and if it takes its process with it, it leaves where it was.

`worker.py` puts every run under it.
"""

import contextlib
import ctypes
import faulthandler
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

LATE = "Timeout"  # how a trace begins of a run that was ended for its time; any other trace is of a crash
GRACE = 10.0  # seconds after the time limit in which a run may still stop by itself


class TimeLimit(BaseException):
    """A run takes too long. Not an Exception, so that no loss can hold it up."""


@contextlib.contextmanager
def watched(limit: float | None, trace: Path | None) -> Iterator[None]:
    """Ends the block with TimeLimit after `limit` seconds.

    A block that crashes, or hangs in compiled code and hears no exception, takes the process with it; where it
    was is then left at `trace`. None: the process is not to be ended.
    """
    with contextlib.ExitStack() as stack:
        if file := _opened(trace):
            stack.callback(Path(file.name).unlink, missing_ok=True)
            stack.enter_context(file)
            faulthandler.enable(file)
            stack.callback(faulthandler.disable)
            if limit is not None:
                faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=file)
                stack.callback(faulthandler.cancel_dump_traceback_later)
        if limit is not None:
            stack.callback(_interrupt(limit))
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
