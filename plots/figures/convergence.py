"""L_context over training: against 1 − mAP, without mini-batches, and beside test R@1 by λ.

`python -m plots figures --only convergence` makes the first from the study of the same name; its right panel from the
whole-set runs of the study decomposability.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmark.errors import UserError
from plots.catalogue import made_from
from plots.data import Results, datasets, finished
from plots.figures._drawing import PAGE, Drawing, figure, percent_axis
from plots.figures._lines import (
    close,
    curves,
    draw_line,
    final_runs,
    lam_looks,
    log_axis,
    seeds,
    shifts,
    words,
)  # fmt: skip

LOSS, MAP, TEST = "train/L_context", "train/mAP", "test/R@1"


@made_from("convergence", "decomposability")
def convergence(frame: pd.DataFrame, results: Results) -> Drawing:
    """L_context against 1 − mAP over training, and its course without mini-batches (convergence_hhh in the paper)."""
    runs = final_runs(frame, "convergence", LOSS, MAP)
    points = curves(runs, "params.lam").dropna(subset=[LOSS, MAP])
    looks = lam_looks(points["params.lam"])
    made, axes = figure(1, 2, width=PAGE, height=2.6)
    for lam, look in looks.items():
        path = points[points["params.lam"] == lam].groupby("epoch").agg({LOSS: _geometric, MAP: "mean"})
        axes[0, 0].plot(path[LOSS], 1 - path[MAP], markersize=3, **look)
        axes[0, 0].plot(path[LOSS].iloc[-1], 1 - path[MAP].iloc[-1], "*", color=look["color"], markersize=8)
    axes[0, 0].set(xlabel="$L_{context}$", ylabel="1 − mAP", title="mini-batches")
    log_axis(axes[0, 0].xaxis)
    axes[0, 0].legend(loc="lower right", fontsize=6)
    right = _draw_full_batch(axes[0, 1], results)
    count = points["seed"].nunique()
    what = (
        f"Left ({' and '.join(datasets(points))}): both on the training set at every evaluation, mean (of "
        f"L_context the geometric one) over {count} seed{'s' * (count != 1)} without a band, since the line is a path; "
        "from the untrained network, common "
        f"to all λ, to the star. {_fall(points)} {right}"
    )
    return Drawing(made, words("convergence", results.scale, runs, what, ""))


def _geometric(values: pd.Series) -> float:
    return float(np.exp(np.log(values.clip(lower=1e-9)).mean()))


def _fall(points: pd.DataFrame) -> str:
    """How often the two go the same way from one evaluation of a run to the next."""
    ordered = points.sort_values(["run_id", "epoch"])
    steps = ordered.groupby("run_id")[[LOSS, MAP]].diff().dropna()
    falls = steps[steps[LOSS] < 0]
    return (
        f"Where L_context falls from one evaluation of a run to the next ({len(falls)} of {len(steps)} times), "
        f"1 − mAP falls too in {int((falls[MAP] > 0).sum())}."
    )


def _draw_full_batch(axis: Axes, results: Results) -> str:
    """L_context over steps whose batch is the whole training set; returns what the caption says about it."""
    axis.set(title="whole set as one batch", xlabel="steps", ylabel="$L_{context}$")
    try:
        runs = final_runs(results.frame("decomposability"), "decomposability", LOSS)
    except UserError as problem:
        axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center")
        axis.set(xticks=[], yticks=[])
        return f"Right: {problem}."
    whole = runs[runs["batch_size"] == runs["batch_size"].max()]
    points = curves(whole, "params.lam")
    ends = [lam for lam in sorted(points["params.lam"].unique()) if lam in (0.0, 1.0)]
    for lam, look in lam_looks(ends).items():
        mine = points[points["params.lam"] == lam]
        draw_line(axis, mine, "step", LOSS, log=True, shown="band", markersize=3, **look)
    log_axis(axis.yaxis)
    axis.legend(fontsize=6)
    done = finished(whole)
    return (
        f"Right: {int(whole['batch_size'].max())} samples, the whole training set, in every step "
        f"(the runs of the figure decomposability). {seeds(done, 'bands')}"
    )


@made_from("loss_curves")
def loss_curves(frame: pd.DataFrame, results: Results) -> Drawing:
    """L_context and test R@1 over training, one line a λ (loss_plot in the paper)."""
    runs = final_runs(frame, "loss_curves", LOSS, TEST)
    points = curves(runs, "params.lam")
    looks = lam_looks(points["params.lam"])
    names = datasets(points)
    made, axes = figure(len(names), 2, width=PAGE, height=2.2 * len(names) + 0.3)
    for row, dataset in zip(axes, names, strict=True):
        for axis, metric in zip(row, (LOSS, TEST), strict=True):
            here = points[points["dataset"] == dataset]
            apart = shifts(len(looks), 0.04 * here["step"].max())
            for shift, (lam, look) in zip(apart, looks.items(), strict=True):
                mine = here[here["params.lam"] == lam]
                draw_line(axis, mine, "step", metric, shift, log=metric == LOSS, **look)
            axis.set(xlabel="batches", title=dataset if len(names) > 1 else "")
        row[0].set(ylabel="$L_{context}$ on training data")
        log_axis(row[0].yaxis)
        row[1].set(ylabel="test R@1 (%)")
        percent_axis(row[1].yaxis)
    what = (
        "Left: L_context alone, whatever was minimised, on the same batches of training data at every "
        "evaluation, geometric means; right: test R@1. Lines stand side by side so that their bars can be told apart."
    )
    return close(made, axes[0, 0], 6, words("loss_curves", results.scale, runs, what))
