"""R@1, 10, 100 and 1000 on SOP at embedding sizes 512 and 1536 (tab:main2 in the paper).

`python -m plots tables --only main_sop` makes it from the study of the same name.
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import Layout, recalls
from plots.tables._table import Table

KIND = "table"
STUDY = "main_sop"
LAYOUT = Layout(STUDY, recalls(1, 10, 100, 1000), sections=("embedding_dim",))


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare(frame, results, LAYOUT)
