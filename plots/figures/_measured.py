"""The tables that `python -m benchmark synthetic` and `python -m benchmark.bench` leave for the figures.

Made here they come before those in `results/reference/`, as runs do.
"""

from pathlib import Path

import pandas as pd

from benchmark.errors import UserError
from benchmark.shipped import reference


def read(results: Path, name: str) -> pd.DataFrame:
    """The table of a synthetic experiment."""
    return _read(results, f"synthetic/{name}.parquet", f"python -m benchmark synthetic {name}")


def read_bench(results: Path, area: str) -> pd.DataFrame:
    """The measurements of one area of the bench."""
    return _read(results, f"bench/{area}.parquet", f"make bench first, or python -m benchmark.bench {area}")


def _read(results: Path, file: str, command: str) -> pd.DataFrame:
    for path in (results / file, reference(results) / file):
        if path.is_file():
            try:
                return pd.read_parquet(path)
            except (OSError, ValueError) as problem:
                raise UserError(f"{path} cannot be read ({problem}); {command}") from None
    raise UserError(f"no {results / file} ({command})")
