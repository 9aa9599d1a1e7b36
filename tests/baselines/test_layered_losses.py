"""Methods with layers, mixtures or branches of their own compute what their publications say: literal forms, sample by sample."""

import copy
import dataclasses
import math

import loss_oracles as oracle
import pytest
import torch
from loss_batches import batch, relative
from torch import Tensor
from torch.nn import functional as F

import baselines
from baselines import s2sd
from baselines._loss import Seen

N, D, WIDTH, CLASSES = 24, 8, 10, 6


@pytest.fixture(params=[torch.float64, torch.float32], ids=["double", "single"])
def data(request):
    """Features with gradient, labels, and what a loss sees of them through a head."""
    features, labels = batch("shuffled", n=N, d=WIDTH, dtype=request.param)
    weight = torch.randn(WIDTH, D, generator=torch.Generator().manual_seed(5)).to(request.param)
    levels = torch.stack([labels, labels // 2, labels // 4], dim=1)
    return features, labels, Seen(features, lambda x: F.normalize(x @ weight), levels)


def build(name: str, **params):
    return baselines.build(name, num_classes=CLASSES, embedding_dim=D, feature_dim=WIDTH, **params)


def compare(loss, expected, data) -> None:
    """Value, gradient of the features and of all parameters of `expected(f, labels, seen)` and of the loss."""
    features, labels, seen = data
    single = features.dtype == torch.float32
    loss(seen.embed(features), labels, seen)  # casts the parameters
    twin = copy.deepcopy(loss)
    parameters = [p for p in loss.parameters() if p.requires_grad]
    value = expected(twin.base, seen.embed(features), labels, seen)
    found = loss(seen.embed(features), labels, seen)
    assert relative(found, value) <= (1e-5 if single else 1e-10)
    ours = torch.autograd.grad(found, [features, *parameters], allow_unused=True)
    theirs = torch.autograd.grad(
        value, [features, *[p for p in twin.parameters() if p.requires_grad]], allow_unused=True
    )
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, rtol=1e-3 if single else 1e-8, atol=1e-4 if single else 1e-10)


def mean(values) -> Tensor:
    return torch.stack(list(values)).mean()


def linear(layer, x: Tensor) -> Tensor:
    return x @ layer.weight.T + (0 if layer.bias is None else layer.bias)


def batch_normed(layer, x: Tensor) -> Tensor:
    normed = (x - x.mean(dim=0)) / (x.var(dim=0, unbiased=False) + layer.eps).sqrt()
    return normed * layer.weight + layer.bias


def multi_similarity(s: Tensor, labels: Tensor, alpha=2.0, beta=50.0, base=0.5) -> Tensor:
    def of(a: int) -> Tensor:
        others = torch.arange(len(s)) != a
        same = labels == labels[a]
        pull = torch.exp(-alpha * (s[a, others & same] - base)).sum()
        push = torch.exp(beta * (s[a, ~same] - base)).sum()
        return (1 + pull).log() / alpha + (1 + push).log() / beta

    return mean(of(a) for a in range(len(s)))


def test_hist_is_the_publications(data):
    def expected(base, f, labels, seen):
        hist = base.loss
        mu, variance = F.normalize(hist.means), hist.log_vars.clamp(0, 6).exp()
        m = ((f[:, None, :] - mu[None]) ** 2 / variance[None]).sum(dim=2)  # (n, C)
        right = torch.softmax(-32 * m, dim=1)[torch.arange(N), labels]
        edges = sorted(set(labels.tolist()))
        H = torch.stack(
            [
                torch.stack([m.new_ones(()) if labels[i] == c else (-1.1 * m[i, c]).exp() for c in edges])
                for i in range(N)
            ]
        )
        root = torch.diag(H.sum(dim=1) ** -0.5)
        G = root @ H @ torch.diag(1 / H.sum(dim=0)) @ H.T @ root
        first, norm, second = hist.layers
        hidden = batch_normed(norm, G @ linear(first, math.sqrt(D) * f))
        nodes = G @ linear(second, torch.where(hidden > 0, hidden, 0.1 * hidden))
        chosen = torch.softmax(nodes, dim=1)[torch.arange(N), labels]
        return -right.log().mean() - chosen.log().mean()

    compare(build("hist"), expected, data)


@pytest.mark.parametrize("depth", [1, 2])
def test_ibc_is_the_publications(depth, data):
    def attended(block, x):
        query, key, value, out = block.attention
        q, k, v = linear(query, x), linear(key, x), linear(value, x)
        rows = []
        for i in range(N):
            parts = []
            for head in (slice(0, D // 2), slice(D // 2, D)):
                weights = torch.softmax(torch.stack([q[i, head] @ k[j, head] / math.sqrt(D / 2) for j in range(N)]), 0)
                parts.append(sum(weights[j] * v[j, head] for j in range(N)))
            rows.append(torch.cat(parts))
        return linear(out, torch.stack(rows))

    def normed(layer, x):
        centred = x - x.mean(dim=1, keepdim=True)
        scale = (x.var(dim=1, unbiased=False, keepdim=True) + layer.eps).sqrt()
        return centred / scale * layer.weight + layer.bias

    def smoothed(logits, labels):
        target = 0.9 * F.one_hot(labels, CLASSES).to(logits.dtype) + 0.1 / CLASSES
        return -(target * torch.log_softmax(logits / 0.2, dim=1)).sum(dim=1).mean()

    def expected(base, f, labels, seen):
        layers = base.loss.layers
        x = linear(layers.reduction, f)
        for block in layers.blocks:
            x = normed(block.norms[0], x + attended(block, x))
            x = normed(block.norms[1], x + linear(block.mlp[1], linear(block.mlp[0], x).clamp(min=0)))
        refined = linear(layers.refined, batch_normed(layers.norm, x))
        return smoothed(linear(layers.plain, math.sqrt(D) * f), labels) + smoothed(refined, labels)

    compare(build("ibc", depth=depth, dropout=0.0), expected, data)


def test_ibc_drops_the_share_it_says_and_keeps_the_mean():
    base = build("ibc", dropout=0.3).base.loss
    dropped = base.dropped(torch.ones(100, 1000))
    assert (dropped == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("base_loss", ["multi_similarity", "contrastive"])
def test_s2sd_is_the_publications_before_and_after_its_delay(base_loss, data):
    def base_value(s, labels):
        if base_loss == "multi_similarity":
            return multi_similarity(s, labels)
        return oracle.contrastive(s, labels, 0.9, 0.6)

    def kl(s, t):
        t = t.detach()
        p, q = torch.softmax(t / 2, dim=1), torch.softmax(s / 2, dim=1)
        return 4 * mean((p[i] * (p[i] / q[i]).log()).sum() for i in range(N))

    def expected(base, f, labels, seen, feature_weight=0.0):
        s = f @ f.T
        wide = [F.normalize(linear(branch[2], linear(branch[0], seen.features).clamp(min=0))) for branch in base.layers]
        assert [g.shape[1] for g in wide] == [8, 8, 16]
        own = mean(base_value(g @ g.T, labels) for g in wide)
        features = F.normalize(seen.features)
        return (
            (base_value(s, labels) + own) / 2
            + 7 * mean(kl(s, g @ g.T) for g in wide)
            + feature_weight * kl(s, features @ features.T)
        )

    params = {"base": base_loss, "branches": 3, "temperature": 2.0, "weight": 7.0, "feature_weight": 11.0}
    compare(build("s2sd", **params, delay=5), expected, data)
    compare(build("s2sd", **params, delay=1), lambda *given: expected(*given, feature_weight=11.0), data)


def test_branches_are_as_wide_as_published():
    assert s2sd.widths(512, 2048, 4) == [512, 1024, 1536, 2048]
    assert s2sd.widths(64, 64, 2) == [64, 128]


def test_s2sd_takes_any_base_with_its_proxies_and_layers():
    embeddings, labels = batch("shuffled", n=N, d=WIDTH)
    seen = Seen(embeddings, lambda x: F.normalize(x[:, :D]), labels[:, None])
    for base in set(baselines.names()) - {"s2sd", "untrained"}:
        loss = build("s2sd", base=base)
        assert loss(seen.embed(embeddings), labels, seen).isfinite(), base
    rates = {group["lr"]: group["params"] for group in build("s2sd", base="hist").parameter_groups(1, 100)}
    assert rates.keys() == {1, 10, 100}  # branches, hypergraph layers, Gaussians
    with pytest.raises(ValueError, match="has no end"):
        build("s2sd", base="s2sd")


@pytest.mark.parametrize("level", ["embed", "feature"])
def test_multi_similarity_metrix_is_the_formula(level, data):
    def expected(base, f, labels, seen):
        mixed = mixtures(base.mixing, level, f, labels, seen)

        def of(a):
            pull = push = f.new_zeros(())
            for v, i, j, share in mixed:
                if a in (i, j) or labels[a] not in (labels[i], labels[j]):
                    continue
                y = share if labels[a] == labels[i] else 1 - share
                pull = pull + y * torch.exp(-18 * (f[a] @ v - 0.77))
                push = push + (1 - y) * torch.exp(75 * (f[a] @ v - 0.77))
            return (1 + pull).log() / 18 + (1 + push).log() / 75

        return base.clean(f, labels) + 0.4 * mean(of(a) for a in range(N))

    compare(build("multi_similarity_metrix", level=level), expected, data)


@pytest.mark.parametrize("level", ["embed", "feature"])
def test_proxy_anchor_metrix_is_the_formula(level, data):
    def expected(base, f, labels, seen):
        pa = base.loss
        proxies = F.normalize(pa.clean.proxies)

        def of(c):
            pull = push = f.new_zeros(())
            for v, i, j, share in mixed:
                if c in (labels[i], labels[j]):
                    y = share if c == labels[i] else 1 - share
                    pull = pull + y * torch.exp(-32 * (v @ proxies[c] - 0.1))
                    push = push + (1 - y) * torch.exp(32 * (v @ proxies[c] + 0.1))
            return (1 + pull).log() + (1 + push).log()

        mixed = mixtures(pa.mixing, level, f, labels, seen)
        return pa.clean(f, labels) + 0.4 * mean(of(c) for c in set(labels.tolist()))

    compare(build("proxy_anchor_metrix", level=level), expected, data)


@pytest.mark.parametrize("level", ["embed", "feature"])
def test_proxy_nca_metrix_is_the_formula(level, data):
    def expected(base, f, labels, seen):
        nca = base.loss
        proxies = F.normalize(nca.clean.proxies)

        def log_probability(v, c):
            return torch.log_softmax(-9 * ((v - proxies) ** 2).sum(dim=1), dim=0)[c]

        clean = -mean(log_probability(f[i], labels[i]) for i in range(N))
        mixed = mixtures(nca.mixing, level, f, labels, seen)
        return clean - 0.4 * mean(
            share * log_probability(v, labels[i]) + (1 - share) * log_probability(v, labels[j])
            for v, i, j, share in mixed
        )

    compare(build("proxy_nca_metrix", level=level), expected, data)


@pytest.mark.parametrize("unit", [False, True])
def test_idml_is_the_formula(unit, data):
    def expected(base, f, labels, seen):
        idml = base.loss
        proxies = F.normalize(idml.proxies)

        def anchored(x, features, labels):
            v = linear(idml.layers, features)
            v = v / v.norm(dim=1, keepdim=True) if unit else v
            pull, push = {}, {}
            for i in range(N):
                for c in range(CLASSES):
                    d2 = ((x[i] - proxies[c]) ** 2).sum()
                    s = 1 - (1 - x[i] @ proxies[c]) * torch.exp(-(v[i] @ v[i] + 4) / (5 * d2))
                    if labels[i] == c:
                        pull[c] = pull.get(c, 0) + torch.exp(-32 * (s - 0.1))
                    else:
                        push[c] = push.get(c, 0) + torch.exp(32 * (s + 0.1))
            pulled = mean((1 + total).log() for total in pull.values())
            return pulled + sum((1 + total).log() for total in push.values()) / CLASSES

        state = idml.generator.get_state()
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(state)
            lam, order = float(torch.rand(())), torch.randperm(N)
        features = lam * seen.features + (1 - lam) * seen.features[order]
        mixed = seen.embed(features)
        return (
            anchored(f, seen.features, labels)
            + lam * anchored(mixed, features, labels)
            + (1 - lam) * anchored(mixed, features, labels[order])
        )

    compare(build("idml", unit=unit), expected, data)


@pytest.mark.parametrize("depth", [1, 3])
def test_happier_is_the_publications(depth, data):
    features, labels, seen = data
    data = features, labels, dataclasses.replace(seen, levels=seen.levels[:, :depth])

    def hierarchical_ap(s, levels, q):
        grade = [int((levels[j] == levels[q]).sum()) for j in range(N)]
        relevance = [grade[j] / depth / grade.count(grade[j]) for j in range(N)]
        total = s.new_zeros(())
        for p in range(N):
            rank, h_rank = 1, relevance[p]
            for j in range(N):
                if j == p:
                    continue
                x = s[q, j] - s[q, p]
                if grade[j] >= grade[p]:
                    rank = rank + float(x >= 0)
                elif x <= 0:
                    rank = rank + torch.sigmoid(x / 0.01)
                elif x <= 0.05:
                    rank = rank + 0.5 + torch.sigmoid(x / 0.01)
                else:
                    rank = rank + 100 * (x - 0.05) + 1.44
                h_rank += min(relevance[p], relevance[j]) * float(x >= 0)
            total = total + h_rank / rank
        return total / sum(relevance)

    def expected(base, f, labels, seen):
        s = f @ f.T
        ap = 1 - mean(hierarchical_ap(s, seen.levels, q) for q in range(N))
        weights = F.normalize(base.loss.cluster.W, dim=0)  # (d, C)
        cluster = -mean(torch.log_softmax(f[i] @ weights / 0.05, dim=0)[labels[i]] for i in range(N))
        return 0.9 * ap + 0.1 * cluster

    compare(build("happier"), expected, data)


def mixtures(mixing, level, f, labels, seen) -> list:
    """(mixed sample, its two parts, the share of the first), with the draws of the method."""
    drawn = mixing(f, labels, seen)
    assert len(drawn.i) == 3 * N
    assert (labels[drawn.i] != labels[drawn.j]).all()
    assert len(set(zip(drawn.i.tolist(), drawn.j.tolist(), strict=True))) == 3 * N
    found = []
    for i, j in zip(drawn.i.tolist(), drawn.j.tolist(), strict=True):
        x = f if level == "embed" else seen.features
        v = drawn.lam * x[i] + (1 - drawn.lam) * x[j]
        found.append((v / v.norm() if level == "embed" else seen.embed(v[None])[0], i, j, drawn.lam))
    return found


def test_shares_are_drawn_from_the_beta_distribution():
    mixing = build("multi_similarity_metrix").base.mixing
    embeddings, labels = batch("shuffled", n=4, d=WIDTH)
    seen = Seen(embeddings, F.normalize, labels[:, None])
    shares = torch.tensor([mixing(embeddings, labels, seen).lam for _ in range(500)])
    assert shares.mean().item() == pytest.approx(0.5, abs=0.04)
    assert shares.var().item() == pytest.approx(0.05, abs=0.01)  # of Beta(2, 2)


def test_mixing_something_else_is_named():
    with pytest.raises(ValueError, match=r"'input'.*embed, feature"):
        build("proxy_nca_metrix", level="input")
