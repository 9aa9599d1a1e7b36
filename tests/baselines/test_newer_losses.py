"""The losses beyond the paper's compute what their publications say: value and gradients against sums written out literally.

Each oracle works in float64 on unit embeddings f, sample by sample; `at` holds the loss's own parameters, `loss` a fresh twin of
the tested one, for what it draws. Constants are the publications', written again.
"""

import copy
import itertools
import math

import pytest
import torch
from loss_batches import batch, relative
from pytorch_metric_learning.losses import PNPLoss
from torch import Tensor
from torch.nn import functional as F

import baselines
from benchmark.seeds import torch_generator


def others(labels: Tensor, i: int) -> tuple[list[int], list[int]]:
    """Positives and negatives of sample i."""
    rest = [j for j in range(len(labels)) if j != i]
    return [j for j in rest if labels[j] == labels[i]], [j for j in rest if labels[j] != labels[i]]


def mean(terms) -> Tensor:
    terms = list(terms)
    return torch.stack(terms).mean() if terms else torch.zeros(())


def total(terms) -> Tensor:
    return torch.stack(list(terms)).sum()


def supcon(f, labels, at, loss):
    terms, s = [], f @ f.T / 0.1
    for i in range(len(f)):
        P, N = others(labels, i)
        if P:
            bottom = total(s[i, a].exp() for a in P + N)
            terms.append(-mean((s[i, p].exp() / bottom).log() for p in P))
    return mean(terms)


def circle(f, labels, at, loss, m=0.4):
    terms, s = [], f @ f.T
    for i in range(len(f)):
        P, N = others(labels, i)
        if P and N:
            push = total((80 * (s[i, n].detach() + m).clamp(min=0) * (s[i, n] - m)).exp() for n in N)
            pull = total((-80 * (1 + m - s[i, p].detach()).clamp(min=0) * (s[i, p] - (1 - m))).exp() for p in P)
            terms.append((1 + push * pull).log())
    return mean(terms)


def cosface(f, labels, at, loss, m=0.35, s=64.0):
    W = F.normalize(at["base.loss.W"], dim=0)  # (d, C)
    terms = []
    for x, y in zip(f, labels, strict=True):
        cosines = [x @ W[:, j] for j in range(W.shape[1])]
        right = (s * (cosines[y] - m)).exp()
        wrong = total((s * c).exp() for j, c in enumerate(cosines) if j != y)
        terms.append(-(right / (right + wrong)).log())
    return mean(terms)


