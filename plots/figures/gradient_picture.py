"""Which pairs of a real batch are pulled and pushed (target_picture_inter and figure2 in the paper).

`python -m plots figures --only gradient_picture`, after `python -m benchmark synthetic gradient_picture`.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from plots.catalogue import made_from
from plots.data import Results, where
from plots.figures._drawing import PAGE, Drawing, figure

PUSH, PULL = "#d55e00", "#0173b2"
WORDS = {-1: "push", 0: "0", 1: "pull"}
SHADE = "#cc78bc"
COLOURS = LinearSegmentedColormap.from_list("push to pull", [PUSH, "#ffffff", PULL])
ZOOM = 0.24  # of the letters, in points a pixel
NOTE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}


@made_from()
def gradient_picture(results: Results) -> Drawing:
    found = results.synthetic("gradient_picture")
    samples, pairs = where(found, kind="sample"), where(found, kind="pair").astype({"same": bool})
    flags = [name for name in samples if name.startswith(("near ", "like ", "is "))]
    samples = samples.astype(dict.fromkeys(flags, bool))
    made, axes = figure(2, 2, width=PAGE, height=5.6)
    _draw_step1(axes[0, 0], samples)
    _draw_parts(axes[0, 1], samples, 1)
    _draw_parts(axes[1, 0], samples, 2)
    _draw_matrix(axes[1, 1], pairs)
    box = {"marker": "s", "markersize": 7, "markerfacecolor": "white", "linewidth": 0}
    handles: dict[str, dict[str, Any]] = {
        "pushed apart": {"color": PUSH, "marker": ">", "markersize": 4},
        "pulled together": {"color": PULL, "marker": "<", "markersize": 4},
        "neighbourhood $N_{k+ε}$": {"color": SHADE, "linewidth": 6, "alpha": 0.25},
        "label of h or i": {"color": "0.1", **box},
        "another label": {"color": "0.75", **box},
    }
    entries = [Line2D([], [], label=label, **look) for label, look in handles.items()]
    made.legend(handles=entries, loc="outside lower center", ncols=5)
    return Drawing(made, _caption(samples, pairs))


def _caption(samples: pd.DataFrame, pairs: pd.DataFrame) -> str:
    once = pairs[pairs["a"] < pairs["b"]]
    same = once["same"]
    apart, together = (same & (once["context"] < 0)).sum(), (~same & (once["context"] > 0)).sum()
    against = ((same & (once["contrast"] < 0)) | (~same & (once["contrast"] > 0))).sum()
    shared = int((samples["near j"] & samples["like i"] & ~samples["is i"]).sum())
    return (
        f"Gradients of the distances in one real batch of {len(samples)} letters, 4 of each of "
        f"{len(samples) // 4} classes, early in training; k = 4, ε = 0.05. "
        "(a) L₁, step 1 alone, seen from a sample h: other classes in its neighbourhood are pushed away, its own "
        "class outside is pulled, all by the same amount. (b, c) The two parts of the gradient for a wrong "
        "neighbour j of i; position: squared distance to i and to j. Part 1 pushes j from i; part 2 pushes i from "
        f"all neighbours of j and j from all neighbours of i, here also from {shared} "
        f"sample{'s' * (shared != 1)} of i's own class, and pulls the others weakly (dots). (d) All pairs of the "
        "batch, by class, each loss with the same sum of absolute gradients (square root of values): L_context "
        "below the diagonal, L_contrast above. "
        f"L_context pushes {apart} of {same.sum()} pairs of one class apart and pulls {together} of "
        f"{(~same).sum()} pairs of different classes together; L_contrast goes against the label for {against}. "
        "Computed exactly: no band."
    )


def _draw_step1(axis: Axes, samples: pd.DataFrame) -> None:
    """Samples by their distance to h; the height only keeps them apart."""
    near = samples["near h"] | samples["like h"]
    involved = samples[near].sort_values("D to h")
    radius = samples[samples["near h"]]["D to h"].max()
    reach = involved["D to h"].max() * 1.18
    axis.axvspan(-0.1 * reach, radius + 0.012 * reach, color=SHADE, alpha=0.16, linewidth=0)
    lanes = dict.fromkeys((0.5, 0.8, 0.25, 0.65, 0.38), -reach)  # height → where it is free from
    for sample in involved.to_dict("records"):
        x = sample["D to h"]
        height = next((lane for lane, free in lanes.items() if free <= x), min(lanes, key=lambda y: lanes[y]))
        lanes[height] = x + 0.26 * reach
        _draw_letter(axis, (x, height), sample, sample["like h"], "h" if sample["is h"] else "")
        if sample["step 1"]:
            _draw_arrow(axis, (x, height), (0.13 * reach * -np.sign(sample["step 1"]), 0), sample["step 1"])
    others = samples[~near & (samples["D to h"] < reach)]
    axis.plot(others["D to h"], np.full(len(others), 0.05), "|", color="0.6", markersize=4)
    axis.set(title="(a) $L_1$, seen from h", xlabel="squared distance to h", yticks=[])
    axis.set(xlim=(-0.1 * reach, reach), ylim=(0, 1))
    axis.grid(visible=False)


def _draw_parts(axis: Axes, samples: pd.DataFrame, part: int) -> None:
    near = samples["near i"] | samples["near j"] | samples["like i"]
    reach = 1.35 * samples[near][["D to i", "D to j"]].max().max()
    for name, span in (("i", axis.axvspan), ("j", axis.axhspan)):
        radius = samples[samples[f"near {name}"]][f"D to {name}"].max()
        span(-0.12 * reach, radius + 0.015 * reach, color=SHADE, alpha=0.16, linewidth=0)
    rest = samples[~near & (samples["D to i"] < reach) & (samples["D to j"] < reach)]
    axis.plot(rest["D to i"], rest["D to j"], ".", color=PULL if part == 2 else "0.6", markersize=3, alpha=0.6)
    step = 0.17 * reach
    for sample in samples[near].to_dict("records"):
        at = (sample["D to i"], sample["D to j"])
        name = "i" if sample["is i"] else "j" if sample["is j"] else ""
        _draw_letter(axis, at, sample, sample["like i"], name)
        if part == 1 and sample["part 1"]:
            _draw_arrow(axis, at, (step, 0), -1)
        if part == 2 and sample["part 2 from i"] < 0 and name != "i":
            _draw_arrow(axis, at, (step, 0), -1)
        if part == 2 and sample["part 2 from j"] < 0 and name != "j":
            _draw_arrow(axis, at, (0, step), -1)
    said = "(b) part 1: i and its wrong neighbour j" if part == 1 else "(c) part 2: i and the context of j, and back"
    axis.set(title=said, xlabel="squared distance to i", ylabel="squared distance to j")
    axis.set(xlim=(-0.12 * reach, reach), ylim=(-0.12 * reach, reach))
    axis.grid(visible=False)


def _draw_letter(axis: Axes, at: tuple[float, float], sample: dict[str, Any], own: bool, name: str) -> None:
    side = int(sample["side"])
    image = 255 - np.frombuffer(sample["image"], np.uint8).reshape(side, side)
    box = AnnotationBbox(
        OffsetImage(image, zoom=ZOOM, cmap="gray", interpolation="bilinear"), at, pad=0.12,
        bboxprops={"edgecolor": "0.1" if own else "0.75", "linewidth": 1.1, "facecolor": "white"},
    )  # fmt: skip
    axis.add_artist(box)
    if name:
        axis.annotate(name, at, (-9, 9), textcoords="offset points", fontweight="bold", ha="right", va="bottom")


def _draw_arrow(axis: Axes, at: tuple[float, float], by: tuple[float, float], gradient: float) -> None:
    axis.annotate(
        "", (at[0] + by[0], at[1] + by[1]), at, zorder=4,
        arrowprops={"arrowstyle": "-|>", "color": PUSH if gradient < 0 else PULL, "linewidth": 1.2,
                    "shrinkA": 8.5, "shrinkB": 0, "mutation_scale": 7},
    )  # fmt: skip


def _draw_matrix(axis: Axes, pairs: pd.DataFrame) -> None:
    import seaborn  # only where a figure is made

    n = int(pairs["a"].max()) + 1
    context, contrast = (
        pairs.pivot_table(index="a", columns="b", values=name).to_numpy() for name in ("context", "contrast")
    )
    shown = np.tril(context / np.abs(context).sum()) + np.triu(contrast / np.abs(contrast).sum())
    shown = np.sign(shown) * np.sqrt(np.abs(shown) / np.abs(shown).max())  # most are far below the largest
    seaborn.heatmap(
        shown, ax=axis, cmap=COLOURS, vmin=-1, vmax=1, square=True, xticklabels=False, yticklabels=False, rasterized=True,
        cbar_kws={"fraction": 0.045, "pad": 0.02, "ticks": [-1, 0, 1], "format": lambda value, _: WORDS[value]},
    )  # fmt: skip
    axis.plot([0, n], [0, n], color="0.3", linewidth=0.6)
    axis.set_title("(d) all pairs")
    axis.text(0.97, 0.93, "$L_{contrast}$", transform=axis.transAxes, ha="right", bbox=NOTE)
    axis.text(0.03, 0.04, "$L_{context}$", transform=axis.transAxes, bbox=NOTE)
