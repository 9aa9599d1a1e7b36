"""Test images as pictures: queries with their nearest under several methods, confused classes, and labels that differ
where pictures do not.

`python -m plots figures --only neighbours` makes one of them where the images are at hand (`--data DIR`);
inconsistent_labels is made after `python -m benchmark synthetic inconsistent_labels`.
"""

import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, where
from plots.figures._drawing import PAGE, Drawing, figure
from plots.retrieved import COARSE, RIGHT, WRONG, Retrieved, confused_pairs, retrieved
from plots.tables import _caption as caption

SIDE, FRAME = 48, 3  # pixels of a thumbnail and of its frame
COLOURS = {RIGHT: (2, 158, 115), COARSE: (86, 180, 233), WRONG: (213, 94, 0)}
ROWS, NEAREST, METHODS, PAIRS = 6, 5, 4, 12
ALIKE = {"equal": "equal", "similar": "almost equal"}


def _shown(results: Results) -> list[Retrieved]:
    """One for each data set whose images are at hand: the first protocol."""
    found = {kept.dataset: kept for kept in reversed(list(retrieved(results)))}
    if not found:
        raise UserError(
            f"no run at scale {results.scale!r} keeps what it retrieved (python -m benchmark run main --scale {results.scale})"
        )
    some = [kept for kept in found.values() if kept.album.opened]
    if not some:
        raise UserError(f"the images of {style.place(', '.join(found))} are not in {results.data} (--data DIR)")
    return some[::-1]


@made_from("", "main")
def neighbours(results: Results) -> Drawing:
    """The nearest images of the queries on which four methods differ most."""
    shown = _shown(results)
    made, axes = figure(len(shown), METHODS, width=PAGE, height=len(shown) * (0.2 + 0.27 * ROWS))
    words = []
    for row, kept in zip(axes, shown, strict=True):
        methods = _methods(kept)
        places = kept.telling(methods)[:ROWS]
        for axis in row:
            axis.set_axis_off()
        for axis, method in zip(row, methods, strict=False):
            axis.imshow(np.vstack([_strip(kept, method, place, axis is row[0]) for place in places]))
            several = f"{style.place(kept.dataset)}: " if len(shown) > 1 and axis is row[0] else ""
            axis.set_title(several + style.title(method))
        words.append(f"{style.place(kept.dataset)}, protocol {kept.protocol}, study {kept.study}")
    told = (
        f"Queries (left, without a frame) and their {NEAREST} nearest test images under several methods, of one seed; of the "
        "queries that runs keep, those on which the methods differ most. Frames: green, of the query's class; blue, of a "
        f"coarser class of it only; red, of another. {'; '.join(words)}. {caption.SCALES.get(results.scale, '')}"
    )
    return Drawing(made, told)


def _methods(kept: Retrieved) -> list[str]:
    """The contextual loss and the methods with the most hits at the first place, best first."""
    hits = {name: (kept.grades(name)[:, 0] == RIGHT).mean() for name in kept.methods if name != "untrained"}
    return sorted(hits, key=lambda name: (name == "contextual", hits[name]))[::-1][:METHODS]


def _strip(kept: Retrieved, method: str, place: int, query: bool) -> np.ndarray:
    """A query's nearest images side by side, framed; the query itself in the first column."""
    asked = int(kept.queries[place])
    nearest = map(int, kept.first(method)[place, :NEAREST])
    tiles = [_tile(kept, index, COLOURS[kept.grade(asked, index)]) for index in nearest]
    first = _tile(kept, asked, (255, 255, 255)) if query else np.full((SIDE + 2 * FRAME, FRAME, 3), 255, np.uint8)
    return np.hstack([first, np.full((len(first), 2 * FRAME, 3), 255, np.uint8), *tiles])


def _tile(kept: Retrieved, index: int, colour: tuple[int, int, int]) -> np.ndarray:
    tile = np.full((SIDE + 2 * FRAME, SIDE + 2 * FRAME, 3), colour, np.uint8)
    tile[FRAME:-FRAME, FRAME:-FRAME] = kept.album.thumbnail(index, SIDE)
    return tile


