"""Speed and memory of evaluation against the bare similarity product and against pytorch_metric_learning.

Run by `make bench` (five minutes on two cores, most of it the products of 60,502 samples and the other library). Each size
runs in a process of its own, so that its memory is its own; what is compared alternates within that process.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from benchmark.bench import Row, row
from benchmark.datasets._dataset import ArraySource, Dataset
from benchmark.evaluation import recall_among_distractors, recall_at_1, retrieval_metrics
from benchmark.planning import settings
from benchmark.running import process
from benchmark.seeds import torch_generator
from benchmark.spec import RunSpec
from benchmark.training import run as training
from benchmark.training.features import Features
from benchmark.training.inputs import FeatureInputs

DIMENSIONS = 512
KS = (1, 10, 100, 1000)


def run() -> Iterator[Row]:
    cases = [(_cub, 5_924, DIMENSIONS, 3), (_lane, 5_924, 2_048, 2), (_size, 12_000, 6, 3), (_size, 5_924, 59, 3)]
    for work, n, size, repeat in [*cases, (_library, 12_000, 6, 1), (_large, 60_502, 5, 1)]:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            yield from pool.apply(work, (n, size, repeat))


def _size(n: int, per_class: int, repeat: int) -> list[Row]:
    """All metrics, on embeddings that separate their classes in part, and on random ones, which are the hardest."""
    rows = []
    for kind, noise in (("trained", 3.0), ("random", 1e6)):
        x, y = _data(n, per_class, noise)
        ours = partial(retrieval_metrics, x, y, ks=KS)
        (bare, seconds), peak = _alternating(repeat, partial(_product, x), ours)
        name = f"retrieval_metrics, classes of {per_class}, {kind}"
        rows.append(row(name, n, seconds, seconds / bare, f"bare product {bare:.2f} s", peak))
    return rows


def _library(n: int, per_class: int, repeat: int) -> list[Row]:
    from pytorch_metric_learning.distances import LpDistance
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import CustomKNN

    x, y = _data(n, per_class, 3.0)
    names = ("precision_at_1", "mean_average_precision", "mean_average_precision_at_r")
    calculator = AccuracyCalculator(include=names, k=None, knn_func=CustomKNN(LpDistance()))
    works = (lambda: retrieval_metrics(x, y, ks=KS), lambda: calculator.get_accuracy(x, y))
    (ours, theirs), peak = _alternating(repeat, *works)
    name = f"AccuracyCalculator, classes of {per_class}, trained"
    return [row(name, n, theirs, theirs / ours, f"retrieval_metrics {ours:.2f} s", peak)]


def _large(n: int, per_class: int, repeat: int) -> list[Row]:
    x, y = _data(n, per_class, 3.0)
    (bare, plain), peak = _alternating(repeat, lambda: _product(x), lambda: retrieval_metrics(x, y, ks=KS))
    (again,), more = _alternating(repeat, lambda: retrieval_metrics(x, y, ks=KS, rerank=(4,)))
    name = f"retrieval_metrics, classes of {per_class}, trained"
    return [
        row(name, n, plain, plain / bare, f"bare product {bare:.2f} s", peak),
        row(f"{name}, re-ranked at 4", n, again, again / plain, f"retrieval_metrics {plain:.2f} s", more),
    ]


def _cub(n: int, dimensions: int, repeat: int) -> list[Row]:
    """The sizes and the hierarchy of CUB's test set, on one core as a run has it, in seconds of the processor."""
    _as_in_a_run()
    rows = []
    for kind, noise in (("random", 1e6), ("trained", 3.0)):
        labels = torch.from_numpy(_birds(n))
        generator = torch_generator("bench", n, kind)
        centres = [torch.randn(int(y.max()) + 1, dimensions, generator=generator) for y in labels.T]
        x = sum(c[y] for c, y in zip(centres, labels.T, strict=True))
        x = torch.nn.functional.normalize(x + noise * torch.randn(n, dimensions, generator=generator), dim=1)
        works = (partial(_product, x), partial(retrieval_metrics, x, labels), partial(recall_at_1, x, labels))
        (bare, every, first), peak = _alternating(repeat, *works, clock=time.process_time)
        to = f"bare product {bare:.2f} s"
        rows.append(row(f"all metrics at CUB's 3 levels, one core, {kind}", n, every, every / bare, to, peak))
        rows.append(row(f"R@1 alone, one core, {kind}", n, first, first / bare, to, peak))
    crowd = torch.nn.functional.normalize(torch.randn(10 * n, dimensions, generator=generator), dim=1)
    among = partial(recall_among_distractors, x, labels, crowd, (n, 10 * n))
    (bare, seconds), peak = _alternating(1, partial(_product, x, crowd), among, clock=time.process_time)
    to = f"bare product with them {bare:.2f} s"
    rows.append(row("R@1 among ten times as many distractors, one core", n, seconds, seconds / bare, to, peak))
    return rows


