"""Figure: R@1 by λ with and without a gradient through |R| (cub_car_ablations_detach in the paper).

`python -m plots figures --only detach` makes it from the study of the same name.
"""

from typing import Any

import pandas as pd

from plots import style
from plots.data import Results
from plots.figures import _lines as sweep

KIND = "figure"
STUDY = "detach"
METRIC = "test/R@1"
LOOKS: dict[str, dict[str, Any]] = {
    "full": {"color": style.look("contextual").colour, "marker": "o", "label": "$L_{context}$"},
    "detach_r": {"color": "#0173b2", "marker": "s", "linestyle": "--", "label": "|R| detached"},
}


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    runs = sweep.final_runs(frame, STUDY, METRIC)
    figure, axes = sweep.panels(runs, height=2.1, legend_rows=1)
    for dataset, axis in axes.items():
        for shift, (variant, look) in zip((-0.008, 0.008), LOOKS.items(), strict=True):
            mine = runs[(runs["dataset"] == dataset) & (runs["params.variant"] == variant)]
            sweep.draw_bars(axis, mine, "params.lam", METRIC, shift, **look)
        axis.set(xlabel="λ", ylabel="test R@1 (%)")
        style.percent_axis(axis.yaxis)
    figure.legend(*next(iter(axes.values())).get_legend_handles_labels(), loc="outside lower center", ncols=2)
    what = (
        "Solid: the loss as published; dashed: no gradient flows through |R|, the size of the expanded query."
    )
    return style.Drawing(figure, sweep.words(STUDY, results.scale, runs, what))