@made_from("", "main")
def confused_classes(results: Results) -> Drawing:
    """The pairs of classes that methods confuse most, with an example of each."""
    import seaborn  # only where a figure is made

    kept = _shown(results)[0]
    pairs = confused_pairs(kept)
    if pairs.empty:
        raise UserError(f"no method confuses any of the {len(kept.queries)} queries of {kept.dataset}")
    table = pairs.pivot_table(index=["query", "taken"], columns="method", values=["share", "confused"])
    most = table["confused"].mean(axis=1).sort_values(ascending=False, kind="stable").index[:PAIRS]
    top = table["share"].loc[most, kept.methods]
    made, axes = figure(1, 1, width=PAGE, height=0.8 + 0.3 * len(top))
    axis = axes[0, 0]
    seaborn.heatmap(
        100 * top, ax=axis, cmap="rocket_r", vmin=0, vmax=100, annot=True, fmt=".0f", annot_kws={"fontsize": 6},
        xticklabels=[style.title(name) for name in top], yticklabels=False, cbar=False, linewidths=0.5,
    )  # fmt: skip
    axis.set(xlabel="", ylabel="")
    axis.tick_params(axis="x", length=0)
    axis.set_xticks(axis.get_xticks(), axis.get_xticklabels(), rotation=40, ha="right")
    for row, (query, taken) in enumerate(top.index):
        for place, label in ((-0.9, query), (-0.35, taken)):
            example = next(index for index, of_image in sorted(kept.labels.items()) if of_image[0] == label)
            image = OffsetImage(kept.album.thumbnail(example, SIDE), zoom=0.3)
            axis.add_artist(AnnotationBbox(image, (place, row + 0.5), frameon=False, annotation_clip=False))
    names = "; ".join(f"{kept.album.name(0, a)} for {kept.album.name(0, b)}" for a, b in top.index[:3])
    told = (
        f"Percent of the queries of a class (left) whose nearest image is of another (beside it): the {len(top)} pairs with "
        f"most queries confused, mean over methods, the first {names}. All seeds; {len(kept.queries)} queries, "
        f"{style.place(kept.dataset)}, protocol {kept.protocol}. {caption.SCALES.get(results.scale, '')}"
    )
    return Drawing(made, told)


@made_from()
def inconsistent_labels(results: Results) -> Drawing:
    """Pairs of test images whose labels differ and whose pictures do not (image_examples in the paper)."""
    found = results.synthetic("inconsistent_labels")
    columns = int(found["kind"].value_counts().max())
    made, axes = figure(len(ALIKE), columns, width=PAGE, height=1.95)
    for row, (kind, title) in zip(axes, ALIKE.items(), strict=True):
        pairs = where(found, kind=kind).to_dict("records")
        for axis in row[len(pairs) :]:
            axis.set_axis_off()
        for axis, pair in zip(row, pairs, strict=False):
            _draw_pair(axis, pair)
        row[0].set_ylabel(title)
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


def _draw_pair(axis: Axes, pair: dict) -> None:
    side = int(pair["side"])
    images = [np.frombuffer(pair[f"{which} image"], np.uint8).reshape(side, side) for which in ("first", "second")]
    gap = np.zeros((side, side // 8), np.uint8)
    axis.imshow(255 - np.hstack([images[0], gap, images[1]]), cmap="gray", vmin=0, vmax=255)
    axis.set(xticks=[], yticks=[])
    axis.axvline(side + side / 16, color="0.7", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(True)
    axis.spines[:].set_color("0.7")
    text: dict[str, Any] = {
        "transform": axis.transAxes,
        "ha": "center",
        "va": "top",
        "fontsize": 5.5,
        "linespacing": 1.05,
    }
    for place, which in ((0.25, "first"), (0.75, "second")):
        axis.text(place, -0.05, short(pair[which]), **text)


def short(name: str) -> str:
    """The name of a letter in a few short lines: the script, then what tells it from others."""
    script, _, rest = name.partition(" ")
    words = [word for word in rest.split() if word != "LETTER"]
    kept = [word.lower() if word in ("CAPITAL", "SMALL", "WITH") else word.capitalize() for word in words]
    return "\n".join([script.capitalize(), *textwrap.wrap(" ".join(kept), 13)])