def _lane(n: int, width: int, repeat: int) -> list[Row]:
    """Whole runs on features of CUB's size: the head trained by 300 batches of 128, with 10 looks, on one core."""
    _as_in_a_run()
    labels = _birds(n)
    both = np.concatenate([labels, labels + labels.max(axis=0) + 1])
    names = tuple(tuple(map(str, range(y.max() + 1))) for y in both.T)
    images, side = ArraySource(np.empty((2 * n, 0), np.uint8)), np.arange(n)
    birds = Dataset("cub", ("species", "family", "order"), both, names, side, side + n, images, "")
    x = torch.randn(2 * n, width, generator=torch_generator("bench", n)).numpy()
    x += 3 * x[np.searchsorted(both[:, 0], both[:, 0])]  # those of a class have something in common

    def inputs(spec, dataset, view, data, device):
        return FeatureInputs(spec, view, Features((x,) * spec.views, None), device), None, width

    rows = []
    with patch.object(training, "open_dataset", lambda *_: birds), patch.object(training, "open_inputs", inputs):
        for phase in ("tune", "final"):
            spec = RunSpec(dataset="cub", method="contrastive", **settings.setting("photos", "cub", "contrastive"))
            spec = spec.replace(phase=phase, epochs=10, evaluate_every=1)
            once = partial(training.run, spec, data=Path())
            (bare, seconds), peak = _alternating(repeat, partial(_product, x), once, clock=time.process_time)
            name = {"tune": "a trial", "final": "a final run"}[phase]
            to = f"bare product of {width} dimensions {bare:.2f} s"
            rows.append(row(f"{name} on features, one core", n, seconds, seconds / bare, to, peak))
    return rows


# species in the families of each order
FAMILIES = ((2, 29, 7, 1, 4, 2, 2, 21, 7, 1, 2, 1, 2, 2), (1, 7), (6,), (1,), (1,), (1,))


def _birds(n: int) -> np.ndarray:
    """Labels (n, 3) with as many species in the families and orders as the test set of CUB has, in its order."""
    sizes = [size for order in FAMILIES for size in order]
    species = np.arange(n) * sum(sizes) // n
    family = np.repeat(np.arange(len(sizes)), sizes)[species]
    order = np.repeat(np.arange(len(FAMILIES)), [len(order) for order in FAMILIES])[family]
    return np.stack([species, family, order], axis=1)


def _as_in_a_run() -> None:
    process.keep_memory()
    torch.set_num_threads(1)


def _data(n: int, per_class: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch_generator("bench", n, per_class)
    order = torch.randperm(n, generator=generator)
    labels = torch.arange(n)[order] // per_class
    centres = torch.randn(int(labels.max()) + 1, DIMENSIONS, generator=generator)
    x = centres[labels] + noise * torch.randn(n, DIMENSIONS, generator=generator)
    return torch.nn.functional.normalize(x, dim=1), labels


def _product(x, others=None) -> None:
    """All similarities in blocks, and nothing done with them."""
    x = torch.as_tensor(x)
    others = x if others is None else others
    block = torch.empty(512, len(others))
    for start in range(0, len(x), 512):
        rows = x[start : start + 512]
        torch.mm(rows, others.T, out=block[: len(rows)])


def _alternating(
    repeat: int, *works: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> tuple[list[float], float]:
    """The best time of each, and the memory in MB that they took beyond what was there before."""
    best = [float("inf")] * len(works)
    process.reset_peak()
    before = process.peak_mb(card=False)
    for _ in range(repeat):
        for i, work in enumerate(works):
            start = clock()
            work()
            best[i] = min(best[i], clock() - start)
    return best, process.peak_mb(card=False) - before
