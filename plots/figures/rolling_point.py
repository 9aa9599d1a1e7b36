"""Value and gradient of L_context and L_contrast as one point rolls to its class (ball_rolling in the paper).

`python -m plots figures --only rolling_point`, after `python -m benchmark synthetic rolling_point`.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from plots.catalogue import made_from
from plots.data import Results
from plots.figures._drawing import PAGE, Drawing, figure

VALUE, GRADIENT = "#0173b2", "#de8f05"
CLASSES = (VALUE, "#d55e00")  # the class left behind, the class of the rolling point
TITLES = {"context": "$L_{context}$", "contrast": "$L_{contrast}$"}


@made_from()
def rolling_point(results: Results) -> Drawing:
    found = results.synthetic("rolling_point")
    points = found[found["kind"] == "point"]
    made, axes = figure(1, 3, width=PAGE, height=2.0, gridspec_kw={"width_ratios": [1.15, 0.8, 1.15]})
    for axis, loss in ((axes[0, 0], "context"), (axes[0, 2], "contrast")):
        _draw_path(axis, found[found["loss"] == loss], TITLES[loss])
    _draw_circle(axes[0, 1], points, found[found["loss"] == "context"])
    path = found[found["loss"] == "context"]
    against = int((path["gradient"] < 0).sum())
    moving = path[path["value"] > path["value"].min() + 1e-9]
    steady = bool((moving["gradient"] > 0).all())
    words = (
        f"One of {len(points) + 1} points on the unit circle rolls from the centre of the other class (0°) to "
        "that of its own. Blue: the loss. Orange: its gradient at that point, along the circle and away from "
        "its class, so that above 0 descent moves the point home. "
        f"L_context (left) points away from home at {against} of {len(path)} positions"
        + (" and is above 0 everywhere until the minimum is reached" if steady else "")
        + f"; k = {(len(points) + 1) // 2}, L_contrast (right) with its margins. Computed exactly: no band."
    )
    return Drawing(made, words)


def _draw_path(axis: Axes, path: pd.DataFrame, title: str) -> None:
    way = np.degrees(path["angle"].iloc[0] - path["angle"].to_numpy())
    axis.plot(way, path["value"], color=VALUE)
    axis.set(title=title, xlabel="way of the point (°)", ylim=(0, None))
    axis.set_ylabel("loss", color=VALUE)
    axis.tick_params(axis="y", labelcolor=VALUE)
    other = axis.twinx()
    other.plot(way, path["gradient"], color=GRADIENT, linestyle="--")
    other.set_ylabel("gradient away from $\\bar{x}$", color=GRADIENT)
    other.tick_params(axis="y", labelcolor=GRADIENT)
    other.spines["right"].set_visible(True)
    other.set_ylim(min(0.0, 1.05 * path["gradient"].min()), 1.05 * path["gradient"].max())
    other.grid(visible=False)


def _draw_circle(axis: Axes, points: pd.DataFrame, path: pd.DataFrame) -> None:
    whole = np.linspace(-0.6, np.pi / 2 + 0.6, 200)
    axis.plot(np.cos(whole), np.sin(whole), color="0.8", linewidth=0.8, zorder=0)
    for label, (colour, marker) in enumerate(zip(CLASSES, ("s", "o"), strict=True)):
        of_class = points[points["label"] == label]["angle"]
        axis.scatter(np.cos(of_class), np.sin(of_class), s=9, color=colour, marker=marker, alpha=0.7, linewidth=0)
    start, end = path["angle"].iloc[0], path["angle"].iloc[-1]
    axis.plot(1.16 * np.cos(start), 1.16 * np.sin(start), "o", color=CLASSES[1], markersize=5)
    way = np.linspace(start - 0.1, end, 60)
    axis.plot(1.16 * np.cos(way), 1.16 * np.sin(way), color=CLASSES[1], linewidth=0.9)
    axis.annotate(
        "", (1.16 * np.cos(end), 1.16 * np.sin(end)), (1.16 * np.cos(end + 0.08), 1.16 * np.sin(end + 0.08)),
        arrowprops={"arrowstyle": "->", "color": CLASSES[1]},
    )  # fmt: skip
    axis.text(1.2 * np.cos(start), 1.24 * np.sin(start), "x", ha="center")
    axis.text(1.22 * np.cos(end), 1.2 * np.sin(end) - 0.14, r"$\bar{x}$", ha="center")
    axis.set(aspect="equal", xticks=[0, 1], yticks=[0, 1], xlim=(-0.6, 1.45), ylim=(-0.6, 1.45))
    axis.grid(visible=False)
