"""mAP and mAP@R of the runs at 256 × 256, with intervals (tab:AP-results in the paper).

`python -m plots tables --only average_precision` makes it from the study of the same name.
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import MAP, MAP_AT_R, Layout
from plots.tables._table import Table

KIND = "table"
STUDY = "average_precision"
LAYOUT = Layout(STUDY, (MAP, MAP_AT_R))


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare(frame, results, LAYOUT)
