"""The gathered runs: the rows of all files in `results/runs/` in one file, so that thousands are read as one.

Derived and checked against size and time of every file, so it is never wrong and deleting it loses nothing.
`Store` reads through it; the runner brings it up to date when it has stored many runs.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.results.schema import Foreign, read_file, schema, write_table

if TYPE_CHECKING:
    import pyarrow as pa

Stamp = tuple[int, int]  # size and time of a file


def stamps(runs: Path) -> dict[str, Stamp]:
    """run_id → stamp of every file of a run, in one pass over the folder."""
    if not runs.is_dir():
        return {}
    found = {}
    with os.scandir(runs) as entries:
        for entry in entries:
            if entry.name.endswith(".parquet") and not entry.name.startswith("."):
                about = entry.stat()
                found[entry.name.removesuffix(".parquet")] = (about.st_size, about.st_mtime_ns)
    return found


def read(path: Path, current: Mapping[str, Stamp], columns: list[str]) -> "pa.Table | None":
    """The gathered rows whose files are as they were; None if there are none. `columns` has the run_id."""
    import pyarrow as pa

    try:
        table = read_file(path, "gathered", [*columns, "size", "modified"])
    except (FileNotFoundError, Foreign):  # of another version: it is made again
        return None
    if table is None:
        return None
    keys = zip(*(table[name].to_pylist() for name in ("run_id", "size", "modified")), strict=True)
    valid = [current.get(run_id) == (size, modified) for run_id, size, modified in keys]
    if not all(valid):  # pyarrow loads pandas to make an array of a list, which takes half a second
        table = table.filter(pa.array(valid, pa.bool_()))
    return table.select(columns)


def write(path: Path, current: Mapping[str, Stamp], rows: "pa.Table") -> None:
    """Gathers `rows`; `current` has to be older than they are."""
    import pyarrow as pa

    known = [current.get(run_id, (0, 0)) for run_id in rows["run_id"].to_pylist()]
    table = rows
    for i, name in enumerate(("size", "modified")):
        table = table.append_column(name, pa.array([stamp[i] for stamp in known], pa.int64()))
    write_table(path, table.cast(schema("gathered")))
