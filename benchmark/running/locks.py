"""Claims: two drivers on one results folder never do the same run at the same time.

A claim is a locked file, `results/claims/<run_id>`; the kernel releases it when its driver dies, however
that happens.
"""

import fcntl
import os
from pathlib import Path

from benchmark.errors import UserError


class Claims:
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
            except BlockingIOError:
                os.close(descriptor)
                return False
            except OSError as problem:
                os.close(descriptor)
                raise UserError(
                    f"{self.folder} is on a file system that cannot lock files ({problem.strerror}); "
                    "choose another one with --results DIR"
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
