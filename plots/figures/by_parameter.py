"""R@1 by the parameters of the contextual loss: λ with its steps changed, with γ and rates, with |R| detached, beside
AP surrogates; ε, γ, s̃.

`python -m plots figures --only detach` makes one of them from the study of the same name.
"""

from itertools import product
from typing import Any

import pandas as pd

from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, finished, where
from plots.figures._drawing import PAGE, Drawing, even_axis, figure, percent_axis
from plots.figures._lines import LAM, MARKERS, Lines, close, draw_lines, final_runs, panels_by, unless_alone, words
from plots.tables.layouts import ABLATIONS

METRIC, VARIANT, GAMMA, MARGIN = "test/R@1", "params.variant", "params.gamma", "params.pos_margin"
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
DETACHED: dict[str, dict[str, Any]] = {
    "full": {"color": CONTEXTUAL, "marker": "o", "label": "$L_{context}$"},
    "detach_r": {"color": "#0173b2", "marker": "s", "linestyle": "--", "label": "|R| detached"},
}
SYMBOLS = {"params.eps": "ε", GAMMA: "γ", "params.s_tilde": "s̃"}
SURROGATES = ("contextual", "roadmap", "smooth_ap", "softbin_ap", "blackbox_ap")
SIDES = {"train/R@1": "train R@1", METRIC: "test R@1"}


