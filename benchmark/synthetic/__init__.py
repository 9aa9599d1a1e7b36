"""Small experiments that explain the loss instead of comparing methods: seconds on a CPU, no study, no tuning.

A module here is one experiment and one figure of the same name: its `table(data)` gives the columns that `plots/` draws.
`python -m benchmark synthetic` writes them as `results/synthetic/<name>.parquet`, whole or not at all, and skips what is there.
"""

import importlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmark import shipped
from benchmark.errors import unknown
from benchmark.files import replacing
from benchmark.spec import RECIPE

VERSIONS = {  # of each experiment: raise it when its numbers change
    "gradient_picture": 2,
    "inconsistent_labels": 1,
    "rolling_point": 1,
    "toy_circles": 1,
}
LETTERS = ("gradient_picture", "inconsistent_labels")  # made from the embedded data
KEY = b"benchmark.synthetic"


def key(name: str) -> dict[str, Any]:
    """Everything that an experiment's numbers depend on, without running or importing it.

    The letters of the embedded data are drawn from matplotlib's typefaces, hence its version.
    """
    if name not in VERSIONS:
        raise unknown("synthetic experiment", name, VERSIONS, "python -m benchmark synthetic --list")
    letters = version("matplotlib") if name in LETTERS else ""
    return {"name": name, "version": VERSIONS[name], "recipe": RECIPE, "letters": letters}


def make(name: str, results: Path, data: Path, again: bool = False) -> bool:
    """Write an experiment's table; False if it is there already, from the same code and inputs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    asked = key(name)
    path = results / "synthetic" / f"{name}.parquet"
    committed = shipped.reference(results) / "synthetic" / f"{name}.parquet"
    if not again and asked in (stored_key(path), stored_key(committed)):
        return False
    columns = importlib.import_module(f"benchmark.synthetic.{name}").table(data)
    said = {"benchmark.kind": "synthetic", KEY: json.dumps(asked, sort_keys=True)}  # the store passes it over
    with replacing(path) as temporary:
        pq.write_table(pa.table(columns).replace_schema_metadata(said), temporary, compression="zstd")
    return True


def stored_key(path: Path) -> dict[str, Any] | None:
    """The key that a file was made under, None if there is no such file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return json.loads(pq.read_schema(path).metadata[KEY])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None  # not there, damaged or not ours: it is made again
