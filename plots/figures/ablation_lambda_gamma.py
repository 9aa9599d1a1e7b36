"""Figure: R@1 by λ, with and without the similarity regulariser, at several learning rates (ablation in the paper).

`python -m plots figures --only ablation_lambda_gamma` makes it from the study of the same name.
"""

import pandas as pd

from plots import style
from plots.data import Results
from plots.figures import _lines as sweep

KIND = "figure"
STUDY = "ablation_lambda_gamma"
METRIC = "test/R@1"
COLOURS = ("#0173b2", "#de8f05", "#029e73", "#cc78bc")
LINES = ("--", "-", ":", "-.")  # by γ, from 0 on


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    runs = sweep.final_runs(frame, STUDY, METRIC)
    figure, axes = sweep.panels(runs, height=2.4, legend_rows=3)
    rates, gammas = sorted(runs["lr"].unique()), sorted(runs["params.gamma"].unique())
    lams = sorted(runs["params.lam"].unique())
    places = {lam: float(i) for i, lam in enumerate(lams)}  # evenly: most values are near 1
    for dataset, axis in axes.items():
        lines = [(rate, gamma) for gamma in gammas for rate in rates]
        for shift, (rate, gamma) in zip(sweep.shifts(len(lines), 0.3), lines, strict=True):
            mine = runs[(runs["dataset"] == dataset) & (runs["lr"] == rate) & (runs["params.gamma"] == gamma)]
            number = rates.index(rate)
            sweep.draw_bars(
                axis, mine, "params.lam", METRIC, shift, places, color=COLOURS[number % 4],
                marker=sweep.MARKERS[number], linestyle=LINES[gammas.index(gamma) % 4],
                markerfacecolor="white" if gamma == 0 else COLOURS[number % 4],
                label=f"γ = {gamma:g}, lr {rate:g}",
            )  # fmt: skip
        axis.set(xlabel="λ", ylabel="test R@1 (%)", xticks=list(places.values()))
        axis.set_xticklabels([f"{lam:g}" for lam in lams])
        style.percent_axis(axis.yaxis)
    figure.legend(
        *next(iter(axes.values())).get_legend_handles_labels(), loc="outside lower center", ncols=len(gammas)
    )
    best = (
        runs[runs["status"] == "ok"].groupby(["dataset", "params.lam", "params.gamma", "lr"])[METRIC].mean()
    )
    told = "; ".join(
        f"{dataset}: λ = {place[1]:g}, γ = {place[2]:g}, lr {place[3]:g}"
        for dataset in axes
        for place in [best[best.index.get_level_values("dataset") == dataset].idxmax()]
    )
    what = (
        "Dashed with open marks: without the regulariser (γ = 0); each mark is a learning rate. λ is not to scale. "
        f"Highest mean: {told}."
    )
    return style.Drawing(figure, sweep.words(STUDY, results.scale, runs, what))
