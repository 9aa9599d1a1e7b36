"""Small images as one memory-mapped array beside their data set, decoded once and shared by all workers."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmark.files import locked


def kept_array(path: Path, make: Callable[[], np.ndarray]) -> np.ndarray:
    """The array at `path`, made first if it is not there; it appears whole or not at all."""
    if not path.exists():
        with locked(path.with_suffix(".lock")):
            if not path.exists():
                temporary = path.with_suffix(f".{os.getpid()}.npy")
                try:
                    np.save(temporary, make())
                    temporary.replace(path)
                finally:
                    temporary.unlink(missing_ok=True)
    return np.load(path, mmap_mode="r")
