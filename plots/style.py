"""One look for every method: its colour and marker in every figure, its title and its place in every table."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import baselines
from benchmark.errors import UserError
from benchmark.seeds import seed


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str


# Order of rows and legends. Colours are from palettes made for colour-blind readers; every marker of the paper's
# methods is used once, so that two of them differ even in black and white.
LOOKS: dict[str, Look] = {
    "untrained": Look("#7f7f7f", "x"),
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
NEWER = (
    "hist", "s2sd", "multi_similarity_metrix", "proxy_anchor_metrix", "proxy_nca_metrix", "ibc", "proxy_nca_pp",
    "recall_at_k", "supcon", "arcface", "cosface", "subcenter_arcface", "soft_triple", "circle", "margin", "pnp",
    "mean_field", "anti_collapse", "center_contrastive", "potential_field", "idml", "hyperbolic", "happier",
)  # fmt: skip
DATASETS = {"cub": "CUB", "cars": "Cars", "sop": "SOP", "inat": "iNat", "inshop": "In-Shop"}
SPARE_COLOURS = ("#117733", "#332288", "#ddaa33", "#004488", "#bb5566", "#66ccee", "#555555")
SPARE_MARKERS = ("1", "2", "3", "4", "+", "|", "_")


def look(method: str) -> Look:
    """The fixed look of a method; any other gets one that depends on its name only."""
    if method in LOOKS:
        return LOOKS[method]
    number = NEWER.index(method) if method in NEWER else seed("look", method)
    marker = SPARE_MARKERS[number // len(SPARE_COLOURS) % len(SPARE_MARKERS)]
    return Look(SPARE_COLOURS[number % len(SPARE_COLOURS)], marker)


def line(method: str) -> dict[str, Any]:
    """How matplotlib is told the look of a method."""
    of_method = look(method)
    return {"color": of_method.colour, "marker": of_method.marker, "label": title(method)}


def title(method: str, otherwise: str = "") -> str:
    """The method's name in tables and legends, from its file."""
    try:
        return baselines.card(method).title
    except UserError:  # a run of a method whose file is not here any more
        return otherwise or method


def place(text: str) -> str:
    """A heading with data sets as papers write them: "cars?missing=skip, protocol test" → "Cars, protocol test"."""
    known = rf"(?<![\w./?-])({'|'.join(DATASETS)})(\?missing=skip)?(?![\w./?-])"
    return re.sub(known, lambda found: DATASETS[found[1]], text)


def ordered(methods: Iterable[str]) -> list[str]:
    """Untrained first, the baselines by family, unknown methods by name, the paper's own last."""
    fixed = list(LOOKS)
    place = {name: i if name != "contextual" else len(fixed) + 1 for i, name in enumerate(fixed)}
    return sorted(set(methods), key=lambda name: (place.get(name, len(fixed)), name))
