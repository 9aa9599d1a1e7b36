"""What the paper proves about the contextual loss holds for the shipped one."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

import baselines
from baselines.contextual import context_loss, contextual_similarity


def clustered(classes: int, k: int, d: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(classes * k)[torch.randperm(classes * k, generator=generator)] // k
    centres = torch.randn(classes, d, generator=generator, dtype=torch.float64)
    points = centres[labels] + noise * torch.randn(len(labels), d, generator=generator, dtype=torch.float64)
    return F.normalize(points), labels


def ranked_right(s: Tensor, labels: Tensor) -> bool:
    same = labels[:, None] == labels[None, :]
    return bool((s.masked_fill(~same, 9).amin(dim=1) > s.masked_fill(same, -9).amax(dim=1)).all())


some_batches = st.builds(
    clustered,
    classes=st.integers(3, 9),
    k=st.integers(2, 6),
    d=st.integers(2, 12),
    noise=st.sampled_from([0.01, 0.05, 0.2, 0.5, 1.0]),
    seed=st.integers(0, 2**31),
)


@settings(max_examples=100, deadline=None)
@given(some_batches)
def test_zero_exactly_when_every_sample_is_ranked_right(batch):
    f, labels = batch
    k = int((labels == 0).sum())
    value = float(context_loss(f, labels, k=k, eps=0.0))
    assert (value == 0) == ranked_right(f @ f.T, labels)


def test_both_outcomes_of_the_ranking_law_are_met():
    right = [ranked_right(f @ f.T, labels) for f, labels in (clustered(5, 4, 8, noise, 0) for noise in (0.05, 1.0))]
    assert right == [True, False]


@pytest.mark.parametrize("classes", [40, 150])
def test_a_perfect_large_batch_has_no_loss_and_no_gradient(classes):
    f, labels = clustered(classes, 10, 64, 0.05, 0)
    f = f.float().requires_grad_()
    loss = baselines.build("contextual", num_classes=classes, embedding_dim=64, k=10, eps=0.0, lam=1.0, gamma=0.0)
    value = loss(f, labels)
    assert value == 0
    assert torch.autograd.grad(value, f)[0].abs().max() == 0


@settings(max_examples=50, deadline=None)
@given(some_batches, st.floats(0, 0.5), st.integers(2, 6))
def test_similarity_is_symmetric_and_between_0_and_1(batch, eps, k):
    f, _ = batch
    w = contextual_similarity(f @ f.T, k, eps)
    assert torch.equal(w, w.T)
    assert w.min() >= 0
    assert w.max() <= 1 + 1e-12


def test_similarity_is_the_label_matrix_for_a_perfect_ranking():
    f, labels = clustered(6, 4, 16, 0.02, 1)
    w = contextual_similarity(f @ f.T, 4, 0.0)
    assert torch.equal(w, (labels[:, None] == labels[None, :]).double())
    assert torch.equal(w.diagonal(), torch.ones(24, dtype=torch.float64))


@settings(max_examples=30, deadline=None)
@given(some_batches, st.floats(0, 0.3), st.integers(0, 2**31))
def test_order_of_the_batch_and_rotation_of_the_space_do_not_matter(batch, eps, seed):
    f, labels = batch
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(f), generator=generator)
    rotation = torch.linalg.qr(torch.randn(f.shape[1], f.shape[1], generator=generator, dtype=torch.float64))[0]
    loss = baselines.build("contextual", num_classes=9, embedding_dim=f.shape[1], eps=eps)

    def value_and_gradient(f, labels):
        f = f.clone().requires_grad_()
        value = loss(f, labels)
        return value.detach(), torch.autograd.grad(value, f)[0]

    value, grad = value_and_gradient(f, labels)
    for changed, expected in (
        (value_and_gradient(f[order], labels[order]), grad[order]),
        (value_and_gradient(f @ rotation, labels), grad @ rotation),
    ):
        torch.testing.assert_close(changed[0], value, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(changed[1], expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("eps", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_a_point_among_the_wrong_class_is_pulled_home_all_the_way(seed, eps):
    """The paper's rolling point: 64 points on the circle, one rolls from the other class's centre to its own."""
    noise = 0.15 * torch.randn(64, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    labels = torch.arange(64) // 32
    angles = torch.where(labels == 0, math.pi / 2, 0.0) + noise
    loss = baselines.build("contextual", num_classes=2, embedding_dim=2, k=32, eps=eps, lam=1.0, gamma=0.0)
    values, away = [], []
    for angle in torch.linspace(math.pi / 2, 0, 31, dtype=torch.float64):
        theta = torch.cat([angles[:-1], angle[None]]).requires_grad_()
        value = loss(torch.stack([theta.cos(), theta.sin()], dim=1), labels)
        values.append(value.item())
        away.append(torch.autograd.grad(value, theta)[0][-1].item())  # along growing angle: away from its class
    assert values[-1] < 0.05 * values[0]
    assert all(step > 0 for step, value in zip(away, values, strict=True) if value > 1e-3)
