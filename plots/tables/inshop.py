"""R@1, 10, 20, 30, 40 and 50 on In-Shop, queries against a gallery (tab:inshop-results in the paper).

`python -m plots tables --only inshop` makes it from the study of the same name.
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import Layout, recalls
from plots.tables._table import Table

KIND = "table"
STUDY = "inshop"
LAYOUT = Layout(STUDY, recalls(1, 10, 20, 30, 40, 50))


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare(frame, results, LAYOUT)