def arcface(f, labels, at, loss, K=1, m=28.6 / 180 * math.pi, s=64.0):
    W = F.normalize(at["base.loss.W"], dim=0)  # (d, C K)
    terms = []
    for x, y in zip(f, labels, strict=True):
        cosines = [torch.stack([x @ W[:, j * K + k] for k in range(K)]).max() for j in range(W.shape[1] // K)]
        angle = torch.acos(cosines[y])
        lowered = torch.cos(angle + m) if angle <= math.pi - m else cosines[y] - m * math.sin(m)
        right = (s * lowered).exp()
        wrong = total((s * c).exp() for j, c in enumerate(cosines) if j != y)
        terms.append(-(right / (right + wrong)).log())
    return mean(terms)


def subcenter_arcface(f, labels, at, loss):
    return arcface(f, labels, at, loss, K=3)


def soft_triple(f, labels, at, loss, K=10, lam=20.0, gamma=0.1, delta=0.01, tau=0.2):
    w = F.normalize(at["base.loss.weight"], dim=2)  # (C, K, d)
    terms = []
    for x, y in zip(f, labels, strict=True):
        S = []
        for c in range(len(w)):
            s = [x @ w[c, k] for k in range(K)]
            bottom = total((v / gamma).exp() for v in s)
            S.append(total((v / gamma).exp() / bottom * v for v in s))
        right = (lam * (S[y] - delta)).exp()
        terms.append(-(right / (right + total((lam * v).exp() for c, v in enumerate(S) if c != y))).log())
    apart = [
        (2 - 2 * w[c, t] @ w[c, u] + 1e-5).sqrt() for c in range(len(w)) for t, u in itertools.combinations(range(K), 2)
    ]
    return mean(terms) + tau * total(apart) / (len(w) * K * (K - 1))


def margin(f, labels, at, loss):
    anchors, positives, negatives = loss.base.mined(f.detach().to(loss.dtype), labels)
    terms = []
    for a, p, n in zip(anchors, positives, negatives, strict=True):
        assert labels[a] == labels[p]
        assert a != p
        assert labels[a] != labels[n]
        terms += [(f[a] - f[p]).norm() - 1.2 + 0.2, 1.2 - (f[a] - f[n]).norm() + 0.2]
    return mean(x for x in terms if x > 0)


def pnp(f, labels, at, loss, variant="Dq", alpha=4.0):
    shape = {
        "O": lambda N: N,
        "Ds": lambda N: (1 + N).log(),
        "Dq": lambda N: 1 - 1 / (1 + N) ** alpha,
        "Iu": lambda N: (1 + N) * (1 + N).log(),
        "Ib": lambda N: 1 / 4 * (2 * N - (1 + 2 * N).log()),
    }[variant]
    s, terms = f @ f.T, []
    for q in range(len(f)):
        P, N = others(labels, q)
        ranks = [total(torch.sigmoid((s[q, n] - s[q, p]) / 0.01) for n in N) for p in [q, *P]]
        terms += [mean(shape(rank) for rank in ranks)] if P else []
    return mean(terms)


def recall_at_k(f, labels, at, loss, simix=0):
    f, labels = list(f), labels.tolist()
    if simix:
        pairs = [(i, j) for i, j in itertools.combinations(range(len(f)), 2) if labels[i] == labels[j]]
        draws = torch.rand(len(pairs), generator=torch_generator("baselines", "recall_at_k"), dtype=torch.float64)
        f += [a * f[i] + (1 - a) * f[j] for a, (i, j) in zip(draws, pairs, strict=True)]
        labels += [labels[i] for i, _ in pairs]
    terms = []
    for q in range(len(f)):
        s = [f[q] @ z for z in f]
        P = [x for x in range(len(f)) if x != q and labels[x] == labels[q]]
        ranks = [1 + total(torch.sigmoid((s[z] - s[x]) / 0.01) for z in range(len(f)) if z not in (q, x)) for x in P]
        for k in (1, 2, 4, 8, 16) if P else ():
            terms.append(total(torch.sigmoid(k - rank) for rank in ranks) / min(k, len(P)))
    return 1 - mean(terms)


def hyperbolic(f, labels, at, loss, c=0.1, T=0.2):
    """Distances by Möbius addition and the inverse hyperbolic tangent, as in the publication."""
    x = math.tanh(math.sqrt(c) * 2.3) / math.sqrt(c) * f

    def d(i: int, j: int) -> Tensor:
        u, v = -x[i], x[j]
        uv, uu, vv = u @ v, u @ u, v @ v
        sum_ = ((1 + 2 * c * uv + c * vv) * u + (1 - c * uu) * v) / (1 + 2 * c * uv + c**2 * uu * vv)
        return 2 / math.sqrt(c) * torch.atanh(math.sqrt(c) * sum_.norm())

    terms = []
    for a in range(len(f)):
        P, N = others(labels, a)
        wrong = total((-d(a, n) / T).exp() for n in N)
        for p in P:
            right = (-d(a, p) / T).exp()
            terms.append(-(right / (right + wrong)).log())
    return mean(terms)


def mean_field(f, labels, at, loss, form="class_wise", mu=0.0):
    w = F.normalize(at["base.loss.fields"])  # (C, d)
    C, present = len(w), sorted(set(labels.tolist()))
    if form == "contrastive":
        terms = []
        for x, y in zip(f, labels, strict=True):
            far = [(0.3 - (1 - x @ w[c])).clamp(min=0) for c in range(C) if c != y]
            terms.append((1 - x @ w[y] - 0.02).clamp(min=0) + total(far))
        value = mean(terms)
        near = [[(0.3 - (1 - w[c] @ w[e])).clamp(min=0) ** 2 for e in range(C) if e != c] for c in range(C)]
    else:
        a, b, base = 0.01, 80.0, 0.8

        def over(c: int, term) -> Tensor:
            return mean(term(x) for x, y in zip(f, labels, strict=True) if y == c) * (c in present)

        pull = total((1 + over(c, lambda x, c=c: (a * (base - x @ w[c])).exp())).log() for c in present)
        push = total(
            (
                1
                + over(c, lambda x, e=e: (b * (x @ w[e] - base)).exp())
                + over(e, lambda x, c=c: (b * (x @ w[c] - base)).exp())
            ).log()
            for c, e in itertools.permutations(range(C), 2)
        )
        value = pull / (a * len(present)) + push / (2 * b * len(present))
        near = [[((1 + (b * (w[c] @ w[e] - base)).exp()).log() / b) ** 2 for e in range(C) if e != c] for c in range(C)]
    return value + mu * mean(total(row) for row in near)


def anti_collapse(f, labels, at, loss, margin=0.1, alpha=64.0):
    P = F.normalize(at["base.loss.anchor.proxies"])  # (C, d)
    present = sorted(set(labels.tolist()))
    pull = mean((1 + total((-alpha * (x @ P[c] - margin)).exp() for x in f[labels == c])).log() for c in present)
    push = mean((1 + total((alpha * (x @ P[c] + margin)).exp() for x in f[labels != c])).log() for c in range(len(P)))
    m, d = len(present), f.shape[1]
    rate = 0.5 * torch.logdet(torch.eye(m, dtype=f.dtype) + m / (d * 0.5) * P[present] @ P[present].T)
    return 0.0035 * (pull + push) + (-rate).exp()


def center_contrastive(f, labels, at, loss, before=None):
    """`before`: embeddings of the same labels that the bank saw first."""
    means = {c: f[labels == c].detach().mean(dim=0) for c in set(labels.tolist())}
    if before is not None:
        for c, now in means.items():
            means[c] = 0.5 * F.normalize(before[labels == c].mean(dim=0), dim=0) + 0.5 * now
    centers = {c: F.normalize(x, dim=0) for c, x in means.items()}
    terms = []
    for x, y in zip(f, labels.tolist(), strict=True):
        right = ((x @ centers[y] - 0.1) / 0.05).exp()
        wrong = total((x @ centers[c] / 0.05).exp() for c in centers if c != y)
        terms.append(-(right / (right + wrong)).log())
    return mean(terms)


def potential_field(f, labels, at, loss, proxies, reach=math.inf, alpha=2.0, delta=0.2):
    present = set(labels.tolist())
    charges = list(zip(f, labels.tolist(), strict=True))
    sources = [(F.normalize(p, dim=0), i // proxies) for i, p in enumerate(at["base.loss.proxies"])]
    everything = charges + sources
    energies = []
    for a, (x, y) in enumerate(everything):
        if y not in present:
            continue
        energy = []
        for b, (z, other) in enumerate(everything):
            r = (x - z).norm().clamp(min=delta) if a != b else None
            if r is not None and (y == other or r <= reach):
                energy.append((-1 if y == other else 1) / r**alpha)
        energies.append(total(energy))
    return mean(energies)


def proxy_nca_pp(f, labels, at, loss):
    P = F.normalize(at["base.loss.proxies"])
    terms = []
    for x, y in zip(f, labels, strict=True):
        near = [(-9 * ((x - p) ** 2).sum()).exp() for p in P]
        terms.append(-(near[y] / total(near)).log())
    return mean(terms)


CASES = [
    (supcon, {}),
    (circle, {}),
    (cosface, {}),
    (arcface, {}),
    (subcenter_arcface, {}),
    (soft_triple, {}),
    (margin, {}),
    *((pnp, {"variant": variant}) for variant in ("Dq", "O", "Ds", "Iu", "Ib")),
    (recall_at_k, {}),
    (recall_at_k, {"simix": 1}),
    (hyperbolic, {}),
    *((mean_field, {"form": form, "mu": mu}) for form in ("class_wise", "contrastive") for mu in (0.0, 0.5)),
    (anti_collapse, {}),
    (center_contrastive, {}),
    (potential_field, {"proxies": 2}),
    (potential_field, {"proxies": 3, "reach": 1.3}),
    (proxy_nca_pp, {}),
]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("kind", ["shuffled", "unequal"])
@pytest.mark.parametrize(("oracle", "params"), CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_value_and_gradients_are_those_of_the_publication(oracle, params, kind, dtype):
    embeddings, labels = batch(kind, n=15, d=8, k=3, dtype=dtype)
    loss = baselines.build(oracle.__name__, num_classes=7, embedding_dim=8, **params)
    twin = copy.deepcopy(loss)
    twin.dtype = dtype
    at = {name: p.detach().double().requires_grad_() for name, p in loss.named_parameters()}
    found = loss(embeddings, labels)
    f = embeddings.detach().double().requires_grad_()
    expected = oracle(F.normalize(f), labels, at, twin, **params)
    exact = dtype == torch.float64
    assert found.dtype == dtype
    assert found.item() == pytest.approx(expected.item(), rel=1e-7 if exact else 1e-4, abs=1e-6)
    ours = torch.autograd.grad(found, [embeddings, *loss.parameters()])
    theirs = torch.autograd.grad(expected, [f, *at.values()])
    for grad, wanted in zip(ours, theirs, strict=True):
        assert relative(grad.double(), wanted) < (1e-6 if exact else 2e-3)


def test_the_bank_of_centers_follows_the_batches():
    embeddings, labels = batch("shuffled", n=15, d=8, k=3, dtype=torch.float64)
    moved = embeddings.detach().flip(0)
    loss = baselines.build("center_contrastive", num_classes=7, embedding_dim=8)
    loss(moved, labels)
    found = loss(embeddings, labels)
    expected = center_contrastive(F.normalize(embeddings), labels, {}, loss, before=F.normalize(moved))
    assert found.item() == pytest.approx(expected.item(), rel=1e-9)
    kept = loss.state_dict()["base.loss.centers"]
    assert torch.equal(kept[5:], torch.zeros(2, 8, dtype=kept.dtype))  # never seen


@pytest.mark.parametrize("variant", ["O", "Ds", "Dq"])
def test_pnp_is_the_librarys_without_its_cubic_memory(variant):
    embeddings, labels = batch("unequal", dtype=torch.float64)
    ours = baselines.build("pnp", num_classes=9, embedding_dim=12, variant=variant)(embeddings, labels)
    theirs = PNPLoss(alpha=4, variant=variant)(embeddings, labels)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-9)
    grads = [torch.autograd.grad(value, embeddings)[0] for value in (ours, theirs)]
    torch.testing.assert_close(*grads, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", ["pnp", "recall_at_k"])
def test_queries_in_blocks_are_the_queries_at_once(name, monkeypatch):
    embeddings, labels = batch("unequal", dtype=torch.float64)
    whole = baselines.build(name, num_classes=9, embedding_dim=12)(embeddings, labels)
    monkeypatch.setattr("baselines._average_precision.BLOCK", 1)
    single = baselines.build(name, num_classes=9, embedding_dim=12)(embeddings, labels)
    assert whole.item() == pytest.approx(single.item(), rel=1e-12)
    grads = [torch.autograd.grad(value, embeddings)[0] for value in (whole, single)]
    torch.testing.assert_close(*grads, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["arcface", "subcenter_arcface"])
def test_an_embedding_on_its_class_weight_has_a_gradient(name):
    loss = baselines.build(name, num_classes=3, embedding_dim=8)
    (weight,) = loss.parameters()
    embeddings = weight.detach().T[:1].clone().requires_grad_()
    (grad,) = torch.autograd.grad(loss(embeddings, torch.tensor([0])), embeddings)
    assert grad.isfinite().all()


@pytest.mark.parametrize(("name", "params"), [("pnp", {"variant": "dq"}), ("mean_field", {"form": "classwise"})])
def test_an_unknown_form_is_answered_with_the_nearest(name, params):
    with pytest.raises(ValueError, match="did you mean"):
        baselines.build(name, num_classes=3, embedding_dim=8, **params)
