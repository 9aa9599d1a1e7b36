"""Measurements of speed and memory, one module per area; `python -m benchmark.bench` runs them.

Every module has `run() -> list[Row]`. What a ratio is to is measured in the same run, since only such ratios mean something on
another machine.
"""

import time
from collections.abc import Callable

Row = dict[str, object]


def row(
    name: str,
    n: int,
    seconds: float,
    ratio: float | None = None,
    to: str = "",
    peak: float | None = None,
    memory: float | None = None,
) -> Row:
    """`ratio` of time and `memory`, that of memory, are to what `to` says, `peak` in MB."""
    times: Row = {"name": name, "n": n, "seconds": seconds, "peak_mb": peak}
    return times | {"ratio": ratio, "memory_ratio": memory, "baseline": to}


def best(work: Callable[[], object], repeat: int = 3) -> float:
    """Seconds of the fastest of several times."""
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)
