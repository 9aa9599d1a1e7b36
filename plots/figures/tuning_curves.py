"""How much of a win is the tuning: score against learning rate, a panel per method and data set.

`python -m plots figures --only tuning_curves` makes it from the study `main`.
"""

import math
from typing import Any

import matplotlib.ticker
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from benchmark.errors import UserError
from benchmark.results.schema import LEDGER_COLUMNS
from benchmark.results.tuning_summary import rate_curves
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets
from plots.figures._drawing import PAGE, Drawing, figure, percent_axis
from plots.tables import _caption as caption

ACROSS = 5
MOST = 30  # panels that show one method each
LINES = {"test": "-", "validation": "--"}  # by protocol


@made_from("main")
def tuning_curves(frame: pd.DataFrame, results: Results) -> Drawing:
    trials = rate_curves(frame[list(LEDGER_COLUMNS)], results.runs)
    if trials.empty:
        raise UserError(f"study 'main' at scale {results.scale!r} was not tuned: there is nothing to draw")
    names = datasets(trials)
    by_dataset = {name: trials[trials["dataset"] == name] for name in names}
    panels = [(name, method) for name in names for method in style.ordered(by_dataset[name]["method"])]
    if len(panels) > MOST:  # then a panel shows all methods of a data set
        panels = [(name, "") for name in names]
    rows = math.ceil(len(panels) / ACROSS)
    made, axes = figure(rows, ACROSS, width=PAGE, height=1.25 * rows + 0.3, sharey=True)
    for axis, (dataset, method) in zip(axes.flat, panels, strict=False):
        _panel(axis, by_dataset[dataset], method)
        shown = [style.title(method)] if method else []
        axis.set_title(", ".join(shown + ([dataset] if len(names) > 1 else [])))
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    made.supxlabel("learning rate", fontsize=7.5)
    made.supylabel("R@1 that tuning saw (%)", fontsize=7.5)
    if not panels[0][1]:
        made.legend(handles=legend_entries(trials["method"]), loc="outside lower center", ncols=ACROSS)
    return Drawing(made, _caption(trials, results.scale, bool(panels[0][1])))


def legend_entries(methods: pd.Series) -> list[Line2D]:
    """Entries of a legend: the look of each method."""
    looks = [(style.title(name), style.look(name)) for name in style.ordered(methods)]
    return [Line2D([], [], color=look.colour, marker=look.marker, label=title) for title, look in looks]


def best_by_rate(trials: pd.DataFrame) -> pd.Series:
    """The best score at each rate, over whatever else was tuned."""
    return trials.dropna(subset=["score"]).groupby("lr")["score"].max()


def _panel(axis: Any, trials: pd.DataFrame, method: str) -> None:
    """One method in its colour, the others behind it in grey; without a method, all in their colours."""
    if method:
        first = trials[trials["protocol"] == trials["protocol"].iloc[0]]
        for _, rows in first[first["method"] != method].groupby("method"):
            line = best_by_rate(rows)
            axis.plot(line.index, line, color="0.85", linewidth=0.5, zorder=1)
    floor = trials["score"].min()
    mine = trials[trials["method"] == method] if method else trials
    for (name, protocol), rows in mine.groupby(["method", "protocol"]):
        colour, line = style.look(name).colour, best_by_rate(rows)
        axis.plot(line.index, line, LINES.get(protocol, ":"), color=colour, linewidth=1, zorder=2)
        chosen = rows[rows["chosen"].astype(bool)]
        star = {"color": colour, "markersize": 7 if method else 5, "markeredgewidth": 0, "zorder": 3}
        axis.plot(chosen["lr"], chosen["score"], "*", **star)
        if method:
            axis.plot(rows["lr"], rows["score"], "o", color=colour, markersize=1.8, zorder=2)
        lost = rows[rows["score"].isna()]
        axis.plot(lost["lr"], np.full(len(lost), floor), "x", color="black", markersize=3, zorder=3)
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(matplotlib.ticker.LogLocator(numticks=4))
    axis.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    percent_axis(axis.yaxis)


def _caption(trials: pd.DataFrame, scale: str, alone: bool) -> str:
    drawn = {"-": "solid", "--": "dashed", ":": "dotted"}
    protocols = [f"{drawn[LINES.get(name, ':')]} {name}" for name in sorted(trials["protocol"].unique())]
    words = [
        "The score that tuning maximises (R@1 on the classes of the protocol) against the learning rate.",
        "In colour the method of the panel (the line joins the best score at each rate, dots are all trials), "
        "in grey the others;"
        if alone
        else "A line joins the best score of a method at each rate;",
        f"protocols: {', '.join(protocols)}.",
        "Star: the rate that was chosen; cross: the trial diverged or failed. Mean over the tuning seeds, no band.",
    ]
    return " ".join([*words, caption.SCALES.get(scale, "")]).strip()
