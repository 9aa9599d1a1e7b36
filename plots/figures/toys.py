"""The loss on points in the plane: one that rolls to its class, and concentric circles that a network takes apart.

`python -m plots figures --only rolling_point`, after `python -m benchmark synthetic rolling_point`.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from plots.catalogue import made_from
from plots.data import Results, where
from plots.figures._drawing import PAGE, Drawing, figure

VALUE, GRADIENT = "#0173b2", "#de8f05"
CLASSES = (VALUE, "#d55e00")  # the class left behind, the class of the rolling point
CIRCLES: tuple[dict[str, Any], ...] = (  # looks, from the inside
    {"color": "#0173b2", "marker": "o", "linewidth": 0},
    {"color": "#de8f05", "marker": "s", "linewidth": 0},
    {"color": "#029e73", "marker": "^", "linewidth": 0},
    {"color": "#cc78bc", "marker": "D", "linewidth": 0},
    {"color": "#000000", "marker": "x", "linewidth": 0.7},
)
SPACES = {"": "training data", "plane": "embedding\n(plane)", "circle": "embedding\n(normalised)"}


@made_from()
def rolling_point(results: Results) -> Drawing:
    """Value and gradient of L_context and L_contrast as one point rolls to its class (ball_rolling in the paper)."""
    found = results.synthetic("rolling_point")
    points, path = where(found, kind="point"), where(found, loss="context")
    made, axes = figure(1, 3, width=PAGE, height=2.0, gridspec_kw={"width_ratios": [1.15, 0.8, 1.15]})
    for axis, loss in ((axes[0, 0], "context"), (axes[0, 2], "contrast")):
        _draw_path(axis, where(found, loss=loss), f"$L_{{{loss}}}$")
    _draw_circle(axes[0, 1], points, path["angle"].iloc[0], path["angle"].iloc[-1])
    against = int((path["gradient"] < 0).sum())
    moving = path[path["value"] > path["value"].min() + 1e-9]
    steady = " and is above 0 everywhere until the minimum is reached" if (moving["gradient"] > 0).all() else ""
    words = (
        f"One of {len(points) + 1} points on the unit circle rolls from the centre of the other class (0°) to "
        "that of its own. Blue: the loss. Orange: its gradient at that point, along the circle and away from "
        "its class, so that above 0 descent moves the point home. "
        f"L_context (left) points away from home at {against} of {len(path)} positions{steady}; "
        f"k = {(len(points) + 1) // 2}, L_contrast (right) with its margins. Computed exactly: no band."
    )
    return Drawing(made, words)


def _draw_path(axis: Axes, path: pd.DataFrame, title: str) -> None:
    way = np.degrees(path["angle"].iloc[0] - path["angle"].to_numpy())
    other = axis.twinx()
    axis.plot(way, path["value"], color=VALUE)
    other.plot(way, path["gradient"], color=GRADIENT, linestyle="--")
    axis.set(title=title, xlabel="way of the point (°)", ylim=(0, None))
    other.set_ylim(min(0.0, 1.05 * path["gradient"].min()), 1.05 * path["gradient"].max())
    other.spines["right"].set_visible(True)
    other.grid(visible=False)
    for side, label, colour in ((axis, "loss", VALUE), (other, "gradient away from $\\bar{x}$", GRADIENT)):
        side.set_ylabel(label, color=colour)
        side.tick_params(axis="y", labelcolor=colour)


def _draw_circle(axis: Axes, points: pd.DataFrame, start: float, end: float) -> None:
    """The resting points of both classes, and the way of the rolling one around them."""

    def at(angle: Any, radius: float = 1.0) -> tuple[Any, Any]:
        return radius * np.cos(angle), radius * np.sin(angle)

    axis.plot(*at(np.linspace(-0.6, np.pi / 2 + 0.6, 200)), color="0.8", linewidth=0.8, zorder=0)
    for label, (colour, marker) in enumerate(zip(CLASSES, ("s", "o"), strict=True)):
        of_class = where(points, label=label)["angle"]
        axis.scatter(*at(of_class), s=9, color=colour, marker=marker, alpha=0.7, linewidth=0)
    axis.plot(*at(start, 1.16), "o", color=CLASSES[1], markersize=5)
    axis.plot(*at(np.linspace(start - 0.1, end, 60), 1.16), color=CLASSES[1], linewidth=0.9)
    axis.annotate("", at(end, 1.16), at(end + 0.08, 1.16), arrowprops={"arrowstyle": "->", "color": CLASSES[1]})
    axis.text(1.2 * np.cos(start), 1.24 * np.sin(start), "x", ha="center")
    axis.text(1.22 * np.cos(end), 1.2 * np.sin(end) - 0.14, r"$\bar{x}$", ha="center")
    axis.set(aspect="equal", xticks=[0, 1], yticks=[0, 1], xlim=(-0.6, 1.45), ylim=(-0.6, 1.45))
    axis.grid(visible=False)


@made_from()
def toy_circles(results: Results) -> Drawing:
    """Five noisy concentric circles and the embeddings that step 1 of the loss finds (toy_experiment in the paper)."""
    found = results.synthetic("toy_circles")
    noises = sorted(found["noise"].unique())
    made, axes = figure(3, len(noises), width=PAGE, height=4.8, gridspec_kw={"height_ratios": [1.2, 1.2, 0.8]})
    scores = where(found, kind="score")
    for column, noise in zip(axes.T, noises, strict=True):
        column[0].set_title(f"noise {noise:g}")
        for axis, space in zip(column, SPACES, strict=True):
            here = where(found, noise=noise, space=space)
            (_draw_arc if space == "circle" else _draw_plane)(axis, here[here["label"].notna()])
            axis.grid(visible=False)
            axis.spines[["top", "right"]].set_visible(True)
            if space:
                values = 100 * where(scores, noise=noise, space=space)["mAP"]
                told = f"mAP {values.mean():.0f} ({values.min():.0f}–{values.max():.0f})"
                axis.set_xlabel(f"angle (°)\n{told}" if space == "circle" else told)
    for axis, title in zip(axes[:, 0], SPACES.values(), strict=True):
        axis.set_ylabel(title)
    before = scores.groupby("space")["mAP before"].mean()
    words = (
        "L₁, step 1 of the contextual loss alone, on five concentric circles (radii 0.2 to 1), one class "
        "each. Top: training data with growing noise on the radius (its standard deviation is above); below: "
        "embeddings of clean points by a 2-100-100-2 network trained on noisy ones (SGD, 4 points of a class "
        "in a batch, k = 4), with distances in the plane as it is and with normalised embeddings, as the "
        "equations have it (bottom: only the angle is left, about its mean; one line for each class). "
        f"Points of one seed; below them mAP on clean points in percent, mean and range over {scores['seed'].nunique()} "
        f"seeds (untrained: {100 * before['plane']:.0f} and {100 * before['circle']:.0f})."
    )
    return Drawing(made, words)


def _draw_plane(axis: Axes, points: pd.DataFrame) -> None:
    for label, look in enumerate(CIRCLES):
        of_class = where(points, label=label)
        axis.scatter(of_class["x"], of_class["y"], s=8, alpha=0.75, **look)
    axis.set(aspect="equal", adjustable="datalim", xticks=[], yticks=[])


def _draw_arc(axis: Axes, points: pd.DataFrame) -> None:
    """On the unit circle only the angle is left, and often a small arc of it: a line for each class."""
    angle = np.arctan2(points["y"].to_numpy(), points["x"].to_numpy())
    middle = np.arctan2(np.sin(angle).mean(), np.cos(angle).mean())
    angle = np.degrees((angle - middle + np.pi) % (2 * np.pi) - np.pi)
    for label, look in enumerate(CIRCLES):
        of_class = angle[points["label"] == label]
        axis.scatter(of_class, np.full(len(of_class), label), s=8, alpha=0.75, **look)
    axis.set(yticks=[], ylim=(-0.7, len(CIRCLES) - 0.3))
    axis.margins(x=0.08)
