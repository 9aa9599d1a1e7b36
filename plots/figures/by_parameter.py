"""R@1 by the parameters of the contextual loss: λ with its steps changed, with γ and rates, with |R| detached; ε, γ, s̃.

`python -m plots figures --only detach` makes one of them from the study of the same name.
"""

from typing import Any

import pandas as pd

from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, finished
from plots.figures._drawing import PAGE, Drawing, figure, percent_axis
from plots.figures._lines import MARKERS, close, draw_line, even_axis, final_runs, panels, shifts, words
from plots.tables.layouts import ABLATIONS

METRIC, LAM = "test/R@1", "params.lam"
COLOURS = ("#0173b2", "#de8f05", "#029e73", "#cc78bc")
LINES = ("--", "-", ":", "-.")  # by γ, from 0 on
CONTEXTUAL = style.look("contextual").colour
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {"color": CONTEXTUAL, "marker": "o", "linewidth": 2.0, "zorder": 5},
    "step1": {"color": "#de8f05", "marker": "s"},
    "step1_sigmoid": {"color": "#de8f05", "marker": "s", "linestyle": ":", "markerfacecolor": "white"},
    "no_query_expansion": {"color": "#029e73", "marker": "^"},
    "skip_step2": {"color": "#cc78bc", "marker": "D"},
    "min": {"color": "#ca9161", "marker": "v"},
    "sigmoid": {"color": "#56b4e9", "marker": "P", "linestyle": ":"},
    "no_m_minus": {"color": "#0173b2", "marker": "X", "linestyle": "--"},
    "no_stop_gradient": {"color": "#000000", "marker": "*", "linestyle": "--"},
}


