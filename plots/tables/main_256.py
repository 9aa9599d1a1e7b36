"""R@k at 256 × 256 on CUB, Cars, SOP and mini-iNaturalist, with intervals (tab:main in the paper).

`python -m plots tables --only main_256` makes it from the study of the same name.
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare_each
from plots.tables._layout import Layout, recalls, usual_recalls
from plots.tables._table import Table

KIND = "table"
STUDY = "main_256"
PAPER = ("cub", "cars", "sop", "inat")


def _layout(dataset: str) -> Layout:
    columns = recalls(1, 10, 100) if dataset == "sop" else usual_recalls(dataset)
    return Layout(STUDY, columns)


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare_each(frame, results, _layout, PAPER)
