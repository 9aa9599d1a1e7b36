"""One look for every figure: the same colour and marker for the same method everywhere, legible at column
width.

A figure module draws on `figure(...)` with `look(method)` and returns a `Drawing`; `save` writes it as PNG
and PDF whose bytes depend on nothing but the drawing. `python -m plots figures` makes all of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

import baselines
from benchmark.errors import UserError
from benchmark.files import replacing
from benchmark.seeds import seed

COLUMN, PAGE = 3.25, 6.75  # inches: one column and the text width of a two-column conference page
RC: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs on every machine
    "font.size": 7.5,
    "text.color": ".15",
    "axes.labelcolor": ".15",
    "axes.edgecolor": ".15",
    "xtick.color": ".15",
    "ytick.color": ".15",
    "axes.axisbelow": True,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "white",
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "0.88",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 100,
    "savefig.dpi": 220,
    "pdf.fonttype": 42,  # text stays text
    "svg.hashsalt": "metric-learning-benchmark",
}


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    line: str = "-"


@dataclass(frozen=True)
class Drawing:
    """What a figure module returns: the figure, and the caption that says what the bands and marks are."""

    figure: Figure
    caption: str


# Order of rows and legends. Colours are from palettes made for colour-blind readers; every marker is used
# once, so that two methods differ even in black and white.
LOOKS: dict[str, Look] = {
    "untrained": Look("#7f7f7f", "x", ":"),
    "contrastive": Look("#0173b2", "s"),
    "triplet": Look("#029e73", "^"),
    "ntxent": Look("#56b4e9", "v"),
    "multi_similarity": Look("#cc78bc", "D"),
    "multi_similarity_miner": Look("#5d3a9b", "d"),
    "normalized_softmax": Look("#ca9161", "h"),
    "proxy_nca": Look("#de8f05", "P"),
    "proxy_anchor": Look("#8c510a", "X"),
    "fast_ap": Look("#999933", "<"),
    "smooth_ap": Look("#44aa99", ">"),
    "softbin_ap": Look("#aa4499", "8"),
    "blackbox_ap": Look("#000000", "p"),
    "roadmap": Look("#882255", "H"),
    "contextual": Look("#d55e00", "o"),
}
SPARE_COLOURS = ("#117733", "#332288", "#ddaa33", "#004488", "#bb5566", "#66ccee", "#555555")
SPARE_MARKERS = ("1", "2", "3", "4", "+", "|", "_")


def look(method: str) -> Look:
    """The fixed look of a method; any other gets one that depends on its name only."""
    if method in LOOKS:
        return LOOKS[method]
    number = seed("look", method)
    colour = SPARE_COLOURS[number % len(SPARE_COLOURS)]
    return Look(colour, SPARE_MARKERS[number // len(SPARE_COLOURS) % len(SPARE_MARKERS)], "--")


def title(method: str, otherwise: str = "") -> str:
    """The method's name in tables and legends, from its file."""
    try:
        return baselines.card(method).title
    except UserError:  # a run of a method whose file is not here any more
        return otherwise or method


def ordered(methods: Iterable[str]) -> list[str]:
    """Untrained first, the baselines by family, unknown methods by name, the paper's own last."""
    fixed = list(LOOKS)
    place = {name: i if name != "contextual" else len(fixed) + 1 for i, name in enumerate(fixed)}
    return sorted(set(methods), key=lambda name: (place.get(name, len(fixed)), name))


def figure(
    rows: int = 1, columns: int = 1, *, width: float = COLUMN, height: float = 2.3, **subplots: Any
) -> tuple[Figure, Any]:
    """A figure in the project's style and its axes, always as an array of shape (rows, columns)."""
    matplotlib.rcParams.update(RC)
    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(rows, columns, squeeze=False, **subplots)


def percent_axis(axis: Any) -> None:
    """Fractions on the axis, percent on its labels."""
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{100 * value:g}"))


def settle(made: Figure) -> None:
    """Finds the places of everything once; otherwise each file would find them twice, most of its time."""
    engine = made.get_layout_engine()
    if engine:
        engine.execute(made)
    made.set_layout_engine(None)


def save(drawing: Drawing, name: str, folder: Path) -> list[Path]:
    """Write name.png, name.pdf and name.txt (the caption); twice gives identical bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    matplotlib.rcParams.update(RC)
    settle(drawing.figure)
    # Dates and versions would make two runs differ.
    nothing = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    }
    written = []
    for kind, metadata in nothing.items():
        path = folder / f"{name}.{kind}"
        with replacing(path) as temporary:
            drawing.figure.savefig(temporary, format=kind, metadata=metadata)
        written.append(path)
    with replacing(folder / f"{name}.txt") as temporary:
        temporary.write_text(drawing.caption.strip() + "\n", encoding="utf-8")
    return [*written, folder / f"{name}.txt"]