@made_from("ablation_by_lambda")
def ablation_by_lambda(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 by λ of the contextual loss with one step left out or changed (cub_car_ablations in the paper)."""
    runs = final_runs(frame, "ablation_by_lambda", METRIC)
    made, axes = panels(runs, height=2.6, legend_rows=4)
    variants = [name for name in VARIANTS if name in set(runs["params.variant"])]
    for dataset, axis in axes.items():
        places = even_axis(axis, runs[LAM].unique(), "λ")
        for shift, variant in zip(shifts(len(variants), 0.4), variants, strict=True):
            mine = runs[(runs["dataset"] == dataset) & (runs["params.variant"] == variant)]
            title = ABLATIONS.get(variant, variant).replace("L_context", "$L_{context}$")
            look: dict[str, Any] = {"linewidth": 0.9, "label": title} | VARIANTS[variant]
            draw_line(axis, mine, LAM, METRIC, shift, places, **look)
        axis.set_ylabel("test R@1 (%)")
        percent_axis(axis.yaxis)
    what = (
        "Thick: the loss as published; the others leave out or change one step of it. Lines of one λ stand side by "
        "side so that their bars can be told apart; λ is not to scale."
    )
    told = words("ablation_by_lambda", results.scale, runs, what)
    return close(made, next(iter(axes.values())), 2 if len(axes) == 1 else 4, told)


@made_from("ablation_lambda_gamma")
def ablation_lambda_gamma(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 by λ, with and without the similarity regulariser, at several learning rates (ablation in the paper)."""
    runs = final_runs(frame, "ablation_lambda_gamma", METRIC)
    made, axes = panels(runs, height=2.4, legend_rows=3)
    rates, gammas = sorted(runs["lr"].unique()), sorted(runs["params.gamma"].unique())
    lines = [(rate, gamma) for gamma in gammas for rate in rates]
    for dataset, axis in axes.items():
        places = even_axis(axis, runs[LAM].unique(), "λ")
        for shift, (rate, gamma) in zip(shifts(len(lines), 0.3), lines, strict=True):
            mine = runs[(runs["dataset"] == dataset) & (runs["lr"] == rate) & (runs["params.gamma"] == gamma)]
            number = rates.index(rate)
            draw_line(
                axis, mine, LAM, METRIC, shift, places, color=COLOURS[number % 4],
                marker=MARKERS[number], linestyle=LINES[gammas.index(gamma) % 4],
                markerfacecolor="white" if gamma == 0 else COLOURS[number % 4],
                label=f"γ = {gamma:g}, lr {rate:g}",
            )  # fmt: skip
        axis.set_ylabel("test R@1 (%)")
        percent_axis(axis.yaxis)
    best = finished(runs).groupby(["dataset", LAM, "params.gamma", "lr"])[METRIC].mean()
    told = "; ".join(
        f"{dataset}: λ = {place[1]:g}, γ = {place[2]:g}, lr {place[3]:g}"
        for dataset in axes
        for place in [best[best.index.get_level_values("dataset") == dataset].idxmax()]
    )
    what = (
        "Dashed with open marks: without the regulariser (γ = 0); each mark is a learning rate. λ is not to scale. "
        f"Highest mean: {told}."
    )
    told = words("ablation_lambda_gamma", results.scale, runs, what)
    return close(made, next(iter(axes.values())), len(gammas), told)


@made_from("detach")
def detach(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 by λ with and without a gradient through |R| (cub_car_ablations_detach in the paper)."""
    looks: dict[str, dict[str, Any]] = {
        "full": {"color": CONTEXTUAL, "marker": "o", "label": "$L_{context}$"},
        "detach_r": {"color": "#0173b2", "marker": "s", "linestyle": "--", "label": "|R| detached"},
    }
    runs = final_runs(frame, "detach", METRIC)
    made, axes = panels(runs, height=2.1, legend_rows=1)
    for dataset, axis in axes.items():
        for shift, (variant, look) in zip((-0.008, 0.008), looks.items(), strict=True):
            mine = runs[(runs["dataset"] == dataset) & (runs["params.variant"] == variant)]
            draw_line(axis, mine, LAM, METRIC, shift, **look)
        axis.set(xlabel="λ", ylabel="test R@1 (%)")
        percent_axis(axis.yaxis)
    what = "Solid: the loss as published; dashed: no gradient flows through |R|, the size of the expanded query."
    return close(made, next(iter(axes.values())), 2, words("detach", results.scale, runs, what))


@made_from("hyperparameters")
def hyperparameters(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 of the contextual loss for other values of ε, γ and s̃, one at a time (hypers in the paper)."""
    symbols = {"params.eps": "ε", "params.gamma": "γ", "params.s_tilde": "s̃"}
    runs = final_runs(frame, "hyperparameters", METRIC)
    names = datasets(finished(runs))
    usual = {key: runs[key].mode().iloc[0] for key in symbols}  # each is at it while the others vary
    made, axes = figure(len(names), 3, width=PAGE, height=1.9 * len(names) + 0.1, sharey="row")
    for row, dataset in zip(axes, names, strict=True):
        for axis, (key, symbol) in zip(row, symbols.items(), strict=True):
            others = [name for name in symbols if name != key]
            mine = runs[(runs["dataset"] == dataset) & (runs[others] == [usual[name] for name in others]).all(axis=1)]
            places = even_axis(axis, mine[key].unique(), symbol)
            draw_line(axis, mine, key, METRIC, 0.0, places, color=CONTEXTUAL, marker="o")
            axis.axvline(places[usual[key]], color="0.7", linestyle=":", linewidth=1, zorder=0)
            axis.set_xlim(-0.4, len(places) - 0.6)
        row[0].set_ylabel(("" if len(names) == 1 else f"{dataset}: ") + "test R@1 (%)")
        percent_axis(row[0].yaxis)
    shown = ", ".join(f"{symbol} = {usual[key]:g}" for key, symbol in symbols.items())
    means = finished(runs).groupby("variation")[METRIC].mean()
    what = (
        f"Dotted: the published values ({shown}), at which the other two stay. Steps on the axes are not to scale. "
        f"Means range from {100 * means.min():.1f} to {100 * means.max():.1f} %."
    )
    return Drawing(made, words("hyperparameters", results.scale, runs, what))
