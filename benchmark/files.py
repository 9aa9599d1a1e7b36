"""Files that many processes share: the one atomic writer, locks, claims on runs, and arrays that are made once."""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import UserError

if TYPE_CHECKING:
    import numpy as np


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path whose content takes the place of `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def kept_array(path: Path, make: "Callable[[], np.ndarray]") -> "np.ndarray":
    """The array at `path`, memory-mapped and shared by all workers; made first if it is not there."""
    import numpy as np

    if not path.exists():
        with locked(path.with_suffix(".lock")):
            if not path.exists():  # another process may have made it while this one waited
                save_array(path, make())
    return np.load(path, mmap_mode="r")


def save_array(path: Path, array: "np.ndarray") -> None:
    """It appears whole or not at all."""
    import numpy as np

    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, array)


def content_hash(path: Path) -> str:
    """Of a file's bytes; asked again it is remembered, unless the file has changed."""
    about = path.stat()
    return _hashed(path.absolute(), about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _hashed(path: Path, modified: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


@contextlib.contextmanager
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


class Claims:
    """Two drivers on one folder never do the same thing at the same time: a claim is a locked file in it.

    The kernel releases it when its holder dies, however that happens.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.held: dict[str, int] = {}  # run_id → file descriptor
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, run_id: str) -> bool:
        """True if the run is ours now, False if another driver has it."""
        path = self.folder / run_id
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as problem:
                os.close(descriptor)
                if isinstance(problem, BlockingIOError):
                    return False
                raise UserError(
                    f"{self.folder} is on a file system that cannot lock files ({problem.strerror}); "
                    "choose another one with --results DIR or --data DIR"
                ) from None
            if _is_file(path, descriptor):
                self.held[run_id] = descriptor
                return True
            os.close(descriptor)  # the former holder removed the file between our open and our lock

    def release(self, run_id: str) -> None:
        descriptor = self.held.pop(run_id)
        (self.folder / run_id).unlink(missing_ok=True)  # while it is still locked
        os.close(descriptor)

    def close(self) -> None:
        for run_id in list(self.held):
            self.release(run_id)


def _is_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
