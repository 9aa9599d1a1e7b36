"""Measurements of speed and memory, one module per area; `python -m benchmark.bench` runs them.

Every module has `run() -> Iterator[Row]`. What a ratio is to is measured in the same run, since only such ratios mean something
on another machine.
"""

import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

Row = dict[str, object]


def row(
    name: str,
    n: int,
    seconds: float,
    ratio: float | None = None,
    to: str = "",
    peak_mb: float | None = None,
    memory_ratio: float | None = None,
) -> Row:
    """The ratios of time and of memory are to what `to` says."""
    about: Row = {"name": name, "n": n, "seconds": seconds, "peak_mb": peak_mb}
    return about | {"ratio": ratio, "memory_ratio": memory_ratio, "baseline": to}


def best(work: Callable[[], object], repeat: int = 3) -> float:
    """Seconds of the fastest of several times."""
    return min(timeit.repeat(work, repeat=repeat, number=1))


@contextmanager
def photos(count: int, width: int, height: int) -> Iterator[Path]:
    """A folder whose `photos/` has noise with detail of about 6 pixels, as in photos, in eight classes."""
    generator = np.random.Generator(np.random.PCG64(0))
    with TemporaryDirectory() as name:
        for i in range(count):
            rough = generator.integers(0, 256, (round(height / 6), round(width / 6), 3), dtype=np.uint8)
            place = Path(name) / "photos" / f"class{i % 8}" / f"{i}.jpg"
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rough).resize((width, height), Image.Resampling.BICUBIC).save(place, quality=90)
        yield Path(name)
