"""Names of classes beside committed runs, so that tables and the page speak of them where the images are not at hand.

`archive` writes a file for each version of a data set, `<folder>/classes/<fingerprint>.parquet`: a list of names for each level.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.files import replacing


def write(folder: Path, fingerprint: str, names: tuple[tuple[str, ...], ...]) -> None:
    column = pa.array([list(level) for level in names], pa.list_(pa.string()))
    with replacing(_path(folder, fingerprint)) as temporary:
        pq.write_table(pa.table({"names": column}), temporary)


def read(folder: Path, fingerprint: str) -> tuple[tuple[str, ...], ...]:
    """(): none are known."""
    try:
        return tuple(tuple(level) for level in pq.read_table(_path(folder, fingerprint))["names"].to_pylist())
    except (OSError, KeyError, pa.ArrowException):
        return ()


def _path(folder: Path, fingerprint: str) -> Path:
    return folder / "classes" / f"{fingerprint}.parquet"
