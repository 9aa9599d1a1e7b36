"""The paper's own numbers: every value of its ten tables, from `results/published/*.csv`, one file per table.

Tables put them beside ours (`_comparison.py`). Values are percent, as printed; `variant` is "key=value;…" of
the study's [vary] keys; provenance says whether the paper reproduced a number itself or copied it. One more file,
`claimed.csv`, holds what the authors of each method claim, with backbone and dimensions, for the reality check.
"""

from functools import cache
from pathlib import Path

import pandas as pd

from benchmark.errors import unknown
from benchmark.shipped import PUBLISHED

CLAIMED = "claimed"


def names(folder: Path = PUBLISHED) -> list[str]:
    """The tables there are, by the names that studies and modules of `plots/` have."""
    return sorted(path.stem for path in folder.glob("*.csv") if path.stem != CLAIMED)


@cache
def _read(path: Path) -> pd.DataFrame:
    text = ["table", "dataset", "method", "title", "variant", "metric", "provenance", "source", "note"]
    frame = pd.read_csv(
        path, dtype=dict.fromkeys(text, str), na_values={"spread": "", "trials": ""}, keep_default_na=False
    )
    return frame.astype({"value": float, "spread": float, "trials": "Int64"})


def load(table: str | None = None, folder: Path = PUBLISHED, **wanted: str) -> pd.DataFrame:
    """The rows in which every column that is named has the value wanted, in the paper's order."""
    if table is not None and table not in names(folder):
        raise unknown("published table", table, names(folder), "results/published/")
    tables = names(folder) if table is None else [table]
    frame = pd.concat([_read(folder / f"{name}.csv") for name in tables], ignore_index=True)
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    return frame.reset_index(drop=True)


def claimed(folder: Path = PUBLISHED) -> pd.DataFrame:
    """What authors claim, as printed: one row a method and data set."""
    path = folder / f"{CLAIMED}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)
