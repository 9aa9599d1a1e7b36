"""Trained on one data set, judged on another: R@1 of every method on every target, and its mean rank over them.

`python -m plots tables --only transfer` makes it from the study of the same name: one section a data set trained on, one
column a data set judged on.
"""

import pandas as pd

from benchmark.errors import UserError
from plots.catalogue import made_from
from plots.data import Results, datasets, final, finished, seeds_by
from plots.tables import _caption as caption
from plots.tables._cells import METRIC, marks, measured, section
from plots.tables._table import Cell, Column, Section, Table

CAPTION = (
    "R@1 on the test classes of the data set named above a column, in percent, mean ± half-width of the 95 % t-interval over "
    f"seeds; trained on the data set of the section. Bold: the best mean; {caption.SEPARABLE} "
    "Mean rank: over the targets that were not trained on, 1 is best."
)


@made_from("transfer")
def transfer(frame: pd.DataFrame, results: Results) -> list[Table]:
    runs = final(frame)
    runs = runs.assign(target=runs["judged_on"].where(runs["judged_on"].fillna("") != "", runs["dataset"]))
    found = [_table(str(protocol), part, results.scale) for protocol, part in runs.groupby("protocol", sort=True)]
    tables = [table for table in found if table.sections]
    if not tables:
        raise UserError("study 'transfer' has no finished runs (python -m benchmark run transfer)")
    return tables


def _table(protocol: str, runs: pd.DataFrame, scale: str) -> Table:
    sections: list[Section] = []
    for source in datasets(runs):
        cells: dict[str, dict[str, Cell]] = {}
        ranks = []
        for target, part in runs[runs["dataset"] == source].groupby("target"):
            scores = 100 * seeds_by(part, "method", METRIC)
            if source != target and len(scores):
                ranks.append(scores.mean().rank(ascending=False, method="min"))
            for method, marked in marks(scores).items():
                ids = part[part["method"] == method]["run_id"]
                cells.setdefault(str(method), {})[str(target)] = measured(scores[method], ids, **marked)
        for method, rank in pd.concat(ranks, axis=1).mean(axis=1).items() if ranks else ():
            cells[str(method)]["rank"] = Cell(float(rank))
        sections += section(f"trained on {source}", cells, dataset=source, protocol=protocol, scale=scale)
    targets = datasets(runs[["target"]].rename(columns={"target": "dataset"}))
    columns = (*(Column(name, name, "judged on", shaded=True) for name in targets), Column("rank", "mean rank"))
    words = f"Trained on one data set, judged on others: protocol {protocol}."
    made = caption.setting(finished(runs), ("crop_scale", "train_classes", "test_classes"))  # what data sets differ in
    end = filter(None, (CAPTION, made, caption.absent(runs), caption.scale(scale)))
    return Table("transfer", f"protocol {protocol}", columns, tuple(sections), (words, *end))
