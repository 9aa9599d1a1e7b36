"""R@1 under label noise, image noise and with fewer training classes, by method (robustness in the paper).

`python -m plots figures --only robustness` makes it from the study of the same name.
"""

import pandas as pd

from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, finished
from plots.figures._drawing import PAGE, Drawing, figure, percent_axis
from plots.figures._lines import close, draw_line, final_runs, shifts, words

METRIC = "test/R@1"
PANELS = {
    "label_noise": "label noise (% of training samples)",
    "image_noise": "image noise (% of training samples)",
    "train_classes": "training classes",
}


@made_from("robustness")
def robustness(frame: pd.DataFrame, results: Results) -> Drawing:
    runs = final_runs(frame, "robustness", METRIC)
    names = datasets(finished(runs))
    made, axes = figure(len(names), 3, width=PAGE, height=2.2 * len(names) + 0.35, sharey="row")
    methods = style.ordered(finished(runs)["method"])
    for row, dataset in zip(axes, names, strict=True):
        for axis, (key, label) in zip(row, PANELS.items(), strict=True):
            mine = _panel(runs[runs["dataset"] == dataset], key)
            values = sorted(mine[key].unique())
            width = 0.02 * (values[-1] - values[0])
            for shift, method in zip(shifts(len(methods), width), methods, strict=True):
                look = style.look(method)
                draw_line(
                    axis, mine[mine["method"] == method], key, METRIC, shift, color=look.colour,
                    marker=look.marker, label=style.title(method), linewidth=2 if method == "contextual" else 1,
                )  # fmt: skip
            axis.set(xlabel=label, xticks=values)
            if key != "train_classes":
                percent_axis(axis.xaxis)
        row[0].set_ylabel(("" if len(names) == 1 else f"{dataset}: ") + "test R@1 (%)")
        percent_axis(row[0].yaxis)
    return close(made, axes[0, 0], len(methods), words("robustness", results.scale, runs, _lost(runs, methods)))


def _panel(runs: pd.DataFrame, key: str) -> pd.DataFrame:
    """The runs in which nothing but `key` is unusual; without a limit, the number of classes is the usual one."""
    others = [name for name in PANELS if name != key]
    clean = {name: runs[name].mode().iloc[0] for name in others}
    return runs[(runs[others] == [clean[name] for name in others]).all(axis=1)]


def _lost(runs: pd.DataFrame, methods: list[str]) -> str:
    """What each method loses between the mildest and the harshest condition, in points."""
    said = []
    for key in PANELS:
        lost = {}
        for method in methods:
            mine = finished(_panel(runs, key))
            means = mine[mine["method"] == method].groupby(key)[METRIC].mean()
            if len(means) > 1:
                ends = (means.iloc[-1], means.iloc[0]) if key == "train_classes" else (means.iloc[0], means.iloc[-1])
                lost[style.title(method)] = 100 * (ends[0] - ends[1])
        told = ", ".join(f"{name} {points:.1f}" for name, points in lost.items())
        if told:
            said.append(f"{key.replace('_', ' ')}: {told}")
    return "Points of R@1 lost from the mildest to the harshest condition (below 0: won): " + "; ".join(said) + "."
