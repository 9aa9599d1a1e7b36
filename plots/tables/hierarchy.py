"""Fine R@1 and AP at each level of the label hierarchy (tab:hierarchicalmetrics in the paper).

`python -m plots tables --only hierarchy` makes it from the study of the same name. Levels are those of the
data set, as the evaluator names them ("test/mAP/order").
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare_each
from plots.tables._layout import Layout, Measure
from plots.tables._table import Table

KIND = "table"
STUDY = "hierarchy"
# What the paper calls each level. On Cars it says make, but its values fit body types: see the note.
PAPER = {
    "cub": {"family": "mid", "order": "coarse"},
    "cars": {"make": "", "body": "coarse"},
    "sop": {"category": "coarse"},
}
NOTES = {"cars": "The paper calls its coarse level make; its values fit body types, so they stand there."}
FINE = (
    Measure("test/R@1", "fine R@1", shaded=True),
    Measure("test/mAP", "fine AP"),
)


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare_each(frame, results, lambda dataset: _layout(frame, dataset), PAPER)


def _layout(frame: pd.DataFrame, dataset: str) -> Layout:
    runs = frame[frame["dataset"] == dataset]
    levels = [name.removeprefix("test/mAP/") for name in runs if name.startswith("test/mAP/")]
    levels = [name for name in levels if runs[f"test/mAP/{name}"].notna().any()]
    paper = PAPER.get(dataset, {})
    coarser = tuple(
        Measure(
            f"test/mAP/{level}",
            f"{level} AP",
            published=f"test/mAP/{paper[level]}" if paper.get(level) else "",
        )
        for level in dict.fromkeys([*paper, *levels])
    )
    return Layout(STUDY, FINE + coarser, note=NOTES.get(dataset, ""))
