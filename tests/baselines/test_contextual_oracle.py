"""The contextual loss equals the paper's equations, in value and gradient, on every kind of batch and on both ways to it."""

import loss_oracles as oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_batches import batch, relative

import baselines
from baselines import _contextual_lists as _neighbours
from baselines._contextual_definition import VARIANTS
from baselines.contextual import context_loss, contextual_similarity

KINDS = ["sorted", "shuffled", "unequal", "duplicates", "collapsed", "one_class", "singletons", "perfect"]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


@pytest.fixture
def on_lists(monkeypatch):
    """Makes even small and crowded batches take the way of neighbour lists, and walk them in many parts."""
    limits = {"SMALLEST": 0, "FULL": 0.1, "SHARE": 1e-9, "MOST": 1e9, "WIDEST": 1.0}
    for name, value in (limits | {"ROWS": 10, "TILE": 7}).items():
        monkeypatch.setattr(_neighbours, name, value)
    monkeypatch.setattr("baselines._pairs.WALKS", 500)
    monkeypatch.delattr("baselines._contextual_fast._dense")


def compare(embeddings, labels, tolerance, **params):
    loss = baselines.build("contextual", num_classes=99, embedding_dim=embeddings.shape[1], **params)
    found = loss(embeddings, labels)
    expected = oracle.contextual_loss(embeddings, labels, **params)
    assert relative(found, expected) <= tolerance
    ours, theirs = (torch.autograd.grad(value, embeddings)[0] for value in (found, expected))
    if theirs.norm() > 1e-12:
        assert relative(ours, theirs) <= tolerance
    else:  # nothing is left to learn: ours must not move anything either
        assert ours.norm() <= tolerance


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eps", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("k", [2, 4, 8])
def test_loss_and_gradient_are_the_papers(kind, k, eps, dtype):
    compare(*batch(kind, k=k, dtype=dtype), TOLERANCE[dtype], k=k, eps=eps)


@pytest.mark.usefixtures("on_lists")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", ["sorted", "shuffled", "unequal", "duplicates", "one_class", "singletons", "perfect"])
@pytest.mark.parametrize(("k", "eps"), [(2, 0.0), (4, 0.05), (8, 0.5)])
def test_neighbour_lists_give_the_papers_loss_and_gradient(kind, k, eps, dtype):
    compare(*batch(kind, k=k, dtype=dtype), TOLERANCE[dtype], k=k, eps=eps)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(8, 40),
    d=st.integers(2, 16),
    k=st.integers(2, 8),
    eps=st.floats(0, 0.5),
    lam=st.sampled_from([0.0, 0.4, 1.0]),
    seed=st.integers(0, 2**31),
    kind=st.sampled_from(KINDS),
)
def test_any_batch_agrees_in_float64(n, d, k, eps, lam, seed, kind):
    compare(*batch(kind, n=n, d=d, k=k, seed=seed, dtype=torch.float64), 1e-10, k=k, eps=eps, lam=lam)


def test_a_large_batch_takes_the_way_of_lists_and_agrees():
    embeddings, labels = batch("shuffled", n=640, d=48)
    f = torch.nn.functional.normalize(embeddings.detach())
    terms = baselines.build("contextual", num_classes=1, embedding_dim=48).base.terms
    assert _neighbours.find(f @ f.T, labels, terms) is not None
    compare(embeddings, labels, 1e-5)


def test_crowded_neighbourhoods_of_a_large_batch_take_dense_products_and_agree():
    embeddings, labels = batch("collapsed", n=512, d=16)
    f = torch.nn.functional.normalize(embeddings.detach())
    terms = baselines.build("contextual", num_classes=1, embedding_dim=16, eps=0.3).base.terms
    assert _neighbours.find(f @ f.T, labels, terms) is None
    compare(embeddings, labels, 1e-5, eps=0.3)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["shuffled", "unequal", "duplicates"])
def test_each_ablation_is_its_own_equation(variant, kind):
    compare(*batch(kind, n=32, dtype=torch.float64), 1e-10, variant=variant)


@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - {"full"}))
def test_each_ablation_changes_something(variant):
    embeddings, labels = batch("shuffled", dtype=torch.float64)

    def result(variant):
        loss = baselines.build("contextual", num_classes=9, embedding_dim=12, lam=1.0, variant=variant)(
            embeddings, labels
        )
        return torch.autograd.grad(loss, embeddings)[0]

    assert relative(result(variant), result("full")) > 1e-3


@pytest.mark.parametrize("eps", [0.0, 0.05, 0.5])
def test_similarity_matrix_and_its_gradient_are_the_papers(eps):
    embeddings, _ = batch("shuffled", dtype=torch.float64)
    f = torch.nn.functional.normalize(embeddings)
    s = (f @ f.T).detach().requires_grad_()
    weights = torch.randn(s.shape, generator=torch.Generator().manual_seed(1), dtype=s.dtype)
    found, expected = contextual_similarity(s, 4, eps), oracle.contextual_similarity(2 - 2 * s, 4, eps)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    ours, theirs = (torch.autograd.grad((w * weights).sum(), s)[0] for w in (found, expected))
    assert relative(ours, theirs) <= 1e-10


def test_terms_are_weighed_as_the_setting_says():
    embeddings, labels = batch("shuffled", dtype=torch.float64)
    s = torch.nn.functional.normalize(embeddings) @ torch.nn.functional.normalize(embeddings).T
    loss = baselines.build("contextual", num_classes=9, embedding_dim=12, lam=0.4, contrast_weight=0.5, s_tilde=0.25)
    value = loss(embeddings, labels)
    parts = loss.parts
    assert parts["context"] == pytest.approx(oracle.context(s, labels, 4, 0.05).item(), rel=1e-12)
    assert parts["contrast"] == pytest.approx(oracle.contrastive(s, labels, 0.75, 0.6).item(), rel=1e-12)
    assert parts["reg"] == pytest.approx((s.mean().item() - 0.25) ** 2, rel=1e-12)
    total = 0.4 * parts["context"] + 0.5 * parts["contrast"] + 0.1 * parts["reg"]
    assert value.item() == pytest.approx(total.item(), rel=1e-12)


def test_the_value_to_watch_is_the_one_that_is_trained():
    embeddings, labels = batch("shuffled", n=600, d=32)
    loss = baselines.build("contextual", num_classes=9, embedding_dim=32)
    loss(embeddings, labels)
    watched = context_loss(embeddings, labels, k=4, eps=0.05)
    assert not watched.requires_grad
    assert watched.item() == pytest.approx(loss.parts["context"].item(), rel=1e-6)
