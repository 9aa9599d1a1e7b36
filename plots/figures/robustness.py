"""R@1 under harder conditions, a line per method: noise in labels and images, fewer classes, a larger gallery.

`python -m plots figures --only robustness` makes one of them from the study of the same name.
"""

import re

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, finished, where
from plots.figures._drawing import PAGE, Drawing, figure, percent_axis
from plots.figures._lines import close, draw_lines, final_runs, method_lines, panels_by, unless_alone, words

METRIC = "test/R@1"
CONDITIONS = {
    "label_noise": "label noise (% of training samples)",
    "image_noise": "image noise (% of training samples)",
    "train_classes": "training classes",
}
DISTRACTORS = re.compile(r"distractors(\d+)/R@1")  # how many there are for each image of the gallery


@made_from("robustness")
def robustness(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 under label noise, image noise and with fewer training classes, by method (robustness in the paper)."""
    runs = final_runs(frame, METRIC)
    names = datasets(finished(runs))
    made, axes = figure(len(names), 3, width=PAGE, height=2.2 * len(names) + 0.35, sharey="row")
    methods = style.ordered(finished(runs)["method"])
    for row, dataset in zip(axes, names, strict=True):
        for axis, (key, label) in zip(row, CONDITIONS.items(), strict=True):
            mine = _only(where(runs, dataset=dataset), key)
            values = sorted(mine[key].unique())
            if len(values) < 2:  # not varied on this data set
                axis.set_axis_off()
                continue
            draw_lines(axis, mine, key, METRIC, method_lines(methods), 0.02 * (values[-1] - values[0]))
            axis.set(xlabel=label, xticks=values)
            if key != "train_classes":
                percent_axis(axis.xaxis)
            elif (where(runs, dataset=dataset)[key] == 0).any():
                axis.set_xticks(values, [*(f"{value:g}" for value in values[:-1]), "all"])
        percent_axis(row[0].yaxis, unless_alone(names, dataset) + "test R@1")
    lost = [
        f"{unless_alone(names, dataset)}{key.replace('_', ' ')}: {told}"
        for dataset in names
        for key in CONDITIONS
        if (told := _lost(where(runs, dataset=dataset), methods, key))
    ]
    what = f"Points of R@1 lost from the mildest to the harshest condition (below 0: won): {'; '.join(lost)}."
    return close(made, len(methods), words(runs, what))


def _only(runs: pd.DataFrame, key: str) -> pd.DataFrame:
    """The runs in which nothing but `key` is unusual; without a limit, the number of classes is the usual one.

    0 classes are all there are, which runs do not count: they stand one step beyond the largest number.
    """
    mine = where(runs, **{name: runs[name].mode().iloc[0] for name in CONDITIONS if name != key})
    if key != "train_classes" or not (mine[key] == 0).any():
        return mine
    *_, before, most = [0, 0, *sorted(mine[key].unique())]
    return mine.assign(**{key: mine[key].replace(0, 2 * most - before)})


def _lost(runs: pd.DataFrame, methods: list[str], key: str) -> str:
    """What each method loses between the mildest and the harshest value, in points."""
    means = finished(_only(runs, key)).groupby(["method", key])[METRIC].mean()
    sign = -1 if key == "train_classes" else 1
    of_methods = {name: means[name] for name in methods if name in means and len(means[name]) > 1}
    lost = {name: 100 * sign * (values.iloc[0] - values.iloc[-1]) for name, values in of_methods.items()}
    return ", ".join(f"{style.title(name)} {points:.1f}" for name, points in lost.items())


@made_from("distractors")
def distractors(frame: pd.DataFrame, results: Results) -> Drawing:
    """R@1 as the gallery grows by images of no query's class, a line per method."""
    protocol = "validation" if "validation" in set(frame["protocol"]) else "test"
    runs = final_runs(frame, METRIC, protocol=protocol)
    sizes = {name: 1 + int(found[1]) for name in runs if (found := DISTRACTORS.fullmatch(str(name)))}
    sizes = {name: size for name, size in sizes.items() if runs[name].notna().any()} | {METRIC: 1}
    if len(sizes) < 2:
        lacking = "no run of study 'distractors' was judged in a larger gallery"
        raise UserError(f"{lacking} ({results.command('distractors')})")
    about = ["dataset", "method", "seed", "status"]
    points = finished(runs).melt(about, list(sizes), var_name="metric", value_name="R@1")
    points = points.assign(size=points["metric"].map(sizes)).dropna(subset=["R@1"])
    lines = method_lines(style.ordered(points["method"]))
    made = panels_by(points, "size", "size of the gallery (times)", lines, width=0.3, height=2.96, metric="R@1")
    means = points.groupby(["dataset", "method", "size"])["R@1"].mean().unstack()
    lost = 100 * (means[means.columns.min()] - means[means.columns.max()])
    told = [
        f"{style.title(method)}{f' on {style.place(dataset)}' if len(made.axes) > 1 else ''} {value:.1f}"
        for (dataset, method), value in lost.sort_values(kind="stable").items()
    ]
    what = (
        "The gallery is filled up with images of no query's class. "
        f"Points of R@1 lost up to {means.columns.max():g} times its size: {', '.join(told)}."
    )
    return close(made, 3, words(runs, what))
