"""The memory of a worker process: what it may keep between runs, and the most that a run has used."""

import contextlib
import ctypes
import sys
from functools import cache
from pathlib import Path


@cache
def keep() -> None:
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


def peak_mb() -> float:
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
