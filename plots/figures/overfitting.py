"""Test R@1 against train R@1 over training: a path per method on each data set and in each regime, and a path per λ.

A method with a high test R@1 at a low train R@1 generalises; one that moves right without rising overfits.
`python -m plots figures --only overfitting` makes the first from the study `main`, protocol test.
"""

import math
from typing import Any

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, final, finished, where
from plots.figures._drawing import COLUMN, PAGE, Drawing, figure, percent_axis
from plots.figures._lines import LAM, close, curves, final_runs, lam_lines, panels, settings, spread, words
from plots.tables import _caption as caption

X, Y = "train/R@1", "test/R@1"
REGIMES = {  # title → study and scale
    "letters, from scratch": ("main", "laptop"),
    "CUB, frozen": ("main", "photos"),
    "CUB, last stage": ("fine_tuning", "photos"),
}


@made_from("main")
def overfitting(frame: pd.DataFrame, results: Results) -> Drawing:
    """Test R@1 against train R@1 over training, one panel per data set (greyedout_lambda in the paper)."""
    runs = where(final(frame), protocol="test")  # only there is the test R@1 measured during training
    points = _looks(runs)
    if points.empty:
        raise UserError("study 'main' has no finished run with train and test R@1 over epochs")
    means = (
        points[points["method"] != "untrained"].groupby(["dataset", "method", "epoch"], as_index=False)[[X, Y]].mean()
    )
    # All methods rise alike at first and differ at the end, which is what the figure is about.
    means = means[means["epoch"] > means.groupby("dataset")["epoch"].transform("max") / 5]
    names = datasets(means)
    columns = min(2, len(names))
    rows = math.ceil(len(names) / columns)
    made, axes = figure(rows, columns, width=COLUMN if columns == 1 else PAGE, height=2.6 * rows)
    for axis, dataset in zip(axes.flat, names, strict=False):
        _draw_paths(axis, where(means, dataset=dataset), style.place(dataset))
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    done = finished(runs)
    seeds = done["seed"].nunique()
    told = [
        "Test R@1 against train R@1 over the course of training, without its first fifth; stars: the end.",
        f"Mean over {seeds} seed{'s' if seeds != 1 else ''}, no band: the line is a path, not a function.",
        *(settings(name, done) for name in names),
        caption.SCALES.get(results.scale, ""),
    ]
    return close(made, 3 * columns, " ".join(told))


def _looks(runs: pd.DataFrame) -> pd.DataFrame:
    """Every look at both sides during training; nothing where one of them was not looked at."""
    points = curves(runs)
    return points.dropna(subset=[X, Y]) if {X, Y} <= set(points) else pd.DataFrame()


def _draw_paths(axis: Any, means: pd.DataFrame, title: str) -> None:
    """A path per method, and a star at its end."""
    for method in style.ordered(means["method"]):
        path, own = where(means, method=method), method == "contextual"
        axis.plot(
            path[X], path[Y], **style.line(method), linestyle="--", linewidth=1.6 if own else 0.8, markersize=3.5,
            zorder=3 if own else 2, markevery=max(1, len(path) // 4),  # a few tell methods apart without colour
        )  # fmt: skip
        star = {"color": style.look(method).colour, "markersize": 8, "markeredgewidth": 0, "zorder": 4}
        axis.plot(path[X].iloc[-1], path[Y].iloc[-1], "*", **star)
    axis.set_title(title)
    percent_axis(axis.xaxis, "train R@1")
    percent_axis(axis.yaxis, "test R@1")


@made_from("", "fine_tuning", "main")
def regimes(results: Results) -> Drawing:
    """Test R@1 against train R@1 over training, one panel per regime: what moves, and what overfits?"""
    tuned = "fine_tuning" in results.studies()  # the study of the slowest regime has fewest methods
    methods = set(results.frame("fine_tuning")["method"]) if tuned else set(results.runs["method"])
    shown: dict[str, pd.DataFrame] = {}
    for title, (study, scale) in REGIMES.items():
        scale = "quick" if results.scale == "quick" and scale == "laptop" else scale
        found = results if scale == results.scale else Results(results.root, scale, results.runs)
        try:
            runs = where(final(found.frame(study)), protocol="test")
        except UserError:
            continue
        points = _looks(runs[runs["method"].isin(methods - {"untrained"}) & runs["dataset"].isin(["cub", "glyphs"])])
        if not points.empty:
            shown[f"{title} ({scale})"] = points.groupby(["method", "epoch"], as_index=False)[[X, Y]].mean()
    if len(shown) < (1 if tuned else 2):
        few = f"{len(shown) or 'no'} regime has finished runs with train and test R@1 over epochs"
        raise UserError(f"{few}: there is nothing to put side by side ({results.command('fine_tuning')})")
    names = [set(means["method"]) for means in shown.values()]
    everywhere, apart = set.intersection(*names), set.union(*names) - set.intersection(*names)
    made, axes = figure(1, len(shown), width=COLUMN if len(shown) == 1 else PAGE, height=2.6)
    for axis, (title, means) in zip(axes.flat, shown.items(), strict=True):
        _draw_paths(axis, means[means["method"].isin(everywhere) & (means["epoch"] > 0)], title)
    missing = [title for title in REGIMES if not any(name.startswith(title) for name in shown)]
    told = [
        "Test R@1 against train R@1 over training, protocol test, mean over seeds, from the first look on; stars: the end.",
        "A path that moves right without rising overfits.",
        f"Not in every regime, so not drawn: {', '.join(map(style.title, style.ordered(apart)))}." if apart else "",
        f"Not run yet: {', '.join(missing)}." if missing else "",
    ]
    return close(made, 3 * min(2, len(shown)), " ".join(filter(None, told)))


@made_from("lambda_overfitting")
def lambda_overfitting(frame: pd.DataFrame, results: Results) -> Drawing:
    """Test R@1 against train R@1 over training, one path a λ (not_overfitting in the paper)."""
    runs = final_runs(frame, X, Y)
    points = curves(runs, LAM).dropna(subset=[X, Y])
    points = points[points["epoch"] > 0]  # all begin at the same untrained network
    made, axes = panels(runs, height=2.4 + 0.24)  # inches of the panel, and of two rows of legend
    for dataset, axis in axes.items():
        for own, look in lam_lines(points[LAM]):
            mine = where(points, dataset=dataset, **own)
            if mine.empty:
                continue
            path = mine.groupby("epoch")[[X, Y]].mean()
            axis.plot(path[X], path[Y], "--", color=look["color"], linewidth=0.8, alpha=0.8)
            ends = where(mine, epoch=mine["epoch"].max())
            (x, *x_range), (y, *y_range) = spread(ends[X]), spread(ends[Y])
            axis.errorbar(
                x, y, xerr=[[x - x_range[0]], [x_range[1] - x]], yerr=[[y - y_range[0]], [y_range[1] - y]],
                markersize=5, elinewidth=0.6, linewidth=0, markeredgecolor="white", markeredgewidth=0.4, **look,
            )  # fmt: skip
        percent_axis(axis.xaxis, "train R@1")
        percent_axis(axis.yaxis, "test R@1")
    what = (
        "Dashed: from the first evaluation on; marks: the end of training. Small λ is nearly the contrastive "
        "loss, λ = 1 the contextual loss alone."
    )
    return close(made, 3, words(runs, what, "bars in both directions"))
