"""Robustness as one number: points of R@1 lost per 10 % of noise and per 10 classes withheld, per method.

`python -m plots tables --only robustness_slopes` makes it from every study that varies the noise or the
number of training classes (`studies/robustness.toml`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from benchmark.errors import UserError
from plots.catalogue import made_from
from plots.data import Results, datasets, final, seeds_by
from plots.stats import slopes
from plots.tables import _caption as caption
from plots.tables._cells import METRIC, marks, measured, section
from plots.tables._table import Cell, Column, Section, Table

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


Scores = dict[str, pd.DataFrame]  # method → percent by seed (rows) and level (columns, from the mildest on)


@made_from("", "robustness")
def robustness_slopes(results: Results) -> list[Table]:
    tables = []
    for study in results.studies():
        runs = final(results.frame(study))
        tables += [_table(study, name, runs[runs["dataset"] == name], results.scale) for name in datasets(runs)]
    tables = [table for table in tables if table.sections]
    if not tables:
        why = f"no study at scale {results.scale!r} varies the noise or the number of training classes"
        raise UserError(f"{why} ({results.command('robustness')})")
    return tables


def _table(study: str, dataset: str, runs: pd.DataFrame, scale: str) -> Table:
    columns: dict[str, Column] = {}
    sections: list[Section] = []
    for (protocol, setting), part in runs.groupby(["protocol", "setting"], sort=True):
        cells: dict[str, dict[str, Cell]] = {}
        for disturbance, rows, scores in disturbed(part):
            columns |= {column.key: column for column in _columns(disturbance, scores)}
            for name, of_method in _cells(disturbance, rows, scores).items():
                cells.setdefault(name, {}).update(of_method)
        place = f"protocol {protocol}, setting {setting}"
        sections += section(place, cells, dataset=dataset, protocol=str(protocol), scale=scale)
    levels = [f"{one.title} {', '.join(map(one.shown, _levels(scores)))}" for one, _, scores in disturbed(runs)]
    words = (f"Robustness of the methods of study {study}, data set {dataset}.", f"Levels: {'; '.join(levels)}.")
    end = (*CAPTION, caption.scale(scale))
    return Table(
        "robustness_slopes", f"{study}, {dataset}", (*columns.values(),), tuple(sections), (*words, *end), lead=2
    )


def _levels(scores: Scores) -> list[float]:
    return sorted({float(level) for table in scores.values() for level in table.columns})


def _ends(scores: Scores) -> tuple[float, float]:
    levels = _levels(scores)
    return levels[0], levels[-1]


def _columns(disturbance: Disturbance, scores: Scores) -> list[Column]:
    """The slope, and R@1 at both ends of the disturbance."""
    field, group = disturbance.field, disturbance.title
    ends = [Column(f"{field} {level:g}", f"R@1 at {disturbance.shown(level)}", group) for level in _ends(scores)]
    return [Column(field, f"lost per {disturbance.unit}", group, digits=2), *ends]


def _cells(disturbance: Disturbance, rows: pd.DataFrame, scores: Scores) -> dict[str, dict[str, Cell]]:
    """The same by the keys of their columns."""
    field = disturbance.field
    fitted = pd.DataFrame({name: slopes(levels, disturbance.per) for name, levels in scores.items()})
    marked, ends = marks(fitted.dropna(axis=1, how="all")), _ends(scores)
    cells: dict[str, dict[str, Cell]] = {}
    for name, levels in scores.items():
        mine = rows[rows["method"] == name]
        cells[name] = {
            f"{field} {level:g}": measured(values, mine[mine[field] == level]["run_id"])
            for level, values in levels.items()
            if level in ends
        }
        if name in marked:
            cells[name][field] = measured(-fitted[name], mine["run_id"], **marked[name])
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
