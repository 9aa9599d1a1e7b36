"""Five noisy concentric circles and the embeddings that step 1 of the loss finds (toy_experiment in the paper).

`python -m plots figures --only toy_circles`, after `python -m benchmark synthetic toy_circles`.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from plots.catalogue import made_from
from plots.data import Results
from plots.figures._drawing import PAGE, Drawing, figure

LOOKS: tuple[dict[str, Any], ...] = (  # of the circles, from the inside
    {"color": "#0173b2", "marker": "o", "linewidth": 0},
    {"color": "#de8f05", "marker": "s", "linewidth": 0},
    {"color": "#029e73", "marker": "^", "linewidth": 0},
    {"color": "#cc78bc", "marker": "D", "linewidth": 0},
    {"color": "#000000", "marker": "x", "linewidth": 0.7},
)
ROWS = ("", "plane", "circle")
TITLES = {"": "training data", "plane": "embedding\n(plane)", "circle": "embedding\n(normalised)"}


@made_from()
def toy_circles(results: Results) -> Drawing:
    found = results.synthetic("toy_circles")
    noises = sorted(found["noise"].unique())
    made, axes = figure(3, len(noises), width=PAGE, height=4.8, gridspec_kw={"height_ratios": [1.2, 1.2, 0.8]})
    scores = found[found["kind"] == "score"]
    for column, noise in enumerate(noises):
        for row, space in enumerate(ROWS):
            axis = axes[row, column]
            here = found[(found["noise"] == noise) & (found["space"] == space) & found["label"].notna()]
            (_draw_arc if space == "circle" else _draw_plane)(axis, here)
            if row == 0:
                axis.set_title(f"noise {noise:g}")
            else:
                values = scores[(scores["noise"] == noise) & (scores["space"] == space)]["mAP"]
                low, mean, high = (100 * value for value in (values.min(), values.mean(), values.max()))
                axis.set_xlabel(("angle (°)\n" if row == 2 else "") + f"mAP {mean:.0f} ({low:.0f}–{high:.0f})")
            if column == 0:
                axis.set_ylabel(TITLES[space])
    seeds = scores["seed"].nunique()
    before = scores.groupby("space")["mAP before"].mean()
    words = (
        "L₁, step 1 of the contextual loss alone, on five concentric circles (radii 0.2 to 1), one class "
        "each. Top: training data with growing noise on the radius (its standard deviation is above); below: "
        "embeddings of clean points by a 2-100-100-2 network trained on noisy ones (SGD, 4 points of a class "
        "in a batch, k = 4), with distances in the plane as it is and with normalised embeddings, as the "
        "equations have it (bottom: only the angle is left, about its mean; one line for each class). "
        f"Points of one seed; below them mAP on clean points in percent, mean and range over {seeds} seeds "
        f"(untrained: {100 * before['plane']:.0f} and {100 * before['circle']:.0f})."
    )
    return Drawing(made, words)


def _draw_plane(axis: Axes, points: pd.DataFrame) -> None:
    for label, look in enumerate(LOOKS):
        of_class = points[points["label"] == label]
        axis.scatter(of_class["x"], of_class["y"], s=8, alpha=0.75, **look)
    axis.set(aspect="equal", adjustable="datalim", xticks=[], yticks=[])
    axis.grid(visible=False)
    axis.spines[["top", "right"]].set_visible(True)


def _draw_arc(axis: Axes, points: pd.DataFrame) -> None:
    """On the unit circle only the angle is left, and often a small arc of it: a line for each class."""
    angle = np.arctan2(points["y"].to_numpy(), points["x"].to_numpy())
    middle = np.arctan2(np.sin(angle).mean(), np.cos(angle).mean())
    angle = np.degrees((angle - middle + np.pi) % (2 * np.pi) - np.pi)
    for label, look in enumerate(LOOKS):
        of_class = angle[points["label"] == label]
        axis.scatter(of_class, np.full(len(of_class), label), s=8, alpha=0.75, **look)
    axis.set(yticks=[], ylim=(-0.7, len(LOOKS) - 0.3))
    axis.margins(x=0.08)
    axis.grid(visible=False)
    axis.spines[["top", "right"]].set_visible(True)
