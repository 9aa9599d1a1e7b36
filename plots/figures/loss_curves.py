"""Figure: L_context and test R@1 over training, one line a λ (loss_plot in the paper).

`python -m plots figures --only loss_curves` makes it from the study of the same name.
"""

import pandas as pd

from plots import data as frames
from plots import style
from plots.data import Results
from plots.figures import _lines as sweep

KIND = "figure"
STUDY = "loss_curves"
LOSS, TEST = "train/L_context", "test/R@1"


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    runs = sweep.final_runs(frame, STUDY, LOSS, TEST)
    points = sweep.curves(runs, "params.lam")
    looks = sweep.lam_looks(points["params.lam"])
    names = frames.datasets(points)
    figure, axes = style.figure(len(names), 2, width=style.PAGE, height=2.2 * len(names) + 0.3)
    for row, dataset in zip(axes, names, strict=True):
        for axis, metric in zip(row, (LOSS, TEST), strict=True):
            here = points[points["dataset"] == dataset]
            apart = sweep.shifts(len(looks), 0.04 * here["step"].max())
            for shift, (lam, look) in zip(apart, looks.items(), strict=True):
                mine = here[here["params.lam"] == lam]
                sweep.draw_bars(axis, mine, "step", metric, shift, log=metric == LOSS, **look)
            axis.set(xlabel="batches", title=dataset if len(names) > 1 else "")
        row[0].set(ylabel="$L_{context}$ on training data")
        sweep.log_axis(row[0].yaxis)
        row[1].set(ylabel="test R@1 (%)")
        style.percent_axis(row[1].yaxis)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    what = (
        "Left: L_context alone, whatever was minimised, on the same batches of training data at every "
        "evaluation, geometric means; right: test R@1. Lines stand side by side so that their bars can be told apart."
    )
    return style.Drawing(figure, sweep.words(STUDY, results.scale, runs, what))
