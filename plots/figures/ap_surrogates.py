"""Train and test R@1 of the contextual loss and AP surrogates by λ, learning rate and positive margin.

The paper has a figure for each method and data set (lambda_cub_hybrid … lambda_sop_roadmap); here they stand side by
side. `python -m plots figures --only ap_surrogates` makes it from the study of the same name.
"""

import pandas as pd

from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, finished
from plots.figures._drawing import PAGE, Drawing, figure, percent_axis
from plots.figures._lines import MARKERS, draw_line, final_runs, shifts, words

METRICS = {"train/R@1": "train R@1 (%)", "test/R@1": "test R@1 (%)"}
ORDER = ("contextual", "roadmap", "smooth_ap", "softbin_ap", "blackbox_ap")
COLOURS = ("#0173b2", "#de8f05", "#029e73", "#cc78bc")


@made_from("ap_surrogates")
def ap_surrogates(frame: pd.DataFrame, results: Results) -> Drawing:
    runs = final_runs(frame, "ap_surrogates", *METRICS)
    done = finished(runs)
    names = datasets(done)
    methods = [name for name in ORDER if name in set(done["method"])]
    rates, margins = sorted(done["lr"].unique()), sorted(done["params.pos_margin"].unique())
    lams = sorted(done["params.lam"].unique())
    places = {lam: float(i) for i, lam in enumerate(lams)}
    made, axes = figure(
        2 * len(names), len(methods), width=PAGE, height=3.1 * len(names) + 0.4, sharey="row", sharex=True
    )
    rows = [(dataset, metric) for dataset in names for metric in METRICS]
    lines = [(rate, margin) for rate in rates for margin in margins]
    for number, (row, (dataset, metric)) in enumerate(zip(axes, rows, strict=True)):
        for axis, method in zip(row, methods, strict=True):
            mine = runs[(runs["dataset"] == dataset) & (runs["method"] == method)]
            for shift, (rate, margin) in zip(shifts(len(lines), 0.24), lines, strict=True):
                _draw_line(axis, mine, metric, rate, margin, (rates.index(rate), margins.index(margin)), shift, places)
            axis.set(xticks=list(places.values()), xlim=(-0.4, len(lams) - 0.6))
            axis.set_xticklabels([f"{lam:g}" for lam in lams])
            if number == 0:
                axis.set_title(style.title(method))
            if number == len(rows) - 1:
                axis.set_xlabel("λ")
        row[0].set_ylabel(("" if len(names) == 1 else f"{dataset}: ") + METRICS[metric])
        percent_axis(row[0].yaxis)
    handles = {label: handle for a in axes.flat for handle, label in zip(*a.get_legend_handles_labels(), strict=True)}
    made.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return Drawing(made, words("ap_surrogates", results.scale, runs, _best(done)))


def _draw_line(axis, runs, metric, rate, margin, look, shift, places) -> None:
    """One learning rate and margin; at λ = 1 the margin has no effect, so a run of any margin ends the line."""
    of_rate = runs[runs["lr"] == rate]
    mine = of_rate[of_rate["params.pos_margin"] == margin]
    if mine.empty:
        return
    if not (mine["params.lam"] == 1).any():
        mine = pd.concat([mine, of_rate[of_rate["params.lam"] == 1]])
    number, which = look
    draw_line(
        axis, mine, "params.lam", metric, shift, places, color=COLOURS[(2 * number + which) % 4],
        marker=MARKERS[2 * number + which], linestyle="-" if which == 0 else "--", linewidth=1,
        label=f"lr {rate:g}, δ₊ {margin:g}",
    )  # fmt: skip


def _best(done: pd.DataFrame) -> str:
    keys = ["dataset", "method", "params.lam", "lr", "params.pos_margin"]
    means = done.groupby(keys)["test/R@1"].mean().groupby(["dataset", "method"]).max()
    told = ", ".join(
        f"{style.title(method)} {100 * value:.1f}" + (f" ({dataset})" if done["dataset"].nunique() > 1 else "")
        for (dataset, method), value in means.sort_values(ascending=False).items()
    )
    return f"Marks: learning rate and positive margin δ₊. Highest mean test R@1 of each: {told} %. λ is not to scale."
