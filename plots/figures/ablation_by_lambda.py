"""Figure: R@1 by λ of the contextual loss with one step left out or changed (cub_car_ablations in the paper).

`python -m plots figures --only ablation_by_lambda` makes it from the study of the same name.
"""

from typing import Any

import pandas as pd

from plots import style
from plots.data import Results
from plots.figures import _lines as sweep
from plots.tables.ablation import TITLES

KIND = "figure"
STUDY = "ablation_by_lambda"
METRIC = "test/R@1"
LOOKS: dict[str, dict[str, Any]] = {
    "full": {"color": style.look("contextual").colour, "marker": "o", "linewidth": 2.0, "zorder": 5},
    "step1": {"color": "#de8f05", "marker": "s"},
    "step1_sigmoid": {"color": "#de8f05", "marker": "s", "linestyle": ":", "markerfacecolor": "white"},
    "no_query_expansion": {"color": "#029e73", "marker": "^"},
    "skip_step2": {"color": "#cc78bc", "marker": "D"},
    "min": {"color": "#ca9161", "marker": "v"},
    "sigmoid": {"color": "#56b4e9", "marker": "P", "linestyle": ":"},
    "no_m_minus": {"color": "#0173b2", "marker": "X", "linestyle": "--"},
    "no_stop_gradient": {"color": "#000000", "marker": "*", "linestyle": "--"},
}


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    runs = sweep.final_runs(frame, STUDY, METRIC)
    figure, axes = sweep.panels(runs, height=2.6, legend_rows=4)
    lams = sorted(runs["params.lam"].unique())
    places = {lam: float(i) for i, lam in enumerate(lams)}  # evenly, so that bars have room
    variants = [name for name in LOOKS if name in set(runs["params.variant"])]
    for dataset, axis in axes.items():
        for shift, variant in zip(sweep.shifts(len(variants), 0.4), variants, strict=True):
            mine = runs[(runs["dataset"] == dataset) & (runs["params.variant"] == variant)]
            title = TITLES.get(variant, variant).replace("L_context", "$L_{context}$")
            look: dict[str, Any] = {"linewidth": 0.9, "label": title} | LOOKS[variant]
            sweep.draw_bars(axis, mine, "params.lam", METRIC, shift, places, **look)
        axis.set(xlabel="λ", ylabel="test R@1 (%)", xticks=list(places.values()))
        axis.set_xticklabels([f"{lam:g}" for lam in lams])
        style.percent_axis(axis.yaxis)
    columns = 2 if len(axes) == 1 else 4
    figure.legend(
        *next(iter(axes.values())).get_legend_handles_labels(), loc="outside lower center", ncols=columns
    )
    what = (
        "Thick: the loss as published; the others leave out or change one step of it. Lines of one λ stand side by "
        "side so that their bars can be told apart; λ is not to scale."
    )
    return style.Drawing(figure, sweep.words(STUDY, results.scale, runs, what))
