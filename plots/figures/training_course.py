"""The course of training: L_context against 1 − mAP, without mini-batches, beside test R@1 by λ, and by batch size.

`python -m plots figures --only convergence` makes the first from the study of the same name; its right panel from the
whole-set runs of the study decomposability.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, finished, where
from plots.figures._drawing import PAGE, Drawing, even_axis, figure, log_axis, percent_axis
from plots.figures._lines import LAM, close, curves, draw_lines, final_runs, lam_lines, not_run, seeds, words

LOSS, MAP, TRAIN, TEST = "train/L_context", "train/mAP", "train/R@1", "test/R@1"
BOTH_ENDS = {TRAIN: "train R@1", MAP: "train mAP", LOSS: "$L_{context}$"}


@made_from("convergence", "decomposability")
def convergence(frame: pd.DataFrame, results: Results) -> Drawing:
    """L_context against 1 − mAP over training, and its course without mini-batches (convergence_hhh in the paper)."""
    runs = final_runs(frame, LOSS, MAP)
    points = curves(runs, LAM).dropna(subset=[LOSS, MAP])
    made, axes = figure(1, 2, width=PAGE, height=2.6)
    left, right = axes[0]
    for own, look in lam_lines(points[LAM]):
        path = where(points, **own).groupby("epoch").agg({LOSS: _geometric, MAP: "mean"})
        left.plot(path[LOSS], 1 - path[MAP], markersize=3, **look)
        left.plot(path[LOSS].iloc[-1], 1 - path[MAP].iloc[-1], "*", color=look["color"], markersize=8)
    left.set(xlabel="$L_{context}$", ylabel="1 − mAP", title="mini-batches")
    log_axis(left.xaxis)
    left.legend(loc="lower right", fontsize=6)
    count = points["seed"].nunique()
    names = style.place(" and ".join(datasets(points)))
    what = (
        f"Left ({names}): both on the training set at every evaluation, mean (of L_context the "
        f"geometric one) over {count} seed{'s' * (count != 1)} without a band, since the line is a path; from the untrained "
        f"network, common to all λ, to the star. {_fall(points)} {_draw_full_batch(right, results)}"
    )
    return Drawing(made, words(runs, what, ""))


def _geometric(values: pd.Series) -> float:
    return float(np.exp(np.log(values.clip(lower=1e-9)).mean()))


def _fall(points: pd.DataFrame) -> str:
    """How often the two go the same way from one evaluation of a run to the next."""
    steps = points.sort_values(["run_id", "epoch"]).groupby("run_id")[[LOSS, MAP]].diff().dropna()
    falls = steps[steps[LOSS] < 0]
    return (
        f"Where L_context falls from one evaluation of a run to the next ({len(falls)} of {len(steps)} times), "
        f"1 − mAP falls too in {int((falls[MAP] > 0).sum())}."
    )


def _draw_full_batch(axis: Axes, results: Results) -> str:
    """L_context over steps whose batch is the whole training set; returns what the caption says about it."""
    axis.set(title="whole set as one batch", xlabel="steps", ylabel="$L_{context}$")
    try:
        runs = final_runs(results.frame("decomposability"), LOSS)
    except UserError as problem:
        not_run(axis)
        axis.set(xticks=[], yticks=[])
        return f"Right: {problem}."
    size = runs["batch_size"].max()
    points = curves(where(runs, batch_size=size), LAM)
    lines = lam_lines(set(points[LAM]) & {0.0, 1.0})
    draw_lines(axis, points, "step", LOSS, lines, log=True, shown="band", markersize=3)
    log_axis(axis.yaxis)
    axis.legend(fontsize=6)
    return (
        f"Right: {int(size)} samples, the whole training set, in every step (the runs of the figure decomposability). "
        f"{seeds(where(finished(runs), batch_size=size), 'bands')}"
    )


@made_from("loss_curves")
def loss_curves(frame: pd.DataFrame, results: Results) -> Drawing:
    """L_context and test R@1 over training, one line a λ (loss_plot in the paper)."""
    runs = final_runs(frame, LOSS, TEST)
    points = curves(runs, LAM)
    lines = lam_lines(points[LAM])
    names = datasets(points)
    made, axes = figure(len(names), 2, width=PAGE, height=2.2 * len(names) + 0.3)
    for row, dataset in zip(axes, names, strict=True):
        here = where(points, dataset=dataset)
        for axis, metric in zip(row, (LOSS, TEST), strict=True):
            draw_lines(axis, here, "step", metric, lines, 0.04 * here["step"].max(), log=metric == LOSS)
            axis.set(xlabel="batches", title=style.place(dataset) if len(names) > 1 else "")
        row[0].set(ylabel="$L_{context}$ on training data")
        log_axis(row[0].yaxis)
        percent_axis(row[1].yaxis, "test R@1")
    what = (
        "Left: L_context alone, whatever was minimised, on the same batches of training data at every "
        "evaluation, geometric means; right: test R@1. Lines stand side by side so that their bars can be told apart."
    )
    return close(made, 6, words(runs, what))


@made_from("decomposability")
def decomposability(frame: pd.DataFrame, results: Results) -> Drawing:
    """Train R@1 by batch size and λ, and the course of training at the ends (decomp_gap in the paper)."""
    runs = final_runs(frame, TRAIN)
    points = curves(runs, LAM, "batch_size")
    made, axes = figure(2, 2, width=PAGE, height=4.2)
    lines = lam_lines(points[LAM])
    ends = where(points, epoch=points["epoch"].max())  # not the best epoch on test data
    sizes = sorted(ends["batch_size"].unique())
    first = axes[0, 0]
    places = even_axis(first, sizes, "batch size")
    draw_lines(first, ends, "batch_size", TRAIN, lines, 0.12, places)
    first.set_xticklabels([f"{size:g}" for size in sizes[:-1]] + [f"{sizes[-1]:g}\n(whole set)"])
    percent_axis(first.yaxis, "train R@1 at the end")
    first.legend(fontsize=6)
    both = [
        (
            own | {"batch_size": size},
            {"color": look["color"], "linestyle": line, "label": f"{look['label']}, batch {size:g}"},
        )
        for own, look in (lines[0], lines[-1])
        for size, line in ((sizes[0], ":"), (sizes[-1], "-"))
    ]
    for axis, (metric, label) in zip(axes.flat[1:], BOTH_ENDS.items(), strict=True):
        draw_lines(axis, points, "step", metric, both, log=metric == LOSS, shown="band")
        axis.set(xlabel="steps", ylabel=label)
        if metric == LOSS:
            log_axis(axis.yaxis)
        else:
            percent_axis(axis.yaxis, label)
    frozen = set(finished(runs)["lane"]) == {"frozen"}
    trained = "on frozen features, only the linear embedding is trained"
    lane = trained if frozen else "end to end, unlike the paper's frozen features"
    what = (
        f"Top left: train R@1 after the last step, {lane}. "
        "Others: the course of training for the two ends of λ and of the batch size. k is 4 in the smallest batch, larger in "
        "batches that have more images of a class; L_context is measured with the k and the batch size of its run, so "
        "compare its course, not its level."
    )
    return close(made, 4, words(runs, what, "bars and bands"), axes[1, 1])
