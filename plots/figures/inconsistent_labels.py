"""Pairs of test images whose labels differ and whose pictures do not (image_examples in the paper).

`python -m plots figures --only inconsistent_labels`, after `python -m benchmark synthetic inconsistent_labels`.
"""

import textwrap

import numpy as np
from matplotlib.axes import Axes

from plots.catalogue import made_from
from plots.data import Results
from plots.figures._drawing import PAGE, Drawing, figure

ROWS = {"equal": "equal", "similar": "almost equal"}


@made_from()
def inconsistent_labels(results: Results) -> Drawing:
    found = results.synthetic("inconsistent_labels")
    columns = int(found["kind"].value_counts().max())
    made, axes = figure(len(ROWS), columns, width=PAGE, height=1.95)
    for row, (kind, title) in enumerate(ROWS.items()):
        pairs = found[found["kind"] == kind].to_dict("records")
        for axis in axes[row, len(pairs) :]:
            axis.set_axis_off()
        for axis, pair in zip(axes[row], pairs, strict=False):
            _draw(axis, pair)
        axes[row, 0].set_ylabel(title)
    first = found.iloc[0]
    share = 100 * first["with a twin"] / first["images"]
    largest = 100 * found["difference"].max()
    words = (
        "Pairs of test images of the embedded data whose labels differ and whose pictures do not. Top: equal "
        f"in every pixel; bottom: the most similar other pairs (mean difference of a pixel up to {largest:.2f} % of "
        f"the range). No class is shown twice. Of {first['images']:,} test images, {first['with a twin']:,} "
        f"({share:.1f} %) equal an image of another class, in {first['class pairs']} pairs of classes; over the whole "
        f"test set no method can therefore reach an R@1 above {100 * first['ceiling R@1']:.1f} %. "
        "Counted exactly: no band."
    )
    return Drawing(made, words)


def _draw(axis: Axes, pair: dict) -> None:
    side = int(pair["side"])
    images = [np.frombuffer(pair[f"{which} image"], np.uint8).reshape(side, side) for which in ("first", "second")]
    gap = np.zeros((side, side // 8), np.uint8)
    axis.imshow(255 - np.hstack([images[0], gap, images[1]]), cmap="gray", vmin=0, vmax=255)
    axis.set(xticks=[], yticks=[])
    axis.axvline(side + side / 16, color="0.7", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(True)
    for spine in axis.spines.values():
        spine.set_color("0.7")
    for place, which in ((0.25, "first"), (0.75, "second")):
        axis.text(
            place, -0.05, short(pair[which]), transform=axis.transAxes, ha="center", va="top", fontsize=5.5,
            linespacing=1.05,
        )  # fmt: skip


def short(name: str) -> str:
    """The name of a letter in a few short lines: the script, then what tells it from others."""
    script, _, rest = name.partition(" ")
    words = [word for word in rest.split() if word != "LETTER"]
    kept = [word.lower() if word in ("CAPITAL", "SMALL", "WITH") else word.capitalize() for word in words]
    return "\n".join([script.capitalize(), *textwrap.wrap(" ".join(kept), 13)])