@made_from("ablation_by_lambda")
def ablation_by_lambda(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 by λ of the contextual loss with one step left out or changed (cub_car_ablations in the paper)."""
    runs = final_runs(frame, METRIC)
    titles = {name: ABLATIONS.get(name, name).replace("L_context", "$L_{context}$") for name in VARIANTS}
    lines: Lines = [
        ({VARIANT: name}, {"linewidth": 0.9, "label": titles[name]} | look)
        for name, look in VARIANTS.items()
        if name in set(runs[VARIANT])
    ]
    made = panels_by(runs, LAM, "λ", lines, width=0.4, height=3.08)
    what = (
        "Thick: the loss as published; the others leave out or change one step of it. Lines of one λ stand side by "
        "side so that their bars can be told apart; λ is not to scale."
    )
    return close(made, 2 if len(made.axes) == 1 else 4, words(runs, what))


@made_from("ablation_lambda_gamma")
def ablation_lambda_gamma(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 by λ, with and without the similarity regulariser, at several learning rates (ablation in the paper)."""
    runs = final_runs(frame, METRIC)
    rates, gammas = sorted(runs["lr"].unique()), sorted(runs[GAMMA].unique())
    lines: Lines = [
        (
            {"lr": rate, GAMMA: gamma},
            {"color": COLOURS[i % 4], "marker": MARKERS[i], "linestyle": LINES[j % 4],
             "markerfacecolor": COLOURS[i % 4] if gamma else "white", "label": f"γ = {gamma:g}, lr {rate:g}"},
        )
        for j, gamma in enumerate(gammas)
        for i, rate in enumerate(rates)
    ]  # fmt: skip
    made = panels_by(runs, LAM, "λ", lines, width=0.3, height=2.76)
    done = finished(runs)
    best = {
        name: where(done, dataset=name).groupby([LAM, GAMMA, "lr"])[METRIC].mean().idxmax() for name in datasets(done)
    }
    told = "; ".join(
        f"{style.place(name)}: λ = {lam:g}, γ = {gamma:g}, lr {lr:g}" for name, (lam, gamma, lr) in best.items()
    )
    what = (
        "Dashed with open marks: without the regulariser (γ = 0); each mark is a learning rate. λ is not to scale. "
        f"Highest mean: {told}."
    )
    return close(made, len(gammas), words(runs, what))


@made_from("detach")
def detach(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 by λ with and without a gradient through |R| (cub_car_ablations_detach in the paper)."""
    runs = final_runs(frame, METRIC)
    lines: Lines = [({VARIANT: name}, look) for name, look in DETACHED.items()]
    made = panels_by(runs, LAM, "λ", lines, width=0.016, height=2.22, even=False)
    what = "Solid: the loss as published; dashed: no gradient flows through |R|, the size of the expanded query."
    return close(made, 2, words(runs, what))


@made_from("hyperparameters")
def hyperparameters(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 of the contextual loss for other values of ε, γ and s̃, one at a time (hypers in the paper)."""
    runs = final_runs(frame, METRIC)
    names = datasets(finished(runs))
    usual = {key: runs[key].mode().iloc[0] for key in SYMBOLS}  # each is at it while the others vary
    made, axes = figure(len(names), 3, width=PAGE, height=1.9 * len(names) + 0.1, sharey="row")
    for row, dataset in zip(axes, names, strict=True):
        for axis, (key, symbol) in zip(row, SYMBOLS.items(), strict=True):
            mine = where(runs, dataset=dataset, **{name: value for name, value in usual.items() if name != key})
            places = even_axis(axis, mine[key].unique(), symbol)
            draw_lines(axis, mine, key, METRIC, [({}, {"color": CONTEXTUAL, "marker": "o"})], places=places)
            axis.axvline(places[usual[key]], color="0.7", linestyle=":", linewidth=1, zorder=0)
            axis.set_xlim(-0.4, len(places) - 0.6)
        percent_axis(row[0].yaxis, unless_alone(names, dataset) + "test R@1")
    shown = ", ".join(f"{symbol} = {usual[key]:g}" for key, symbol in SYMBOLS.items())
    means = finished(runs).groupby("variation")[METRIC].mean()
    what = (
        f"Dotted: the published values ({shown}), at which the other two stay. Steps on the axes are not to scale. "
        f"Means range from {100 * means.min():.1f} to {100 * means.max():.1f} %."
    )
    return Drawing(made, words(runs, what))


@made_from("ap_surrogates")
def ap_surrogates(frame: pd.DataFrame, results: Results) -> Drawing:
    """Train and test R@1 of the contextual loss and AP surrogates by λ, learning rate and positive margin."""
    runs = final_runs(frame, *SIDES)
    done = finished(runs)
    names = datasets(done)
    methods = [name for name in SURROGATES if name in set(done["method"])]
    rates, margins = sorted(done["lr"].unique()), sorted(done[MARGIN].unique())
    lines: Lines = [
        (
            {"lr": rate, MARGIN: margin},
            {"color": COLOURS[(2 * i + j) % 4], "marker": MARKERS[2 * i + j], "linestyle": "--" if j else "-",
             "linewidth": 1, "label": f"lr {rate:g}, δ₊ {margin:g}"},
        )
        for i, rate in enumerate(rates)
        for j, margin in enumerate(margins)
    ]  # fmt: skip
    points = _ended(runs)
    height = 3.1 * len(names) + 0.4
    made, axes = figure(2 * len(names), len(methods), width=PAGE, height=height, sharey="row", sharex=True)
    for row, (dataset, metric) in zip(axes, product(names, SIDES), strict=True):
        for axis, method in zip(row, methods, strict=True):
            places = even_axis(axis, done[LAM].unique(), "λ" if axis in axes[-1] else "")
            draw_lines(axis, where(points, dataset=dataset, method=method), LAM, metric, lines, 0.24, places)
            axis.set(xlim=(-0.4, len(places) - 0.6), title=style.title(method) if axis in axes[0] else "")
        percent_axis(row[0].yaxis, unless_alone(names, dataset) + SIDES[metric])
    handles = {label: handle for a in axes.flat for handle, label in zip(*a.get_legend_handles_labels(), strict=True)}
    made.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    best = done.groupby(["dataset", "method", LAM, "lr", MARGIN])[METRIC].mean().groupby(["dataset", "method"]).max()
    told = ", ".join(
        f"{style.title(method)} {100 * value:.1f}" + (f" ({style.place(dataset)})" if len(names) > 1 else "")
        for (dataset, method), value in best.sort_values(ascending=False).items()
    )
    what = f"Marks: learning rate and positive margin δ₊. Highest mean test R@1 of each: {told} %. λ is not to scale."
    return Drawing(made, words(runs, what))


def _ended(runs: pd.DataFrame) -> pd.DataFrame:
    """At λ = 1 the margin has no effect, so the runs of any margin end the lines that have none there."""
    ends = [
        where(of_rate, **{LAM: 1}).assign(**{MARGIN: margin})
        for _, of_rate in runs.groupby(["dataset", "method", "lr"])
        for margin, line in of_rate.groupby(MARGIN)
        if not (line[LAM] == 1).any()
    ]
    return pd.concat([runs, *ends])
