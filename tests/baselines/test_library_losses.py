"""The losses that come from pytorch-metric-learning compute what their publications say, with the paper's constants."""

import math

import loss_oracles as oracle
import pytest
import torch
from loss_batches import batch
from pytorch_metric_learning.losses import NTXentLoss
from torch.nn import functional as F

import baselines


@pytest.fixture
def data():
    return batch("shuffled", n=24, d=8, dtype=torch.float64)


def build(name: str, **params):
    return baselines.build(name, num_classes=6, embedding_dim=8, **params)


def pairs(labels, i):
    """Positives and negatives of sample i."""
    others = [j for j in range(len(labels)) if j != i]
    return [j for j in others if labels[j] == labels[i]], [j for j in others if labels[j] != labels[i]]


def cosines(embeddings):
    f = F.normalize(embeddings.detach())
    return f @ f.T


def proxies_of(loss):
    (parameter,) = loss.parameters()
    return F.normalize(parameter.detach().double(), dim=1)


def test_contrastive(data):
    embeddings, labels = data
    expected = oracle.contrastive(cosines(embeddings), labels, 0.9, 0.6)
    assert build("contrastive")(*data).item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("kind", ["shuffled", "unequal", "perfect", "collapsed"])
def test_contrastive_term_of_other_losses_is_the_contrastive_loss(kind):
    embeddings, labels = batch(kind, dtype=torch.float64)
    alone = baselines.build("contrastive", num_classes=9, embedding_dim=12)(embeddings, labels)
    term = baselines.build("smooth_ap", num_classes=9, embedding_dim=12, lam=0.0)(embeddings, labels)
    assert term.item() == pytest.approx(alone.item(), rel=1e-12)
    grads = [torch.autograd.grad(value, embeddings)[0] for value in (term, alone)]
    torch.testing.assert_close(*grads, rtol=1e-9, atol=1e-14)


def test_triplet(data):
    embeddings, labels = data
    loss, same_again = build("triplet"), build("triplet")
    f = F.normalize(embeddings.detach())
    anchors, positives, negatives = same_again.base.mined(f, labels)
    assert (labels[anchors] == labels[positives]).all()
    assert (anchors != positives).all()
    assert (labels[anchors] != labels[negatives]).all()
    far = (f[anchors] - f[negatives]).norm(dim=1)
    assert far.max() < 1.4
    violation = (f[anchors] - f[positives]).norm(dim=1) - far + 0.05
    assert loss(*data).item() == pytest.approx(violation[violation > 0].mean().item(), rel=1e-9)


def test_ntxent(data):
    embeddings, labels = data
    s, terms = cosines(embeddings) / 0.07, []
    for i in range(len(s)):
        positives, negatives = pairs(labels, i)
        for p in positives:
            terms.append(torch.logsumexp(s[i, [p, *negatives]], dim=0) - s[i, p])
    assert build("ntxent")(*data).item() == pytest.approx(torch.stack(terms).mean().item(), rel=1e-9)


@pytest.mark.parametrize("kind", ["shuffled", "unequal", "duplicates", "one_class", "singletons"])
def test_ntxent_is_the_librarys(kind):
    embeddings, labels = batch(kind, dtype=torch.float64)
    ours = baselines.build("ntxent", num_classes=9, embedding_dim=12)(embeddings, labels)
    theirs = NTXentLoss(temperature=0.07)(embeddings, labels)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-9)
    grads = [torch.autograd.grad(value, embeddings)[0] for value in (ours, theirs)]
    torch.testing.assert_close(*grads, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("mined", [False, True])
def test_multi_similarity(data, mined):
    embeddings, labels = data
    s, total, kept = cosines(embeddings), 0.0, 0
    for i in range(len(s)):
        positives, negatives = pairs(labels, i)
        if mined:
            hardest_positive, hardest_negative = s[i, positives].min(), s[i, negatives].max()
            positives = [p for p in positives if s[i, p] - 0.1 < hardest_negative]
            negatives = [n for n in negatives if s[i, n] + 0.1 > hardest_positive]
        total += math.log(1 + sum(math.exp(-2 * (s[i, p] - 0.5)) for p in positives)) / 2
        total += math.log(1 + sum(math.exp(50 * (s[i, n] - 0.5)) for n in negatives)) / 50
        kept += len(positives) + len(negatives)
    found = build("multi_similarity_miner" if mined else "multi_similarity")(*data)
    assert found.item() == pytest.approx(total / len(s), rel=1e-9)
    assert (kept < len(s) * (len(s) - 1)) == mined


def test_normalized_softmax(data):
    embeddings, labels = data
    loss = build("normalized_softmax")
    (weight,) = loss.parameters()  # (d, classes)
    logits = F.normalize(embeddings) @ F.normalize(weight.double(), dim=0) / 0.05
    assert loss(*data).item() == pytest.approx(F.cross_entropy(logits, labels).item(), rel=1e-6)


def test_proxy_nca(data):
    embeddings, labels = data
    loss = build("proxy_nca")
    squared = torch.cdist(F.normalize(embeddings), proxies_of(loss)).square()
    assert loss(*data).item() == pytest.approx(F.cross_entropy(-9 * squared, labels).item(), rel=1e-6)


def test_proxy_anchor(data):
    embeddings, labels = data
    loss = build("proxy_anchor")
    s = F.normalize(embeddings.detach()) @ proxies_of(loss).T
    pull = [math.log(1 + sum(math.exp(-32 * (x - 0.1)) for x in s[labels == c, c])) for c in range(6)]
    push = [math.log(1 + sum(math.exp(32 * (x + 0.1)) for x in s[labels != c, c])) for c in range(6)]
    assert loss(*data).item() == pytest.approx(sum(pull) / 6 + sum(push) / 6, rel=1e-6)


def test_fast_ap(data):
    embeddings, labels = data
    squared, total = (2 - 2 * cosines(embeddings)).clamp(min=0), 0.0
    for i in range(len(squared)):
        positives, negatives = pairs(labels, i)
        above = hits = precision = 0.0
        for b in range(11):
            inside = [max(0.0, 1 - abs(float(squared[i, j]) - 0.4 * b) / 0.4) for j in range(len(squared))]
            right, wrong = sum(inside[p] for p in positives), sum(inside[n] for n in negatives)
            hits, above = hits + right, above + right + wrong
            precision += right * hits / above if right else 0.0
        total += precision / len(positives)
    assert build("fast_ap")(*data).item() == pytest.approx(1 - total / len(squared), rel=1e-6)
