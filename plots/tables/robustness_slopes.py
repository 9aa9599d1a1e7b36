"""Robustness as one number: points of R@1 lost per 10 % of noise and per 10 classes withheld, per method.

`python -m plots tables --only robustness_slopes` makes it from every study that varies the noise or the
number of training classes (`studies/robustness.toml`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, final, seeds_by
from plots.stats import separable, slopes, t_interval
from plots.tables import _caption as caption
from plots.tables._leaderboard import METRIC, known
from plots.tables._table import Cell, Column, Row, Section, Table

CAPTION = (
    "Points of R@1 lost, mean ± half-width of the 95 % t-interval over seeds: a straight line is fitted within "
    f"each seed over all levels. Bold: the smallest loss; {caption.SEPARABLE} "
    "A line is a summary, not a law: see the figure for the levels.",
)


@dataclass(frozen=True)
class Disturbance:
    field: str  # of a RunSpec
    title: str
    per: float
    unit: str

    def shown(self, level: float) -> str:
        return f"{-level:g} classes" if self.field == "train_classes" else f"{100 * level:g} %"


DISTURBANCES = (
    Disturbance("label_noise", "label noise", 0.1, "10 %"),
    Disturbance("image_noise", "image noise", 0.1, "10 %"),
    Disturbance("train_classes", "classes withheld", 10.0, "10 classes"),
)


@made_from("", "robustness")
def robustness_slopes(results: Results) -> list[Table]:
    tables = []
    for study in results.studies():
        runs = final(results.frame(study))
        for dataset in datasets(runs):
            table = _table(study, dataset, runs[runs["dataset"] == dataset], results.scale)
            tables += [table] if table else []
    if not tables:
        raise UserError(
            f"no study at scale {results.scale!r} varies the noise or the number of training classes "
            f"({results.command('robustness')})"
        )
    return tables


def _table(study: str, dataset: str, runs: pd.DataFrame, scale: str) -> Table | None:
    columns: dict[str, Column] = {}
    sections = []
    for (protocol, setting), part in runs.groupby(["protocol", "setting"], sort=True):
        cells: dict[str, dict[str, Cell]] = {name: {} for name in style.ordered(part["method"])}
        for disturbance, rows, scores in disturbed(part):
            made = _columns(disturbance, scores)
            columns |= {column.key: column for column in made}
            for name, of_method in _cells(disturbance, rows, scores, made).items():
                cells[name] |= of_method
        keys = {"dataset": dataset, "protocol": str(protocol), "scale": scale}
        filled = [Row(style.title(n), c, keys | {"method": n}) for n, c in cells.items() if c]
        if filled:
            sections.append(Section(f"protocol {protocol}, setting {setting}", tuple(filled)))
    if not sections:
        return None
    words = (f"Robustness of the methods of study {study}, data set {dataset}.", *_levels(runs))
    footer = (*CAPTION, caption.scale(scale))
    part_ = f"{study}, {dataset}"
    return Table("robustness_slopes", part_, tuple(columns.values()), tuple(sections), (*words, *footer))


Scores = dict[str, pd.DataFrame]  # method → percent by seed (rows) and level (columns, from the mildest on)


def _columns(disturbance: Disturbance, scores: Scores) -> list[Column]:
    """The slope, and R@1 at both ends of the disturbance."""
    levels = sorted({float(level) for table in scores.values() for level in table.columns})
    made = [Column(disturbance.field, f"lost per {disturbance.unit}", disturbance.title, digits=2)]
    for level in (levels[0], levels[-1]):
        title = f"R@1 at {disturbance.shown(level)}"
        made.append(Column(f"{disturbance.field} {level:g}", title, disturbance.title))
    return made


def _cells(
    disturbance: Disturbance, rows: pd.DataFrame, scores: Scores, columns: list[Column]
) -> dict[str, dict[str, Cell]]:
    fitted = pd.DataFrame({name: slopes(levels, disturbance.per) for name, levels in scores.items()})
    fitted = fitted.dropna(axis=1, how="all")
    compared = fitted.shape[1] > 1
    told = separable(fitted)["separable"] if compared else pd.Series(dtype=bool)
    best = fitted.mean().idxmax() if compared else None
    cells: dict[str, dict[str, Cell]] = {}
    for name, levels in scores.items():
        mine = rows[rows["method"] == name]
        cells[name] = {}
        if name in fitted:
            slope = t_interval(fitted[name].dropna())
            tied = compared and name != best and not told[name]
            cells[name][disturbance.field] = Cell(
                -slope.mean, known(slope.half), slope.n,
                best=name == best, tied=tied, run_ids=tuple(mine["run_id"]),
            )  # fmt: skip
        for level, values in levels.items():
            mean = t_interval(values.dropna())
            ids = tuple(mine[mine[disturbance.field] == level]["run_id"])
            cell = Cell(mean.mean, known(mean.half), mean.n, run_ids=ids)
            cells[name] |= {c.key: cell for c in columns if c.key == f"{disturbance.field} {level:g}"}
    return cells


def disturbed(runs: pd.DataFrame) -> Iterator[tuple[Disturbance, pd.DataFrame, Scores]]:
    """Of each disturbance that is varied: its runs and the scores of every method."""
    done = runs[runs["status"] == "ok"]
    for disturbance in DISTURBANCES:
        field = disturbance.field
        if done.empty or done[field].nunique() < 2:
            continue
        rows = done
        for other in (d.field for d in DISTURBANCES if d.field != field):
            rows = rows[rows[other] == _mildest(done, other)]  # one disturbance at a time
        if field == "train_classes":
            rows = rows[rows[field] >= 1]  # shares and 0 (all) do not say how many classes there are
            rows = rows.assign(**{field: -rows[field]})  # a slope upwards is one with classes withheld
        scores = {name: 100 * seeds_by(part, field, METRIC) for name, part in rows.groupby("method")}
        scores = {str(name): levels for name, levels in scores.items() if levels.shape[1] > 1}
        if scores:
            yield disturbance, rows, scores


def _mildest(runs: pd.DataFrame, field: str) -> float:
    """The value without a disturbance: no noise, all the classes there are."""
    values = runs[field].unique()
    if field != "train_classes":
        return values.min()
    return 0 if 0 in values else values.max()


def _levels(runs: pd.DataFrame) -> list[str]:
    found = []
    for disturbance, _, scores in disturbed(runs):
        levels = sorted({level for table in scores.values() for level in table.columns})
        found.append(f"{disturbance.title} {', '.join(map(disturbance.shown, levels))}")
    return [f"Levels: {'; '.join(found)}."] if found else []
