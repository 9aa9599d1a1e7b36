"""Arrays that are computed once, chunk by chunk, by all processes that want them, and read memory-mapped.

Whoever needs an array takes the next chunk that nobody works at, until all are there. A finished chunk stays when its process
is killed, and what is in it does not depend on who computed it.
"""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.files import Claims, locked, replacing

POLL = 0.2  # seconds between looks at the chunks of others


@dataclass(frozen=True)
class ChunkedArray:
    path: Path  # .npy; there once every chunk is
    rows: int
    indices: np.ndarray  # rows that are computed, chunk by chunk; the others are zero and take no room
    size: int  # rows of a chunk
    about: dict[str, object]  # everything that the numbers depend on, kept beside them

    @property
    def _marks(self) -> Path:
        """A folder with a mark for each chunk that is done."""
        return self.path.with_suffix(".chunks")

    @property
    def _part(self) -> Path:
        return self.path.with_suffix(".part")

    @property
    def chunks(self) -> int:
        return -(-len(self.indices) // self.size)

    def done(self) -> int:
        """Rows that are computed so far."""
        if self.path.exists():
            return len(self.indices)
        marks = [int(mark.stem) for mark in self._marks.glob("*.done")]
        return sum(len(self._rows(chunk)) for chunk in marks)

    def array(self) -> np.ndarray:
        return np.load(self.path, mmap_mode="r")

    def fill(self, compute: Callable[[int, np.ndarray], np.ndarray]) -> None:
        """Computes chunks until all are there; `compute` gives the rows of a chunk, from its number and its indices."""
        while not self.path.exists():
            try:
                self._round(compute)
            except FileNotFoundError:  # another process has finished meanwhile and taken the marks away
                if not self.path.exists():
                    raise
        shutil.rmtree(self._marks, ignore_errors=True)

    def _round(self, compute: Callable[[int, np.ndarray], np.ndarray]) -> None:
        claims = Claims(self._marks / "claims")
        idle = True
        try:
            missing = [chunk for chunk in range(self.chunks) if not self._mark(chunk).exists()]
            for chunk in missing:
                if self.path.exists():  # the marks are gone, not the chunks
                    return
                if not claims.take(str(chunk)):
                    continue
                if not self._mark(chunk).exists() and not self.path.exists():
                    idle = False
                    self._write(chunk, compute(chunk, self._rows(chunk)))
                claims.release(str(chunk))
        finally:
            claims.close()
        if not missing:
            self._finish()
        elif idle:
            time.sleep(POLL)

    def _rows(self, chunk: int) -> np.ndarray:
        return self.indices[chunk * self.size : (chunk + 1) * self.size]

    def _mark(self, chunk: int) -> Path:
        return self._marks / f"{chunk}.done"

    def _write(self, chunk: int, rows: np.ndarray) -> None:
        with locked(self._marks / "lock"):
            if not self._part.exists():
                shape = (self.rows, *rows.shape[1:])
                with replacing(self._part) as temporary:
                    np.lib.format.open_memmap(temporary, mode="w+", dtype=rows.dtype, shape=shape).flush()
        out = np.load(self._part, mmap_mode="r+")
        out[self._rows(chunk)] = rows
        out.flush()  # the numbers before their mark
        self._mark(chunk).touch()

    def _finish(self) -> None:
        with locked(self.path.with_suffix(".lock")):
            if not self.path.exists():
                with replacing(self.path.with_suffix(".json")) as temporary:
                    temporary.write_text(json.dumps(self.about, indent=1) + "\n", encoding="utf-8")
                self._part.replace(self.path)
