"""Speed and memory of evaluation against the bare similarity product and against pytorch_metric_learning.

Run by `make bench` (five minutes on two cores, most of it the products of 60,502 samples and the other library). Each size
runs in a process of its own, so that its memory is its own; what is compared alternates within that process.
"""

import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmark.bench import Row, row

DIMENSIONS = 512
KS = (1, 10, 100, 1000)


def run() -> list[Row]:
    cases = [(_size, 12_000, 6, 3), (_size, 5_924, 59, 5), (_library, 12_000, 6, 1), (_large, 60_502, 5, 1)]
    rows: list[Row] = []
    for work, n, per_class, repeat in [*cases, (_along, 10_000, 20, 3)]:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows += pool.apply(work, (n, per_class, repeat))
    return rows


def _size(n: int, per_class: int, repeat: int) -> list[Row]:
    """All metrics, on embeddings that separate their classes in part, and on random ones, which are the hardest."""
    from benchmark.evaluation import retrieval_metrics

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

    from benchmark.evaluation import retrieval_metrics

    x, y = _data(n, per_class, 3.0)
    names = ("precision_at_1", "mean_average_precision", "mean_average_precision_at_r")
    calculator = AccuracyCalculator(include=names, k=None, knn_func=CustomKNN(LpDistance()))
    (ours, theirs), peak = _alternating(
        repeat, lambda: retrieval_metrics(x, y, ks=KS), lambda: calculator.get_accuracy(x, y)
    )
    name = f"AccuracyCalculator, classes of {per_class}, trained"
    return [row(name, n, theirs, theirs / ours, f"retrieval_metrics {ours:.2f} s", peak)]


def _large(n: int, per_class: int, repeat: int) -> list[Row]:
    from benchmark.evaluation import retrieval_metrics

    x, y = _data(n, per_class, 3.0)
    (bare, plain), peak = _alternating(repeat, lambda: _product(x), lambda: retrieval_metrics(x, y, ks=KS))
    (again,), more = _alternating(repeat, lambda: retrieval_metrics(x, y, ks=KS, rerank=(4,)))
    name = f"retrieval_metrics, classes of {per_class}, trained"
    return [
        row(name, n, plain, plain / bare, f"bare product {bare:.2f} s", peak),
        row(f"{name}, re-ranked at 4", n, again, again / plain, f"retrieval_metrics {plain:.2f} s", more),
    ]


def _along(n: int, per_class: int, repeat: int) -> list[Row]:
    """What a training run computes after every epoch, on one thread as runs have by default."""
    import torch

    from benchmark.evaluation import recall_at_1

    torch.set_num_threads(1)
    x, y = _data(n, per_class, 3.0, dimensions=64)
    (bare, ours), peak = _alternating(repeat, lambda: _product(x), lambda: recall_at_1(x, y))
    return [
        row(
            "recall_at_1, 64 dimensions, one thread", n, ours, ours / bare, f"bare product {bare:.2f} s", peak
        )
    ]


def _data(n: int, per_class: int, noise: float, dimensions: int = DIMENSIONS):
    import torch

    from benchmark.seeds import torch_generator

    generator = torch_generator("bench", n, per_class)
    order = torch.randperm(n, generator=generator)
    labels = torch.arange(n)[order] // per_class
    centres = torch.randn(int(labels.max()) + 1, dimensions, generator=generator)
    x = centres[labels] + noise * torch.randn(n, dimensions, generator=generator)
    return torch.nn.functional.normalize(x, dim=1), labels


def _product(x) -> None:
    """All similarities in blocks, and nothing done with them."""
    import torch

    block = torch.empty(512, len(x))
    for start in range(0, len(x), 512):
        rows = x[start : start + 512]
        torch.mm(rows, x.T, out=block[: len(rows)])


def _alternating(repeat: int, *works: Callable[[], object]) -> tuple[list[float], float | None]:
    """The best time of each, and the memory in MB that they took beyond what was there before."""
    best = [float("inf")] * len(works)
    before = _memory("VmRSS", reset=True)
    for _ in range(repeat):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    after = _memory("VmHWM")
    return best, None if before is None or after is None else after - before


def _memory(field: str, reset: bool = False) -> float | None:
    """A line of /proc/self/status in MB; None where there is no such file."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    if reset:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts again from here
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024
