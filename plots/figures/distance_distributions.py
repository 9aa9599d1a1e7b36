"""Distances between pairs of test embeddings, with and without M₋ (distribution_plots in the paper).

`python -m plots figures --only distance_distributions` makes it from the study of the same name.
"""

import json

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.special import gammaln

from plots.catalogue import made_from
from plots.data import Results, datasets, finished, where
from plots.figures._drawing import PAGE, Drawing, figure
from plots.figures._lines import Lines, close, draw_lines, final_runs, not_run, unless_alone, words

TITLES = {"no_m_minus": "$M_+$ only", "full": "$M_+$ and $M_-$"}
PAIRS: Lines = [
    ({"pairs": "positive"}, {"color": "#0173b2", "label": "one class"}),
    ({"pairs": "negative"}, {"color": "#d55e00", "label": "two classes"}),
]
UNIFORM = "#029e73"


@made_from("distance_distributions")
def distance_distributions(frame: pd.DataFrame, results: Results) -> Drawing:
    runs = final_runs(frame, "test/R@1")
    done = finished(runs)
    names = datasets(done)
    made, axes = figure(len(names), 2, width=PAGE, height=2.2 * len(names) + 0.2, sharey="row", sharex=True)
    means = {}
    for row, dataset in zip(axes, names, strict=True):
        for axis, (variant, title) in zip(row, TITLES.items(), strict=True):
            means[variant] = _draw(axis, where(done, dataset=dataset, **{"params.variant": variant}))
            axis.set(title=title, xlabel="distance")
        row[0].set_ylabel(unless_alone(names, dataset) + "density")
    shown = max(axes.flat, key=lambda axis: len(axis.lines))
    what = (
        "Densities of the distance between pairs of normalised test embeddings, of one class and of two, each with "
        "area 1. Green: pairs that are uniform on the sphere of that dimension, about √2 apart. Mean over all "
        f"pairs: {means['no_m_minus']} without M₋, {means['full']} with it."
    )
    return close(made, 3, words(runs, what, "bands"), shown)


def _draw(axis: Axes, runs: pd.DataFrame) -> str:
    """Draws the distributions of one variant; returns the mean distance of all pairs in words."""
    found = [told for text in runs["histograms"] if (told := json.loads(text or "{}"))]
    if not found:
        not_run(axis)
        return "not run"
    edges = np.asarray(found[0]["edges"])
    middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    shares = pd.concat(
        pd.DataFrame({"pairs": kind, "distance": middle, "density": np.asarray(one[kind]) / (sum(one[kind]) * width)})
        for one in found
        for kind in ("positive", "negative")
    )
    draw_lines(axis, shares, "distance", "density", PAIRS, shown="band")
    fine = np.linspace(0.001, 1.999, 400)
    axis.plot(fine, uniform(fine, int(runs["embedding_dim"].iloc[0])), color=UNIFORM, linestyle="--", label="uniform")
    counts = np.array([np.asarray(one["positive"]) + np.asarray(one["negative"]) for one in found]).sum(axis=0)
    return f"{(middle * counts).sum() / counts.sum():.2f}"


def uniform(r: np.ndarray, dim: int) -> np.ndarray:
    """Density of the distance between two points that are uniform on the unit sphere in `dim` dimensions."""
    constant = gammaln(dim / 2) - gammaln((dim - 1) / 2) - 0.5 * np.log(np.pi)
    return np.exp(constant + (dim - 2) * np.log(r) + (dim - 3) / 2 * np.log1p(-(r**2) / 4))
