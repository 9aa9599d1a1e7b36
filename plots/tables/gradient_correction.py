"""Train and test R@1 of L_context with and without corrected gradients (tab:smalltable in the paper).

`python -m plots tables --only gradient_correction` makes it from the study of the same name.
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import TRAIN, Layout, recalls
from plots.tables._table import Table

KIND = "table"
STUDY = "gradient_correction"
LAYOUT = Layout(
    STUDY,
    (TRAIN, *recalls(1)),
    titles={"variant=full": "L_context", "variant=gradient_correction": "with gradient correction"},
    stub="Loss",
    note="Corrected: gradients of a distance whose sign disagrees with the label are dropped.",
)


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare(frame, results, LAYOUT)
