"""Does newer mean better? All methods by their mean with intervals, and their mean by the year they were published.

`python -m plots figures --only newer_is_better` makes it from the study reality_check, under the protocol that chooses on
held-out classes where it was run.
"""

import numpy as np
import pandas as pd

import baselines
from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, final
from plots.figures._drawing import PAGE, Drawing, figure
from plots.figures._lines import close, seeds, spread
from plots.tables import _caption as caption
from plots.tables._table import signed
from plots.tables.leaderboard import Leaderboard, leaderboards

LOOKS = {"paper": ("#0173b2", "o"), "copied": ("#de8f05", "s"), "since": ("#029e73", "^"), "": ("#7f7f7f", "x")}
ROW = 0.145  # inches of height for a method


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
        runs = final(frame[(frame["dataset"] == name) & (frame["protocol"] == board.protocol)])
        _draw_ranking(left, board)
        told += [f"{name}, protocol {board.protocol}: {_draw_years(right, board)}", seeds(runs, "bars")]
        told += [caption.protocol(board.protocol, runs), caption.setting(runs[runs["status"] == "ok"])]
    told.append(caption.SCALES.get(results.scale, ""))
    return close(made, axes[0][0], 4, " ".join(told))


def _draw_ranking(axis, board: Leaderboard) -> None:
    order = board.ordered()
    for place, name in enumerate(order):
        mean, low, high = spread(board.scores[name].dropna())
        colour, marker = LOOKS[_card(name)[0]]
        axis.errorbar(
            mean, place, xerr=[[mean - low], [high - mean]], color=colour, marker=marker, markersize=3,
            elinewidth=0.8, capsize=1.5,
        )  # fmt: skip
    for group, (colour, marker) in LOOKS.items():
        if group:
            axis.errorbar([], [], color=colour, marker=marker, markersize=3, linestyle="", label=_words(group))
    labels = [f"{style.title(name)}  {_card(name)[1] or '    '}" for name in order]
    axis.set_yticks(range(len(order)), labels, fontsize=6)
    axis.set(ylim=(len(order) - 0.4, -0.6), xlabel="test R@1 (%)", title=f"{board.dataset}, protocol {board.protocol}")
    trained = [board.scores[name].mean() for name in order if _card(name)[0]]
    low, high = min(trained), max(trained)
    axis.set_xlim(low - 0.15 * (high - low) - 1, high + 0.15 * (high - low) + 1)  # untrained may lie outside


def _draw_years(axis, board: Leaderboard) -> str:
    """Draws mean by year and says how the two go together."""
    known = [(name, _card(name)[1]) for name in board.ordered() if _card(name)[1]]
    years = np.array([year for _, year in known], dtype=float)
    means = np.array([board.scores[name].mean() for name, _ in known])
    for (name, year), mean in zip(known, means, strict=True):
        colour, marker = LOOKS[_card(name)[0]]
        axis.plot(year, mean, marker, color=colour, markersize=4)
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


def _words(group: str) -> str:
    return {"paper": "trained in the paper", "copied": "copied by the paper", "since": "since"}[group]
