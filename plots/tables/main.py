"""The main table: every method of the study, tuned alike, per data set and selection protocol.

`python -m plots tables --only main` makes it from the study of the same name (`studies/main.toml`).
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare_each
from plots.tables._layout import MAP, MAP_AT_R, TRAIN, Layout, usual_recalls
from plots.tables._table import Table

KIND = "table"
STUDY = "main"


def _layout(dataset: str) -> Layout:
    return Layout(
        STUDY,
        (*usual_recalls(dataset), MAP, MAP_AT_R, TRAIN),
        extras=("lr", "tuned", "trials", "seeds"),
        note="Train R@1 is that of the chosen epoch; untrained is the network before training.",
    )


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare_each(frame, results, _layout)
