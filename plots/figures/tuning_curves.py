"""How much of a win is the tuning: score against learning rate, a panel per method and data set.

Of a random search also the expected best score against the number of trials; a grid has no such curve, since
its points are not exchangeable. `python -m plots figures --only tuning_curves` makes it from the study `main`.
"""

import math
from collections.abc import Iterable
from typing import Any

import matplotlib.ticker
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from scipy.special import gammaln

from benchmark.errors import UserError
from benchmark.planning import study
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
    random = sampler(results.scale) == "random"
    places = len(panels) + (len(names) if random else 0)
    rows = math.ceil(places / ACROSS)
    made, axes = figure(rows, ACROSS, width=PAGE, height=1.25 * rows + 0.3, sharey=not random)
    for axis, (dataset, method) in zip(axes.flat, panels, strict=False):
        _panel(axis, by_dataset[dataset], method)
        shown = [style.title(method)] if method else []
        axis.set_title(", ".join(shown + ([dataset] if len(names) > 1 else [])))
    if random:
        for axis, dataset in zip(axes.flat[len(panels) :], names, strict=False):
            _budget(axis, by_dataset[dataset])
            axis.set_title(f"best of so many, {dataset}")
    for axis in axes.flat[places:]:
        axis.set_axis_off()
    made.supxlabel("learning rate", fontsize=7.5)
    made.supylabel("R@1 that tuning saw (%)", fontsize=7.5)
    if not panels[0][1]:
        made.legend(handles=legend_entries(trials["method"]), loc="outside lower center", ncols=ACROSS)
    return Drawing(made, _caption(trials, results.scale, random, bool(panels[0][1])))


def legend_entries(methods: pd.Series) -> list[Line2D]:
    """Entries of a legend: the look of each method."""
    looks = [(style.title(name), style.look(name)) for name in style.ordered(methods)]
    return [Line2D([], [], color=look.colour, marker=look.marker, label=title) for title, look in looks]


def sampler(scale: str) -> str:
    """How the trials were drawn, as the study says it; unknown where its file is gone."""
    try:
        tuning = study.load("main", scale).tuning
    except UserError:
        return ""
    return tuning.sampler if tuning else ""


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


def _budget(axis: Any, trials: pd.DataFrame) -> None:
    for method in style.ordered(trials["method"]):
        look = style.look(method)
        for protocol, rows in trials[trials["method"] == method].groupby("protocol"):
            best = expected_best(rows.sort_values("trial")["score"])
            line = LINES.get(protocol, ":")
            axis.plot(np.arange(1, len(best) + 1), best, line, color=look.colour, linewidth=0.9)
    axis.set_xlabel("trials")
    percent_axis(axis.yaxis)


def expected_best(scores: Iterable[float]) -> np.ndarray:
    """E[best of k trials] for k = 1 … N, unbiased: the mean over all k-subsets, without enumerating them.

    The i-th smallest of N is the best of a k-subset in C(i−1, k−1) of C(N, k) cases. A failed trial is −inf
    or NaN and counts as a trial that scores the worst seen.
    """
    x = np.asarray(list(scores), dtype=float)
    if len(x) == 0 or not np.isfinite(x).any():
        return np.full(len(x), np.nan)
    x = np.sort(np.where(np.isfinite(x), x, x[np.isfinite(x)].min()))
    n = len(x)
    i, k = np.arange(1, n + 1)[None, :], np.arange(1, n + 1)[:, None]  # (1, n), (n, 1)

    def log_choose(top: np.ndarray | int, bottom: np.ndarray) -> np.ndarray:
        return gammaln(np.add(top, 1)) - gammaln(bottom + 1) - gammaln(np.subtract(top, bottom) + 1)

    possible = i >= k
    weights = np.exp(log_choose(np.where(possible, i - 1, k - 1), k - 1) - log_choose(n, k))
    return np.where(possible, weights, 0.0) @ x


def _caption(trials: pd.DataFrame, scale: str, random: bool, alone: bool) -> str:
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
    if random:
        words.append(
            "Best of so many: the expected best score after so many trials of the random search, unbiased."
        )
    return " ".join([*words, caption.SCALES.get(scale, "")]).strip()
