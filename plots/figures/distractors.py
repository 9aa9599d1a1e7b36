"""R@1 as the gallery grows by images of no query's class, a line per method.

`python -m plots figures --only distractors` makes it from the study of the same name.
"""

import re

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, finished
from plots.figures._drawing import Drawing, percent_axis
from plots.figures._lines import close, draw_line, final_runs, panels, shifts, words

METRIC = re.compile(r"distractors(\d+)/R@1")  # how many there are for each image of the gallery


@made_from("distractors")
def distractors(frame: pd.DataFrame, results: Results) -> Drawing:
    protocol = "validation" if "validation" in set(frame["protocol"]) else "test"
    runs = final_runs(frame, "distractors", "test/R@1", protocol=protocol)
    sizes = {name: 1 + int(found[1]) for name in runs if (found := METRIC.fullmatch(str(name)))}
    sizes = {name: size for name, size in sizes.items() if runs[name].notna().any()} | {"test/R@1": 1}
    if len(sizes) < 2:
        raise UserError(
            "no run of study 'distractors' was judged in a larger gallery (python -m benchmark run distractors)"
        )
    points = finished(runs).melt(["dataset", "method", "seed"], list(sizes), var_name="metric", value_name="R@1")
    points = points.assign(size=points["metric"].map(sizes)).dropna(subset=["R@1"])
    methods = style.ordered(points["method"])
    made, axes = panels(runs, height=2.6, legend_rows=3)
    for dataset, axis in axes.items():
        places = {size: float(i) for i, size in enumerate(sorted(points["size"].unique()))}
        for shift, method in zip(shifts(len(methods), 0.3), methods, strict=True):
            mine, look = (points[(points["dataset"] == dataset) & (points["method"] == method)], style.look(method))
            draw_line(
                axis, mine, "size", "R@1", shift, places, color=look.colour, marker=look.marker, label=style.title(method),
                linewidth=2 if method == "contextual" else 1,
            )  # fmt: skip
        axis.set(xlabel="size of the gallery (times)", ylabel="test R@1 (%)", xticks=list(places.values()))
        axis.set_xticklabels([f"{size:g}" for size in places])
        percent_axis(axis.yaxis)
    what = f"The gallery is filled up with images of no query's class. {_lost(points)}"
    return close(made, next(iter(axes.values())), 3, words("distractors", results.scale, runs, what))


def _lost(points: pd.DataFrame) -> str:
    """What each method loses from the gallery as it is to the largest, in points."""
    means = points.groupby(["dataset", "method", "size"])["R@1"].mean().unstack()
    lost = 100 * (means[means.columns.min()] - means[means.columns.max()])
    several = points["dataset"].nunique() > 1
    told = [
        f"{style.title(method)}{f' on {dataset}' if several else ''} {value:.1f}"
        for (dataset, method), value in lost.sort_values(kind="stable").items()
    ]
    return f"Points of R@1 lost up to {means.columns.max():g} times its size: {', '.join(told)}."
