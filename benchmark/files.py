"""A lock between processes, for files that many workers want and one must make: packs, frozen features."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark.errors import UserError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock at `path`; the system frees it when its holder is killed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise UserError(
            f"cannot write to {str(path.parent)!r} ({error.strerror}); point --data to a folder that can be "
            "written (a CSV and its images may lie elsewhere)"
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
