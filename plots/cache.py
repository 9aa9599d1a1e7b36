"""What was made last time, and from what: the same results and code again need no second making.

`python -m plots` keeps its output in `results/cache/`; deleting that loses nothing. A changed run, ledger, number of
the paper, source file or library, or a table that was edited or deleted, and everything is made again.
"""

import hashlib
import io
import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

from benchmark.files import replacing
from benchmark.shipped import PUBLISHED, STUDIES, reference

CODE = Path(__file__).parents[1]
SOURCES = ("plots/**/*.py", "benchmark/**/*.py", "baselines/*.py")
READ = ("runs/*.parquet", "studies/*/*.parquet", "bench/*.parquet", "synthetic/*.parquet")
LIBRARIES = ("matplotlib", "numpy", "pandas", "pyarrow", "scipy", "seaborn")


@dataclass(frozen=True)
class Cache:
    """What one command printed and wrote in a results folder."""

    root: Path
    name: str  # of the command: what and scale
    data: Path = Path("data")  # whose images are shown, where they are found

    @property
    def path(self) -> Path:
        return self.root / "cache" / f"plots-{self.name}.json"

    def find(self) -> tuple[str, str] | None:
        """What was printed and what was warned of, if making it again would change nothing."""
        try:
            told = json.loads(self.path.read_text(encoding="utf-8"))
            same = told["state"] == self.state() and told["files"] == _stamps(map(Path, told["files"]))
            return (told["printed"], told["warned"]) if same else None
        except (OSError, ValueError, KeyError, TypeError):  # never made, or by another version
            return None

    def keep(self, state: str, printed: str, warned: str, files: list[Path]) -> None:
        """`state` is that of before the making: what changed meanwhile is seen next time."""
        told = {"state": state, "printed": printed, "warned": warned, "files": _stamps(files)}
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(told), encoding="utf-8")

    def state(self) -> str:
        """A hash of everything that tables and figures are made from."""
        places = [path for pattern in SOURCES for path in CODE.glob(pattern)]
        places += [*STUDIES.glob("*.toml"), *PUBLISHED.glob("*.csv"), *reference(self.root).glob("**/*.parquet")]
        places += [path for pattern in READ for path in self.root.glob(pattern)]
        places += self.data.iterdir() if self.data.is_dir() else []
        told = [sys.version, [version(name) for name in LIBRARIES], _stamps(sorted(places))]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _stamps(paths: Iterable[Path]) -> dict[str, list[int]]:
    """Size and time of each file that is there."""
    found = {}
    for path in paths:
        with suppress(FileNotFoundError):
            about = path.stat()
            found[str(path)] = [about.st_size, about.st_mtime_ns]
    return found


class Copied(io.TextIOBase):
    """A stream that also remembers what was written to it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.text: list[str] = []

    def write(self, text: str) -> int:
        self.text.append(text)
        return self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()
