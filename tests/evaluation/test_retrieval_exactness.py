"""The numbers do not depend on blocks, threads, memory or number format: they are those of float64."""

import numpy as np
import pytest
import torch
from retrieval_oracles import hierarchical, retrieval

from benchmark.evaluation import recall_at_1, retrieval_metrics, similarity
from benchmark.evaluation.similarity import Similarities


def _embeddings(kind: str, n: int = 240, d: int = 48) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(0, 40, (n,), generator=generator)
    normal = torch.randn(n, d, generator=generator)
    if kind == "random":
        return normal, labels
    if kind == "clustered":
        return torch.randn(40, d, generator=generator)[labels] + normal, labels
    if kind == "duplicates":  # every picture several times, under different labels
        return normal[torch.randint(0, n // 5, (n,), generator=generator)], labels
    if kind == "collapsed":  # cosines differ by about 1e-12, where even float64 sums depend on their order
        return 1 + 1e-6 * normal, labels
    if kind == "two scales":  # cosines apart by 1e-8 and by 2: too close for a whole number of 31 bits, but no ties
        return (torch.where(labels % 2 > 0, 1, -1)[:, None] * (1 + 3e-4 * normal)).double(), labels
    if kind == "two directions":  # what is left of a space that collapsed to a plane
        return torch.cat([100 * normal[:, :2], normal[:, 2:]], dim=1), labels
    return normal.abs() * torch.where(torch.arange(d) < d // 2, 1, -1) * (1 + labels[:, None] % 2), labels


KINDS = ("random", "clustered", "duplicates", "collapsed", "two scales", "two directions", "one sign")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_do_not_depend_on_blocks_threads_or_precision(kind: str, monkeypatch: pytest.MonkeyPatch):
    x, y = _embeddings(kind)
    levels = torch.stack([y, y // 5], dim=1)
    expected = retrieval_metrics(x, levels, rerank=(4,))
    for rows in (7, 100):
        monkeypatch.setattr(similarity, "ROWS", rows)
        assert retrieval_metrics(x, levels, rerank=(4,)) == expected
        assert recall_at_1(x, y) == expected["R@1/0"]
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3 - min(before, 2))
        assert retrieval_metrics(x, levels, rerank=(4,)) == expected
    finally:
        torch.set_num_threads(before)
    monkeypatch.setattr(Similarities, "block", Similarities.double_block)
    assert retrieval_metrics(x, levels, rerank=(4,)) == expected
    assert recall_at_1(x, y) == expected["R@1/0"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "collapsed"])
def test_medium_sets_equal_the_definitions(kind: str):
    x, y = (a.numpy() for a in _embeddings(kind, n=120))
    expected, _ = retrieval(x, y, None, None, (1, 10))
    found = retrieval_metrics(x, y, ks=(1, 10))
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    levels = np.stack([y, y // 5, y // 20], axis=1)  # more positives than are counted one by one
    found, expected = retrieval_metrics(x, levels), hierarchical(x, levels)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    for level, of_level in enumerate(levels.T):
        expected, _ = retrieval(x, of_level, None, None, (1, 2, 4, 8))
        assert {name: found[f"{name}/{level}"] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert retrieval_metrics(x, levels, memory_mb=0) == found  # a gallery too large to hold all similarities


@pytest.mark.parametrize("d", [2, 16, 64, 512])
@pytest.mark.parametrize("kind", ["random", "clustered", "two directions", "one sign"])
def test_the_margin_covers_the_error_of_float32(kind: str, d: int):
    x, _ = _embeddings(kind, n=600, d=d)
    similarities = Similarities(x, x, leave_one_out=False)
    rows = np.arange(len(x))
    exact = similarities.double_block(rows).values
    for block in (similarities.block(rows), similarities.block(rows[:5])):
        error = np.abs(block.values - exact[: len(block.values)])
        low, high = block.window(block.values)
        assert (2 * error < (high - low) / 2).all()


def test_half_precision_embeddings_are_judged_as_the_numbers_they_are():
    x, y = _embeddings("random")
    for kind in (torch.float16, torch.bfloat16):
        assert retrieval_metrics(x.to(kind), y) == retrieval_metrics(x.to(kind).double(), y)


def test_arrays_lists_and_tensors_with_gradient_give_the_same():
    x, y = _embeddings("random", n=50)
    expected = retrieval_metrics(x, y)
    locked = x.numpy().copy()
    locked.flags.writeable = False
    for given in (x.clone().requires_grad_(), x.numpy()[::-1][::-1], locked, x.tolist()):
        assert retrieval_metrics(given, y) == pytest.approx(expected, abs=1e-12)
    for labels in (y.numpy().astype(np.uint16), y.tolist(), y.to(torch.int8)):
        assert retrieval_metrics(x, labels) == expected


def test_lengths_do_not_matter_however_large():
    x, y = _embeddings("clustered", n=200)
    scale = torch.logspace(-150, 150, 200, dtype=torch.float64)[:, None]
    assert retrieval_metrics(x.double() * scale, y) == retrieval_metrics(x.double(), y)


def test_settings_of_the_training_do_not_reach_evaluation():
    x, y = _embeddings("random")
    expected = retrieval_metrics(x, y)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert retrieval_metrics(x, y) == expected
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
