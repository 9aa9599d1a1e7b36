"""The AP surrogates equal their textbook forms, mix with the contrastive term, and fit large batches."""

import multiprocessing
import re
import resource
from pathlib import Path

import loss_oracles as oracle
import pytest
import torch
from loss_batches import batch, relative
from torch.nn import functional as F

import baselines
from baselines import _average_precision as _ranking

SURROGATES = {"smooth_ap": oracle.smooth_ap, "roadmap": oracle.sup_ap, "softbin_ap": oracle.softbin_ap}


def similarities(embeddings):
    f = F.normalize(embeddings)
    return f @ f.T


@pytest.mark.parametrize("block", [500, 1 << 21], ids=["small blocks", "one block"])
@pytest.mark.parametrize("kind", ["sorted", "shuffled", "unequal", "one_class", "singletons", "perfect"])
@pytest.mark.parametrize("name", SURROGATES)
def test_value_and_gradient_are_the_textbooks(name, kind, block, monkeypatch):
    monkeypatch.setattr(_ranking, "BLOCK", block)
    embeddings, labels = batch(kind, dtype=torch.float64)
    found = baselines.build(name, num_classes=9, embedding_dim=12, lam=1.0)(embeddings, labels)
    expected = SURROGATES[name](similarities(embeddings), labels)
    assert relative(found, expected) <= 1e-10
    ours, theirs = (torch.autograd.grad(value, embeddings)[0] for value in (found, expected))
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SURROGATES)
def test_single_precision_is_close_enough(name):
    embeddings, labels = batch("shuffled")
    found = baselines.build(name, num_classes=9, embedding_dim=12, lam=1.0)(embeddings, labels)
    expected = SURROGATES[name](similarities(embeddings), labels)
    assert relative(found, expected) <= 1e-5
    assert relative(*(torch.autograd.grad(value, embeddings)[0] for value in (found, expected))) <= 1e-4


@pytest.mark.parametrize("kind", ["shuffled", "unequal"])
def test_blackbox_ranks_and_their_gradient_are_the_publications(kind):
    embeddings, labels = batch(kind, n=24, dtype=torch.float64)
    s = similarities(embeddings).detach().requires_grad_()
    ranking = baselines.build("blackbox_ap", num_classes=9, embedding_dim=12).base.ranking
    found = ranking(s, labels)
    expected, expected_grad = oracle.blackbox_ap(s.detach(), labels)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    torch.testing.assert_close(torch.autograd.grad(found, s)[0], expected_grad, rtol=1e-10, atol=1e-14)
    assert expected_grad.abs().max() > 0


@pytest.mark.parametrize("name", [*SURROGATES, "blackbox_ap"])
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_any_weight_and_margin_of_the_contrastive_term(name, lam):
    embeddings, labels = batch("shuffled", dtype=torch.float64)
    loss = baselines.build(name, num_classes=9, embedding_dim=12, lam=lam, pos_margin=0.8, neg_margin=0.4)
    only = baselines.build(name, num_classes=9, embedding_dim=12, lam=1.0)(embeddings, labels)
    contrast = oracle.contrastive(similarities(embeddings), labels, 0.8, 0.4)
    value = loss(embeddings, labels)
    assert value.item() == pytest.approx((lam * only + (1 - lam) * contrast).item(), rel=1e-12)
    assert set(loss.parts) == {0.0: {"contrast"}, 0.3: {"ap", "contrast"}, 1.0: {"ap"}}[lam]


def test_roadmap_is_half_sup_ap_and_half_contrastive():
    embeddings, labels = batch("shuffled", dtype=torch.float64)
    s = similarities(embeddings)
    expected = 0.5 * oracle.sup_ap(s, labels) + 0.5 * oracle.contrastive(s, labels, 0.9, 0.6)
    found = baselines.build("roadmap", num_classes=9, embedding_dim=12)(embeddings, labels)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)


def large_steps(memory) -> None:
    torch.set_num_threads(1)
    ranked = [(name, 2560) for name in ("smooth_ap", "roadmap", "pnp", "recall_at_k")]
    for name, n in (*ranked, ("contextual", 4096)):
        embeddings, labels = batch("shuffled", n=n, d=16)
        torch.autograd.grad(baselines.build(name, num_classes=9, embedding_dim=16)(embeddings, labels), embeddings)
    memory.value = peak_mb()


def peak_mb() -> float:
    """Of this process; what getrusage says on Linux begins with the size of the process that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts bytes
    return float(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1024


def test_large_batches_fit_in_memory():
    """The textbook form of the ranking losses would hold 67 GB of differences, and twice that for the gradient."""
    context = multiprocessing.get_context("spawn")
    memory = context.Value("d", 0.0)
    process = context.Process(target=large_steps, args=(memory,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert 0 < memory.value < 1500  # MB, of which PyTorch itself takes about 500
