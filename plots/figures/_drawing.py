"""What every figure starts from and ends in: the project's style, legible at column width, and PNG and PDF files.

A figure draws on `figure(...)` and returns a `Drawing`; `save` writes it with bytes that depend on nothing but the
drawing. `python -m plots figures` makes all of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmark.files import replacing

COLUMN, PAGE = 3.25, 6.75  # inches: one column and the text width of a two-column conference page
SIZES = {
    "font.size": 7.5, "axes.titlesize": 8, "axes.labelsize": 7.5, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 6.5, "lines.markersize": 4, "axes.linewidth": 0.6, "xtick.major.width": 0.6,
    "ytick.major.width": 0.6, "xtick.major.size": 2.5, "ytick.major.size": 2.5, "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5, "grid.linewidth": 0.4,
}  # fmt: skip
LOOK = {"axes.grid": True, "grid.color": "0.88", "axes.spines.top": False, "axes.spines.right": False}
FILES = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs on every machine
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 220,
    "pdf.fonttype": 42,  # text stays text
}
UNDATED: dict[str, dict[str, None]] = {  # metadata of a kind of file: dates and versions would make two runs differ
    "png": {"Software": None},
    "pdf": dict.fromkeys(("CreationDate", "ModDate", "Creator", "Producer")),
}


@cache
def theme() -> Any:
    """The settings of matplotlib: seaborn's for papers, smaller and with a faint grid."""
    import seaborn  # only where a figure is made: it takes a second to load

    return seaborn.axes_style("ticks", LOOK) | seaborn.plotting_context("paper", rc=SIZES) | FILES


@dataclass(frozen=True)
class Drawing:
    """What a figure module returns: the figure, and the caption that says what the bands and marks are."""

    figure: Figure
    caption: str


def figure(
    rows: int = 1, columns: int = 1, *, width: float = COLUMN, height: float = 2.3, **subplots: Any
) -> tuple[Figure, Any]:
    """A figure in the project's style and its axes, always as an array of shape (rows, columns)."""
    matplotlib.rcParams.update(theme())
    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(rows, columns, squeeze=False, **subplots)


def percent_axis(axis: Any, label: str = "") -> None:
    """Fractions on the axis, percent on its ticks and in its label."""
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100 * value:g}"))
    if label:
        axis.set_label_text(f"{label} (%)")


def log_axis(axis: Any) -> None:
    """A logarithmic axis with plain numbers: at 1, 2 and 5, or over many decades at 1 only."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def even_axis(axis: Axes, values: Iterable[float], label: str) -> dict[float, float]:
    """A place on the horizontal axis for each value, evenly, so that bars have room; returns value → place."""
    ordered = sorted(values)
    places = {value: float(i) for i, value in enumerate(ordered)}
    axis.set(xlabel=label, xticks=list(places.values()))
    axis.set_xticklabels([f"{value:g}" for value in ordered])
    return places


def settle(made: Figure) -> None:
    """Finds the places of everything once; otherwise each file would find them twice, most of its time."""
    engine = made.get_layout_engine()
    if engine:
        engine.execute(made)
    made.set_layout_engine(None)


def save(drawing: Drawing, name: str, folder: Path) -> None:
    """Write name.png, name.pdf and name.txt (the caption); twice gives identical bytes."""
    matplotlib.rcParams.update(theme())
    settle(drawing.figure)
    for kind, metadata in UNDATED.items():
        with replacing(folder / f"{name}.{kind}") as temporary:
            drawing.figure.savefig(temporary, format=kind, metadata=metadata)
    with replacing(folder / f"{name}.txt") as temporary:
        temporary.write_text(drawing.caption.strip() + "\n", encoding="utf-8")
