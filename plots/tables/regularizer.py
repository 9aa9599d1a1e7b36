"""What the similarity regulariser does to each method: mAP, mAP@R, R@1 (tab:regsim-results in the paper).

`python -m plots tables --only regularizer` makes it from the study of the same name.
"""

import dataclasses

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import Layout, Measure
from plots.tables._table import Table

KIND = "table"
STUDY = "regularizer"
NOTE = "In brackets or coloured: the change against no regulariser, mean over shared seeds."


def _layout(metric: str) -> Layout:
    """A metric without the regulariser, and with it at two targets s̃, each with its change."""
    base = Measure(f"test/{metric}", f"{metric} without", where={"s_tilde": "none"}, shaded=metric == "R@1")
    targets = [
        dataclasses.replace(base, title=f"s̃ = {value}", where={"s_tilde": value}, against=base.key)
        for value in ("0.25", "0.3")
    ]
    return Layout(STUDY, (base, *targets), note=NOTE)


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    by_metric = [compare(frame, results, _layout(metric)) for metric in ("R@1", "mAP", "mAP@R")]
    return [
        dataclasses.replace(table, part=f"{table.part}, {metric}")
        for tables in zip(*by_metric, strict=True)
        for table, metric in zip(tables, ("R@1", "mAP", "mAP@R"), strict=True)
    ]
