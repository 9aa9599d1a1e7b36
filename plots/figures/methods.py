"""All methods side by side: their scores by learning rate, and their means by rank and by year.

`python -m plots figures --only tuning_curves` makes the first from the study `main`; newer_is_better is made from the study
reality_check, under the protocol that chooses on held-out classes where it was run.
"""

import math
from typing import Any

import matplotlib.ticker
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

import baselines
from benchmark.errors import UserError
from benchmark.results.schema import LEDGER_COLUMNS
from benchmark.results.tuning_summary import rate_curves
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, final, finished, where
from plots.figures._drawing import PAGE, Drawing, figure, percent_axis
from plots.figures._lines import close, seeds, spread
from plots.tables import _caption as caption
from plots.tables._table import signed
from plots.tables.leaderboard import Leaderboard, leaderboards

ACROSS = 5
MOST = 30  # panels that show one method each
LINES = {"test": ("-", "solid"), "validation": ("--", "dashed")}  # by protocol
OTHER = (":", "dotted")
GROUPS = {  # of methods: colour, mark, words
    "paper": ("#0173b2", "o", "trained in the paper"),
    "copied": ("#de8f05", "s", "copied by the paper"),
    "since": ("#029e73", "^", "since"),
    "": ("#7f7f7f", "x", ""),
}
ROW = 0.145  # inches of height for a method


@made_from("main")
def tuning_curves(frame: pd.DataFrame, results: Results) -> Drawing:
    """How much of a win is the tuning: score against learning rate, a panel per method and data set."""
    trials = rate_curves(frame[list(LEDGER_COLUMNS)], results.runs)
    if trials.empty:
        raise UserError(f"study 'main' at scale {results.scale!r} was not tuned: there is nothing to draw")
    names = datasets(trials)
    panels = [(name, method) for name in names for method in style.ordered(where(trials, dataset=name)["method"])]
    alone = len(panels) <= MOST
    if not alone:  # then a panel shows all methods of a data set
        panels = [(name, "") for name in names]
    rows = math.ceil(len(panels) / ACROSS)
    made, axes = figure(rows, ACROSS, width=PAGE, height=1.25 * rows + 0.3, sharey=True)
    for axis, (dataset, method) in zip(axes.flat, panels, strict=False):
        _draw_trials(axis, where(trials, dataset=dataset), method)
        shown = [style.title(method)] if method else []
        axis.set_title(", ".join(shown + ([style.place(dataset)] if len(names) > 1 else [])))
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    made.supxlabel("learning rate", fontsize=7.5)
    made.supylabel("R@1 that tuning saw (%)", fontsize=7.5)
    if not alone:
        handles = [Line2D([], [], **style.line(name)) for name in style.ordered(trials["method"])]
        made.legend(handles=handles, loc="outside lower center", ncols=ACROSS)
    protocols = [f"{LINES.get(name, OTHER)[1]} {name}" for name in sorted(trials["protocol"].unique())]
    line = "A line joins the best score of a method at each rate"
    if alone:
        dots = "the line joins the best score at each rate, dots are all trials"
        line = f"In colour the method of the panel ({dots}), in grey the others"
    told = (
        "The score that tuning maximises (R@1 on the classes of the protocol) against the learning rate. "
        f"{line}; protocols: {', '.join(protocols)}. Star: the rate that was chosen; cross: the trial diverged or failed. "
        f"Mean over the tuning seeds, no band. {caption.SCALES.get(results.scale, '')}"
    )
    return Drawing(made, told.strip())


def _best_by_rate(trials: pd.DataFrame) -> pd.Series:
    """The best score at each rate, over whatever else was tuned."""
    return trials.dropna(subset=["score"]).groupby("lr")["score"].max()


def _draw_trials(axis: Any, trials: pd.DataFrame, method: str) -> None:
    """One method in its colour, the others behind it in grey; without a method, all in their colours."""
    if method:
        first = where(trials, protocol=trials["protocol"].iloc[0])
        for _, rows in first[first["method"] != method].groupby("method"):
            line = _best_by_rate(rows)
            axis.plot(line.index, line, color="0.85", linewidth=0.5, zorder=1)
    floor = trials["score"].min()
    mine = where(trials, method=method) if method else trials
    for (name, protocol), rows in mine.groupby(["method", "protocol"]):
        colour, line = style.look(name).colour, _best_by_rate(rows)
        axis.plot(line.index, line, LINES.get(protocol, OTHER)[0], color=colour, linewidth=1, zorder=2)
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


