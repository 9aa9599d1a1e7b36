"""Made-up neighbours of letters: the true test images of the embedded data, found with a skill of its own by each method."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmark.datasets import open_dataset
from benchmark.seeds import numpy_generator

NEAREST, CLASSES = 10, 30


def neighbours(data: Path, method: str, seed: int, queries: int = 40) -> dict[str, Any]:
    """What a run keeps: of each query the ten nearest, more often of its class or script the better the method."""
    dataset = open_dataset("glyphs", data)
    kept = np.unique(dataset.labels[dataset.query, 0])[:CLASSES]
    pool = dataset.query[np.isin(dataset.labels[dataset.query, 0], kept)]
    asked = pool[:: max(1, len(pool) // queries)][:queries]
    generator = numpy_generator("found", method, seed)
    skill = {"untrained": 0.2, "contextual": 0.75}.get(method, 0.55)
    found = []
    for query in asked:
        others = pool[pool != query]
        of_class = dataset.labels[others, 0] == dataset.labels[query, 0]
        of_script = dataset.labels[others, -1] == dataset.labels[query, -1]
        weights = np.where(of_class, skill / of_class.sum(), (1 - skill) / len(others)) * np.where(of_script, 2.0, 1.0)
        found.append(generator.choice(others, NEAREST, replace=False, p=weights / weights.sum()))
    named = np.unique(np.concatenate([asked, *found]))
    return {
        "queries": asked.tolist(),
        "found": [row.tolist() for row in found],
        "cosine": [np.round(np.linspace(0.99, 0.6, NEAREST), 3).tolist() for _ in found],
        "labels": {str(index): dataset.labels[index].tolist() for index in named},
    }
