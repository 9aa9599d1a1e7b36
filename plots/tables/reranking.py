"""R@1 without re-ranking and with contextual re-ranking at several k (tab:contextual-reranking).

`python -m plots tables --only reranking` makes it from the study of the same name.
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import Layout, Measure
from plots.tables._table import Table

KIND = "table"
STUDY = "reranking"
LAYOUT = Layout(
    STUDY,
    (
        Measure("test/R@1", "none"),
        *(Measure(f"rerank{k}/R@1", f"k = {k}", against="test/R@1") for k in (4, 16, 32)),
    ),
    note="Re-ranked by 0.9 exp(2s − 2) + 0.1 w; in brackets the change against no re-ranking.",
)


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare(frame, results, LAYOUT)
