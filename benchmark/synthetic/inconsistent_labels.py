"""Pairs of test images whose labels differ and whose pictures do not: what no method can learn to tell apart.

The paper shows such pairs of CUB and SOP (figure image_examples); here they are found in the embedded data itself, pixel by
pixel, and counted. `python -m benchmark synthetic inconsistent_labels`
"""

import collections
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmark.datasets import open_dataset
from benchmark.datasets._dataset import Dataset, ceiling

EQUAL, SIMILAR = 6, 6  # pairs to show: without any difference, and with the smallest
SHRINK = 4  # candidates are looked for in images so much smaller
CANDIDATES = 4000  # of which the exact difference is measured


def table(data: Path) -> dict[str, list]:
    """One row a pair to show (kind `equal` or `similar`), and the counts of the whole test set in every row."""
    dataset = open_dataset("glyphs", data)
    indices = dataset.query
    images = np.stack([dataset.source.read(int(i)) for i in indices])  # (n, h, w, 1) uint8
    labels = dataset.labels[indices, 0]
    twins = equal_pairs(images, labels)
    counts = {
        "images": len(indices),
        "with a twin": len({i for pair in twins for i in pair}),
        "class pairs": len({_classes(labels, pair) for pair in twins}),
        "ceiling R@1": ceiling(images, labels),
    }
    chosen = [("equal", pair) for pair in _distinct(twins, labels, EQUAL)]
    seen = {_classes(labels, pair) for pair in twins}
    similar = [pair for pair in similar_pairs(images, labels) if _classes(labels, pair) not in seen]
    chosen += [("similar", pair) for pair in _distinct(similar, labels, SIMILAR)]
    rows = [
        {
            "kind": kind,
            "difference": difference(images[a], images[b]),
            "first": _name(dataset, labels[a]),
            "second": _name(dataset, labels[b]),
            "first image": images[a].tobytes(),
            "second image": images[b].tobytes(),
            "side": images.shape[1],
        }
        | counts
        for kind, (a, b) in chosen
    ]
    return {name: [row[name] for row in rows] for name in rows[0]}


def equal_pairs(images: np.ndarray, labels: np.ndarray) -> list[tuple[int, int]]:
    """All pairs of images (n, h, w, c) that are equal pixel by pixel and belong to different classes."""
    groups: dict[bytes, list[int]] = collections.defaultdict(list)
    for i, image in enumerate(images):
        groups[image.tobytes()].append(i)
    members = [group for group in groups.values() if len(group) > 1]
    return sorted((a, b) for g in members for a in g for b in g if a < b and labels[a] != labels[b])


def similar_pairs(images: np.ndarray, labels: np.ndarray) -> list[tuple[int, int]]:
    """The most similar pairs of different classes that are not equal, by the mean difference of a pixel."""
    n, side = len(images), images.shape[1] // SHRINK
    small = images.reshape(n, side, SHRINK, side, SHRINK).mean(axis=(2, 4)).reshape(n, -1)  # (n, side²)
    small = small.astype(np.float32) / 255
    names = [image.tobytes() for image in images]
    place = {name: i for i, name in enumerate(names)}
    pictures = np.array([place[name] for name in names])  # (n,) the same number for equal images
    found = sorted({pair for block in _nearest(small, labels, pictures) for pair in block})[:CANDIDATES]
    measured = sorted((difference(images[a], images[b]), a, b) for _, a, b in found)
    return [(a, b) for _, a, b in measured]


def _nearest(small: np.ndarray, labels: np.ndarray, pictures: np.ndarray) -> Iterator[list[tuple[float, int, int]]]:
    """For each image its nearest of another class that is not equal: (squared distance, a, b), in blocks."""
    square = (small**2).sum(axis=1)  # (n,)
    for start in range(0, len(small), 512):
        rows = slice(start, start + 512)
        D = square[rows, None] + square[None, :] - 2 * small[rows] @ small.T  # (512, n)
        D[labels[rows, None] == labels[None, :]] = np.inf
        D[pictures[rows, None] == pictures[None, :]] = np.inf  # equal ones are counted apart
        nearest = D.argmin(axis=1)
        yield [
            (round(float(D[i, j]), 3), min(start + i, int(j)), max(start + i, int(j))) for i, j in enumerate(nearest)
        ]


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Mean absolute difference of a pixel, 0 … 1."""
    return float(np.abs(a.astype(np.int64) - b.astype(np.int64)).mean() / 255)


def _classes(labels: np.ndarray, pair: tuple[int, int]) -> tuple[int, int]:
    a, b = sorted((int(labels[pair[0]]), int(labels[pair[1]])))
    return a, b


def _distinct(pairs: list[tuple[int, int]], labels: np.ndarray, count: int) -> list[tuple[int, int]]:
    """The first pairs such that no class is shown twice."""
    chosen: list[tuple[int, int]] = []
    shown: set[int] = set()
    for pair in pairs:
        classes = set(_classes(labels, pair))
        if len(chosen) < count and not classes & shown:
            chosen.append(pair)
            shown |= classes
    return chosen


def _name(dataset: Dataset, label: int) -> str:
    name = dataset.names[0][int(label)]
    return unicodedata.name(name) if len(name) == 1 else name
