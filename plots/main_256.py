"""R@k at 256 × 256 on CUB, Cars, SOP and mini-iNaturalist, with intervals (tab:main in the paper).

`python -m plots tables --only main_256` makes it from the study of the same name.
"""

import pandas as pd

from plots import frames
from plots.comparison import compare
from plots.frames import Results
from plots.layout import Layout, recalls
from plots.table import Table

KIND = "table"
STUDY = "main_256"
KS = {"cub": (1, 2, 4, 8), "cars": (1, 2, 4, 8), "sop": (1, 10, 100), "inat": (1, 4, 16, 32)}

OTHERS = (1, 2, 4, 8)


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    datasets = dict.fromkeys([*frames.datasets(frame), *KS])
    layouts = {dataset: Layout(STUDY, recalls(*KS.get(dataset, OTHERS))) for dataset in datasets}
    return [t for name, layout in layouts.items() for t in compare(frame, results, layout, [name])]
