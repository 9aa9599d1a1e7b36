"""R@1, 2, 4, 8 and mAP on CUB and Cars at embedding sizes 512 and 1536 (tab:main1 in the paper).

`python -m plots tables --only main_cub_cars` makes it from the study of the same name.
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import MAP, Layout, recalls
from plots.tables._table import Table

KIND = "table"
STUDY = "main_cub_cars"
LAYOUT = Layout(STUDY, (*recalls(1, 2, 4, 8), MAP), sections=("embedding_dim",))


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare(frame, results, LAYOUT)
