"""Figure: test R@1 against train R@1 over training, one panel per data set (greyedout_lambda in the paper).

A method with a high test R@1 at a low train R@1 generalises; one that moves right without rising overfits.
`python -m plots figures --only overfitting` makes it from the study `main`, protocol test.
"""

import math

import pandas as pd

from benchmark.errors import UserError
from plots import data as frames
from plots import style
from plots.data import Results, curves, final
from plots.tables import _caption as caption

KIND = "figure"
STUDY = "main"
X, Y = "train/R@1", "test/R@1"


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    runs = final(frame)
    runs = runs[runs["protocol"] == "test"]  # only there is the test R@1 measured during training
    points = curves(runs)
    if points.empty or X not in points or Y not in points:
        raise UserError(f"study {STUDY!r} has no finished run with train and test R@1 over epochs")
    points = points[points["method"] != "untrained"].dropna(subset=[X, Y])
    means = points.groupby(["dataset", "method", "epoch"], as_index=False)[[X, Y]].mean()
    # All methods rise alike at first and differ at the end, which is what the figure is about.
    means = means[means["epoch"] > means.groupby("dataset")["epoch"].transform("max") / 5]
    datasets = frames.datasets(means)
    columns = min(2, len(datasets))
    rows = math.ceil(len(datasets) / columns)
    width = style.COLUMN if columns == 1 else style.PAGE
    figure, axes = style.figure(rows, columns, width=width, height=2.6 * rows)
    for axis, dataset in zip(axes.flat, datasets, strict=False):
        of_dataset = means[means["dataset"] == dataset]
        for method in style.ordered(of_dataset["method"]):
            path, look = of_dataset[of_dataset["method"] == method], style.look(method)
            bold = method == "contextual"
            axis.plot(
                *(path[X], path[Y]),
                color=look.colour,
                linestyle="--",
                linewidth=1.6 if bold else 0.8,
                marker=look.marker,
                markersize=3.5,
                markevery=max(1, len(path) // 4),  # a few tell methods apart without colour
                label=style.title(method),
                zorder=3 if bold else 2,
            )
            last = path.iloc[-1]
            axis.plot(last[X], last[Y], "*", color=look.colour, markersize=8, markeredgewidth=0, zorder=4)
        axis.set(title=dataset, xlabel="train R@1 (%)", ylabel="test R@1 (%)")
        style.percent_axis(axis.xaxis)
        style.percent_axis(axis.yaxis)
    for axis in axes.flat[len(datasets) :]:
        axis.set_axis_off()
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3 * columns)
    seeds = runs[runs["status"] == "ok"]["seed"].nunique()
    words = [
        "Test R@1 against train R@1 over the course of training, without its first fifth; stars: the end.",
        f"Mean over {seeds} seed{'s' if seeds != 1 else ''}, no band: the line is a path, not a function.",
        *(
            f"{d}: {caption.setting(runs[(runs['dataset'] == d) & (runs['status'] == 'ok')])}"
            for d in datasets
        ),
        caption.SCALES.get(results.scale, ""),
    ]
    return style.Drawing(figure, " ".join(words))
