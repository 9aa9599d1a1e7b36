"""Figure: L_context against 1 − mAP over training, and its course without mini-batches (convergence_hhh in the paper).

`python -m plots figures --only convergence` makes it from the study of the same name; the right panel from the whole-set
runs of the study decomposability.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmark.errors import UserError
from plots import data as frames
from plots import style
from plots.data import Results
from plots.figures import _lines as sweep

KIND = "figure"
STUDY = "convergence"
NEEDS = ("decomposability",)
LOSS, MAP = "train/L_context", "train/mAP"


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    runs = sweep.final_runs(frame, STUDY, LOSS, MAP)
    points = sweep.curves(runs, "params.lam").dropna(subset=[LOSS, MAP])
    looks = sweep.lam_looks(points["params.lam"])
    figure, axes = style.figure(1, 2, width=style.PAGE, height=2.6)
    for lam, look in looks.items():
        path = points[points["params.lam"] == lam].groupby("epoch").agg({LOSS: _geometric, MAP: "mean"})
        axes[0, 0].plot(path[LOSS], 1 - path[MAP], markersize=3, **look)
        axes[0, 0].plot(path[LOSS].iloc[-1], 1 - path[MAP].iloc[-1], "*", color=look["color"], markersize=8)
    axes[0, 0].set(xlabel="$L_{context}$", ylabel="1 − mAP", title="mini-batches")
    sweep.log_axis(axes[0, 0].xaxis)
    axes[0, 0].legend(loc="lower right", fontsize=6)
    right = _draw_full_batch(axes[0, 1], results)
    seeds = points["seed"].nunique()
    what = (
        f"Left ({' and '.join(frames.datasets(points))}): both on the training set at every evaluation, mean (of "
        f"L_context the geometric one) over {seeds} seed{'s' * (seeds != 1)} without a band, since the line is a path; "
        "from the untrained network, common "
        f"to all λ, to the star. {_fall(points)} {right}"
    )
    return style.Drawing(figure, sweep.words(STUDY, results.scale, runs, what, ""))


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
        runs = sweep.final_runs(results.frame("decomposability"), "decomposability", LOSS)
    except UserError as problem:
        axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center")
        axis.set(xticks=[], yticks=[])
        return f"Right: {problem}."
    whole = runs[runs["batch_size"] == runs["batch_size"].max()]
    points = sweep.curves(whole, "params.lam")
    ends = [lam for lam in sorted(points["params.lam"].unique()) if lam in (0.0, 1.0)]
    for lam, look in sweep.lam_looks(ends).items():
        sweep.draw_curve(
            axis, points[points["params.lam"] == lam], "step", LOSS, log=True, markersize=3, **look
        )
    sweep.log_axis(axis.yaxis)
    axis.legend(fontsize=6)
    done = frames.finished(whole)
    return (
        f"Right: {int(whole['batch_size'].max())} samples, the whole training set, in every step "
        f"(the runs of the figure decomposability). {sweep.seeds(done, 'bands')}"
    )
