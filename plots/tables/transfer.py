"""Trained on one data set, judged on another: R@1 of every method on every target, and its mean rank over them.

`python -m plots tables --only transfer` makes it from the study of the same name: one section a data set trained on, one
column a data set judged on.
"""

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, final, seeds_by
from plots.stats import separable, t_interval
from plots.tables import _caption as caption
from plots.tables._leaderboard import METRIC, known
from plots.tables._table import Cell, Column, Row, Section, Table

CAPTION = (
    "R@1 on the test classes of the data set named above a column, in percent, mean ± half-width of the 95 % t-interval over "
    f"seeds; trained on the data set of the section. Bold: the best mean; {caption.SEPARABLE} "
    "Mean rank: over the targets that were not trained on, 1 is best."
)


@made_from("transfer")
def transfer(frame: pd.DataFrame, results: Results) -> list[Table]:
    runs = final(frame)
    runs = runs.assign(target=runs["judged_on"].where(runs["judged_on"].fillna("") != "", runs["dataset"]))
    tables = []
    for protocol, part in runs.groupby("protocol", sort=True):
        table = _table(str(protocol), part, results.scale)
        tables += [table] if table else []
    if not tables:
        raise UserError("study 'transfer' has no finished runs (python -m benchmark run transfer)")
    return tables


def _table(protocol: str, runs: pd.DataFrame, scale: str) -> Table | None:
    sources = datasets(runs)
    targets = datasets(runs.drop(columns="dataset").rename(columns={"target": "dataset"}))
    cells: dict[str, dict[str, dict[str, Cell]]] = {source: {} for source in sources}
    ranks: dict[str, list[pd.Series]] = {source: [] for source in sources}
    for (source, target), part in runs.groupby(["dataset", "target"], sort=False):
        scores = 100 * seeds_by(part, "method", METRIC)
        if scores.empty:
            continue
        told = separable(scores)["separable"] if scores.shape[1] > 1 else pd.Series(False, scores.columns)
        best = scores.mean().idxmax()
        if source != target:
            ranks[str(source)].append(scores.mean().rank(ascending=False, method="min"))
        for method in scores:
            mean, mine = t_interval(scores[method].dropna()), part[part["method"] == method]
            cells[str(source)].setdefault(str(method), {})[str(target)] = Cell(
                mean.mean, known(mean.half), mean.n, best=method == best, tied=method != best and not told[method],
                run_ids=tuple(mine["run_id"]),
            )  # fmt: skip
    sections = []
    for source in sources:
        mean_ranks = pd.concat(ranks[source], axis=1).mean(axis=1) if ranks[source] else pd.Series(dtype=float)
        rows = []
        for method in style.ordered(cells[source]):
            rank = {"rank": Cell(float(mean_ranks[method]))} if method in mean_ranks else {}
            keys = {"dataset": source, "protocol": protocol, "scale": scale, "method": method}
            rows.append(Row(style.title(method), cells[source][method] | rank, keys))
        if rows:
            sections.append(Section(f"trained on {source}", tuple(rows)))
    if not sections:
        return None
    columns = (*(Column(name, name, "judged on", shaded=True) for name in targets), Column("rank", "mean rank"))
    words = f"Trained on one data set, judged on others: protocol {protocol}."
    done = runs[runs["status"] == "ok"]
    end = (CAPTION, caption.setting(done), caption.scale(scale))
    return Table("transfer", f"protocol {protocol}", columns, tuple(sections), (words, *end))
