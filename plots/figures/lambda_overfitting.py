"""Figure: test R@1 against train R@1 over training, one path a λ (not_overfitting in the paper).

`python -m plots figures --only lambda_overfitting` makes it from the study of the same name.
"""

import pandas as pd

from plots import style
from plots.data import Results
from plots.figures import _lines as sweep

KIND = "figure"
STUDY = "lambda_overfitting"
X, Y = "train/R@1", "test/R@1"


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    runs = sweep.final_runs(frame, STUDY, X, Y)
    points = sweep.curves(runs, "params.lam").dropna(subset=[X, Y])
    points = points[points["epoch"] > 0]  # all begin at the same untrained network
    looks = sweep.lam_looks(points["params.lam"])
    figure, axes = sweep.panels(runs)
    for dataset, axis in axes.items():
        for lam, look in looks.items():
            mine = points[(points["dataset"] == dataset) & (points["params.lam"] == lam)]
            path = mine.groupby("epoch")[[X, Y]].mean()
            if path.empty:
                continue
            axis.plot(path[X], path[Y], "--", color=look["color"], linewidth=0.8, alpha=0.8)
            _draw_end(axis, mine[mine["epoch"] == mine["epoch"].max()], look)
        axis.set(xlabel="train R@1 (%)", ylabel="test R@1 (%)")
        style.percent_axis(axis.xaxis)
        style.percent_axis(axis.yaxis)
    figure.legend(*next(iter(axes.values())).get_legend_handles_labels(), loc="outside lower center", ncols=3)
    what = (
        "Dashed: from the first evaluation on; marks: the end of training. Small λ is nearly the contrastive "
        "loss, λ = 1 the contextual loss alone."
    )
    return style.Drawing(figure, sweep.words(STUDY, results.scale, runs, what, "bars in both directions"))


def _draw_end(axis, ends: pd.DataFrame, look: dict) -> None:
    (x, *x_range), (y, *y_range) = sweep.spread(ends[X]), sweep.spread(ends[Y])
    axis.errorbar(
        x, y, xerr=[[x - x_range[0]], [x_range[1] - x]], yerr=[[y - y_range[0]], [y_range[1] - y]],
        markersize=5, elinewidth=0.6, linewidth=0, markeredgecolor="white", markeredgewidth=0.4, **look,
    )  # fmt: skip