@made_from("reality_check")
def newer_is_better(frame: pd.DataFrame, results: Results) -> Drawing:
    """All methods by mean with intervals, and by year: does newer mean better under equal tuning?"""
    boards = {board.dataset: board for board in sorted(leaderboards(frame), key=lambda board: board.protocol)}
    if not boards:
        command = results.command("reality_check")
        raise UserError(f"study 'reality_check' has no two methods with finished runs ({command})")
    names = [name for name in datasets(frame) if name in boards]
    most = max(board.scores.shape[1] for board in boards.values())
    made, axes = figure(len(names), 2, width=PAGE, height=len(names) * (0.9 + ROW * most), width_ratios=(3, 2))
    told = [caption.first_sentence("reality_check", results.scale)]
    told.append("Left: all methods, best first. Right: the same means by year of publication.")
    for (left, right), name in zip(axes, names, strict=True):
        board = boards[name]
        runs = where(final(frame), dataset=name, protocol=board.protocol)
        _draw_ranking(left, board)
        told += [f"{style.place(name)}, protocol {board.protocol}: {_draw_years(right, board)}", seeds(runs, "bars")]
        told += [caption.protocol(board.protocol, runs), caption.setting(finished(runs)), caption.absent(runs)]
    told.append(caption.SCALES.get(results.scale, ""))
    return close(made, 4, " ".join(filter(None, told)))


def _draw_ranking(axis: Any, board: Leaderboard) -> None:
    order = board.ordered()
    for place, name in enumerate(order):
        mean, low, high = spread(board.scores[name].dropna())
        ends = [[mean - low], [high - mean]]
        axis.errorbar(mean, place, xerr=ends, **_mark(name), markersize=3, elinewidth=0.8, capsize=1.5)
    for colour, marker, label in GROUPS.values():
        if label:
            axis.errorbar([], [], color=colour, marker=marker, markersize=3, linestyle="", label=label)
    labels = [f"{style.title(name)}  {_card(name)[1] or '    '}" for name in order]
    axis.set_yticks(range(len(order)), labels, fontsize=6)
    axis.set(
        ylim=(len(order) - 0.4, -0.6),
        xlabel="test R@1 (%)",
        title=style.place(f"{board.dataset}, protocol {board.protocol}"),
    )
    trained = [board.scores[name].mean() for name in order if _card(name)[0]]
    low, high = min(trained), max(trained)
    axis.set_xlim(low - 0.15 * (high - low) - 1, high + 0.15 * (high - low) + 1)  # untrained may lie outside


def _draw_years(axis: Any, board: Leaderboard) -> str:
    """Draws mean by year and says how the two go together."""
    known = {name: year for name in board.ordered() if (year := _card(name)[1])}
    years = np.array(list(known.values()), dtype=float)
    means = np.array([board.scores[name].mean() for name in known])
    for name, year, mean in zip(known, years, means, strict=True):
        axis.plot(year, mean, **_mark(name), linestyle="", markersize=4)
    axis.set(xlabel="year of publication", ylabel="test R@1 (%)")
    if len(known) < 3:
        return "too few methods to say whether newer is better."
    from scipy.stats import linregress, spearmanr

    rank, line = spearmanr(years, means), linregress(years, means)
    ends = np.array([years.min(), years.max()])
    axis.plot(ends, line.intercept + line.slope * ends, color="0.5", linewidth=0.8, zorder=1)
    return (
        f"rank correlation of year and mean over {len(known)} methods {signed(rank.statistic, 2)} "
        f"(p = {rank.pvalue:.2g}), {signed(line.slope, 2)} points a year."
    )


def _card(name: str) -> tuple[str, int | None]:
    """Group and year; no group: nothing is trained, or the file is gone."""
    try:
        card = baselines.card(name)
    except UserError:
        return "", None
    return (card.group, card.year) if card.trains else ("", None)


def _mark(name: str) -> dict[str, str]:
    colour, marker, _ = GROUPS[_card(name)[0]]
    return {"color": colour, "marker": marker}
