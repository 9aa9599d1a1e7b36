"""What runs retrieved for the queries that are kept with them, and the images themselves where the data are at hand.

A run's column `retrieved` holds the nearest images of a fixed sample of queries, the same for every method and seed
(`benchmark/training/measure.py`). Names of classes and thumbnails come from the data set, if it can be opened.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageOps

from benchmark.datasets import at_hand, open_dataset
from benchmark.datasets._dataset import Dataset, FileSource
from benchmark.errors import UserError
from benchmark.results import class_names
from benchmark.shipped import reference
from plots import style
from plots.data import Results, datasets, final, finished

STUDIES = ("main", "reality_check", "inshop", "hierarchy")  # in which methods meet
RIGHT, COARSE, WRONG = 2, 1, 0  # an image of the query's class; of a coarser class of it; of another


@dataclass(frozen=True)
class Album:
    """The images of a data set by their index, or only numbers where it is not at hand."""

    dataset: str
    data: Path
    labels: dict[int, tuple[int, ...]]  # that runs saw: data that say otherwise are others
    names: tuple[tuple[str, ...], ...] = ()  # of classes, as they were committed with the runs

    @cached_property
    def opened(self) -> Dataset | None:
        try:
            found = _opened(self.dataset, self.data) if at_hand(self.dataset, self.data) else None
        except UserError:  # moved, or not whole: labels stand in the place of images
            return None
        if found is None:
            return None
        fits = all(i < len(found.labels) and tuple(found.labels[i]) == seen for i, seen in self.labels.items())
        return found if fits else None

    def name(self, level: int, label: int) -> str:
        known = self.opened.names if self.opened else self.names
        return known[level][label] if known else f"class {label}"

    def thumbnail(self, index: int, side: int) -> np.ndarray:
        """(side, side, 3): the middle square of the image."""
        assert self.opened is not None
        source = self.opened.source
        if isinstance(source, FileSource):  # read at about the size that is wanted: four times as fast
            file = Image.open(source.path(index))
            file.draft("RGB", (2 * side, 2 * side))
            image = ImageOps.exif_transpose(file).convert("RGB")
        else:
            pixels = source.read(index)
            image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).convert("RGB")
        short = min(image.size)
        left, top = (image.width - short) // 2, (image.height - short) // 2
        square = image.crop((left, top, left + short, top + short))
        return np.asarray(square.resize((side, side), Image.Resampling.LANCZOS))


_opened = cache(open_dataset)


@dataclass(frozen=True)
class Retrieved:
    """What the methods of a study found on one data set under one protocol."""

    study: str
    scale: str
    dataset: str
    protocol: str
    album: Album
    queries: np.ndarray  # (q,) indices of images
    labels: dict[int, tuple[int, ...]]  # of every image named here, finest first
    found: dict[str, dict[int, np.ndarray]]  # method → seed → (q, 10) indices, nearest first
    cosine: dict[str, np.ndarray]  # method → (q, 10), of its first seed
    run_ids: dict[str, tuple[str, ...]]  # method → its runs

    @property
    def methods(self) -> list[str]:
        return style.ordered(self.found)

    def first(self, method: str) -> np.ndarray:
        """Of the first seed: (q, 10)."""
        return self.found[method][min(self.found[method])]

    def grade(self, query: int, index: int) -> int:
        """RIGHT, COARSE or WRONG."""
        mine, theirs = self.labels[query], self.labels[index]
        if mine[0] == theirs[0]:
            return RIGHT
        return COARSE if any(a == b for a, b in zip(mine[1:], theirs[1:], strict=True)) else WRONG

    def grades(self, method: str) -> np.ndarray:
        """(q, 10), of the first seed."""
        rows = zip(self.queries, self.first(method), strict=True)
        return np.array([[self.grade(int(query), int(index)) for index in row] for query, row in rows])

    def telling(self, methods: Iterable[str]) -> list[int]:
        """Places of the queries, those first on which the methods differ most; near places count more."""
        weights = 1 / np.arange(1, self.first(self.methods[0]).shape[1] + 1)
        hits = np.array([(self.grades(name) == RIGHT) @ weights for name in methods])  # (methods, q)
        return [int(i) for i in np.argsort(-np.ptp(hits, axis=0), kind="stable")]


def retrieved(results: Results) -> Iterator[Retrieved]:
    """Every data set and protocol that has runs with neighbours, in the order of data sets; the first study that has."""
    seen = set()
    for study in STUDIES:
        try:
            runs = finished(final(results.frame(study)))
        except UserError:
            continue
        if "retrieved" not in runs:
            return
        runs = runs[runs["retrieved"].fillna("").str.len() > 2]
        for dataset in datasets(runs):
            for protocol, part in runs[runs["dataset"] == dataset].groupby("protocol", sort=True):
                if (dataset, protocol) not in seen:
                    seen.add((dataset, protocol))
                    yield _of(study, results, dataset, str(protocol), part)


def _of(study: str, results: Results, dataset: str, protocol: str, runs: pd.DataFrame) -> Retrieved:
    labels: dict[int, tuple[int, ...]] = {}
    found: dict[str, dict[int, np.ndarray]] = {}
    cosine: dict[str, np.ndarray] = {}
    queries = np.array([], int)
    for row in runs.sort_values("seed").to_dict("records"):
        told = json.loads(row["retrieved"])
        queries = np.array(told["queries"])
        labels |= {int(index): tuple(of_image) for index, of_image in told["labels"].items()}
        found.setdefault(row["method"], {})[row["seed"]] = np.array(told["found"])
        cosine.setdefault(row["method"], np.array(told["cosine"]))
    asked = json.loads(runs["spec"].iloc[0])["dataset"]  # with its options: images that were left out have no index
    names = class_names.read(reference(results.root), str(runs["fingerprint"].iloc[0]))
    album = Album(asked, results.data, labels, names)
    ids = {str(method): tuple(part["run_id"]) for method, part in runs.groupby("method")}
    return Retrieved(study, results.scale, dataset, protocol, album, queries, labels, found, cosine, ids)


def confused_pairs(kept: Retrieved) -> pd.DataFrame:
    """One row a method and pair of classes: query class, class of its nearest image, share of those queries.

    Shares are of the queries of that class (`images`), over all seeds; a method that never confuses a pair has share 0.
    `confused`: how many of them, mean over seeds. By it pairs are ranked, since one query of a class makes 100 % easily.
    """
    rows = []
    classes = np.array([kept.labels[int(index)][0] for index in kept.queries])
    for method in kept.methods:
        for nearest in kept.found[method].values():
            first = np.array([kept.labels[int(index)][0] for index in nearest[:, 0]])
            rows += [(method, int(a), int(b)) for a, b in zip(classes, first, strict=True) if a != b]
    if not rows:
        return pd.DataFrame(columns=["method", "query", "taken", "share", "others", "images", "confused"])
    counts = pd.DataFrame(rows, columns=["method", "query", "taken"]).value_counts().unstack("method", fill_value=0)
    counts = counts.reindex(columns=kept.methods, fill_value=0)
    asked = pd.Series(classes).value_counts()
    seeds = pd.Series({name: len(found) for name, found in kept.found.items()})
    shares = counts.div(counts.index.get_level_values("query").map(asked).to_numpy(), axis=0) / seeds
    rest = (shares.sum(axis=1).to_numpy()[:, None] - shares) / max(1, len(kept.methods) - 1)
    long = pd.concat({"share": shares.stack(), "others": rest.stack()}, axis=1)
    return long.reset_index().assign(
        images=lambda pairs: pairs["query"].map(asked), confused=lambda pairs: pairs["share"] * pairs["images"]
    )
