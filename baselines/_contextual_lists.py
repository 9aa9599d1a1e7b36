"""The contextual loss on neighbour lists: no n³ work, and no more n × n matrices than the similarities and one beside them.

A neighbourhood holds about ten of n samples, so the indicator matrices of the paper are lists of pairs, and products of
them are walks i → p → j along two lists. |Nᶜᵢ ∩ Nᶜⱼ| = n − |Nᵢ| − |Nⱼ| + |Nᵢ ∩ Nⱼ| turns everything about M₋ into sizes
of lists and a rank-one part of the gradient. `_contextual_fast.py` asks `find` whether to come here.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from baselines._pairs import Pairs, at

if TYPE_CHECKING:
    from baselines._contextual_fast import Terms

ROWS = 256  # rows of an n × n matrix that are worked on at a time: they stay in the processor's cache
SMALLEST = 384  # smaller batches are faster with dense products
FULL = 8  # lists are used below n² / FULL pairs, and
SHARE = 300  # below n³ / SHARE walks: about where both ways take the same time
MOST = 16  # and below MOST · n² walks: bounds memory
WIDEST = 0.5  # no neighbourhood may be a larger share of the batch: sums over its complement would cancel
TILE = 128  # side of the tiles in which a matrix is transposed: two fit in the cache


@dataclass(frozen=True)
class Lists:
    """What `find` found."""

    A: Pairs  # j in N(i): D(i, j) ≤ D(i, p) + ε, p the k-th nearest of i
    B: Tensor  # (|A|,) which of them hold for the (k/2)-th nearest too
    R: Tensor  # (|A|,) which of those hold both ways
    bound: Tensor  # (n,) −D(i, p)
    same: Tensor  # keys i·n + j of pairs of one class, i ≠ j
    negative: Tensor  # keys of pairs of two classes with s above δ−


def find(s: Tensor, labels: Tensor, terms: "Terms") -> Lists | None:
    """The lists that the loss needs, or None where dense products are faster."""
    n, k = len(s), terms.k
    if n < SMALLEST:
        return None
    _, kind, count = labels.unique(return_inverse=True, return_counts=True)
    if int(count.square().sum()) > n * n / FULL:
        return None
    near = -(2 - 2 * s.topk(k).values)  # (n, k) −D of the k nearest
    bound, half = near[:, k - 1], near[:, k // 2 - 1]  # (n,)
    # One comparison over s finds a few pairs too many; the exact one, rounding included, is then made on those alone.
    least = 1 + (bound - terms.eps) / 2 - 8 * torch.finfo(s.dtype).eps  # (n,)
    if terms.contrast_weight:
        least = least.clamp(max=terms.neg_margin)
    found = s >= least[:, None]  # (n, n)
    if int(found.count_nonzero()) > n * n / FULL:
        return None
    i, j = found.nonzero().unbind(1)
    v = at(s.view(-1), i * n + j)
    x = -(2 - 2 * v) + terms.eps
    apart = (v > terms.neg_margin) & (labels[i] != labels[j]) if terms.contrast_weight else i < 0
    negative = (i * n + j)[apart]
    inside = x >= bound[i]
    i, j, x = i[inside], j[inside], x[inside]
    A = Pairs.of(i, j, n)
    walks = int(4 * A.size[j].sum() + torch.bincount(j).square().sum())
    if int(A.size.max()) > n * WIDEST or walks > min(n**3 / SHARE, MOST * n**2):
        return None
    B = x >= half[i]
    back = -(2 - 2 * at(s.view(-1), j * n + i)) + terms.eps
    classes = Pairs.of(kind.sort().values, kind.argsort(), len(count))
    same = torch.cat([e * n + classes.j[q] for e, q in classes.walks(kind)])
    return Lists(A, B, B & (back >= half[j]), bound, same[same % (n + 1) != 0], negative)


def evaluate(
    f: Tensor, s: Tensor, lists: Lists, terms: "Terms", gradient: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """L_context, L_contrast and the gradient (n, d) of their weighted sum. Overwrites s."""
    n, A = len(s), lists.A
    contrast, pulls = _contrast(s.view(-1), lists, terms)
    size = A.size.to(s.dtype)  # (n,) |N|
    rest = (n - size).clamp(min=1)  # (n,) |Nᶜ|
    common = size.new_zeros(len(A.i))  # (|A|,) M₊ on the pairs of A
    for e, q in A.walks(A.j):
        i = at(A.i, e)
        inside = -(2 - 2 * at(s.view(-1), i * n + at(A.j, q))) + terms.eps >= at(lists.bound, i)
        common.index_add_(0, e, inside.to(s.dtype))
    W1 = 0.5 * (common / size[A.i] + (common - size[A.j] + (n - size)[A.i]) / rest[A.i])  # (|A|,)
    R = Pairs.of(A.i[lists.R], A.j[lists.R], n)
    r = R.size.clamp(min=1).to(s.dtype)  # (n,)
    E = _similarity(A, W1, R, r)  # (n, n) w, then w − y
    E.view(-1).index_add_(0, lists.same, E.new_full((), -1.0).expand(len(lists.same)))
    E.fill_diagonal_(0)
    context = torch.linalg.vector_norm(E, dim=1).square().mean() / n
    if not gradient:
        return context, contrast, None
    X, grad = s, torch.zeros_like(f)  # X (n, n): gradient of s
    if terms.lam:
        E *= 4 * terms.lam * terms.alpha / n**2  # 2α from θ and D = 2 − 2s, 2/n² from the square
        grad = _intersections(X, E, f, A, size, rest, R, r)
        _expansion(X, E, lists, W1, R, r)
    else:
        X.zero_()
    for key, pull in pulls:
        X.view(-1).index_add_(0, key, pull.expand(len(key)))
    _add_transposed(X)
    return context, contrast, grad.addmm_(X, f)


def _contrast(s: Tensor, lists: Lists, terms: "Terms") -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """L_contrast, and for each of its two kinds the violating pairs and the weighted gradient of their s."""
    total, pulls = s.new_zeros(()), []
    if terms.contrast_weight:
        for sign, margin, key in ((-1, terms.pos_margin, lists.same), (1, terms.neg_margin, lists.negative)):
            hinge = sign * (at(s, key) - margin)
            key, hinge = key[hinge > 0], hinge[hinge > 0]
            total = total + hinge.sum() / max(len(key), 1)
            pulls.append((key, s.new_tensor(sign * terms.contrast_weight / max(len(key), 1))))
    return total, pulls


def _similarity(A: Pairs, W1: Tensor, R: Pairs, r: Tensor) -> Tensor:
    """w (n, n) = ½ (W₂ + W₂ᵀ), W₂(i, j) = Σ_p∈R(i) W₁(p, j) / |R(i)|.

    Walks that share i and j write the same value, so no list has to be freed of repetitions.
    """
    n = len(r)
    w = W1.new_zeros(n, n)
    flat = w.view(-1)
    for e, q in A.walks(R.j):
        flat.index_add_(0, at(R.i, e) * n + at(A.j, q), at(W1, q))
    both = []
    for e, q in A.walks(R.j):
        i, j = at(R.i, e), at(A.j, q)
        both.append(0.5 * (at(flat, i * n + j) / at(r, i) + at(flat, j * n + i) / at(r, j)))
    for (e, q), value in zip(A.walks(R.j), both, strict=True):
        i, j = at(R.i, e), at(A.j, q)
        flat.index_copy_(0, i * n + j, value)
        flat.index_copy_(0, j * n + i, value)
    return w


def _intersections(
    X: Tensor, E: Tensor, f: Tensor, A: Pairs, size: Tensor, rest: Tensor, R: Pairs, r: Tensor
) -> Tensor:
    """Step 2 backward: fills X with what reaches 1_N as a factor of W₁; returns (n, d) what reaches it through M₊ and M₋.

    W₁ = Q ⊙ 1_N with Q = M₊ (1/2|N| + 1/2|Nᶜ|) + (n − |Nᵢ| − |Nⱼ|) / 2|Nᶜ|, and G = Rᵀ (E / |R|) is the gradient of W₁.
    """
    n = len(X)
    inside, outside = 0.5 / size + 0.5 / rest, 0.5 / rest  # (n,)
    order = A.j.argsort(stable=True)
    turned = Pairs.of(A.j[order], A.i[order], n)  # the samples that have i as a neighbour
    weight = (1 / r)[R.j]  # (|R|,)
    on_A = []
    for first in range(0, n, ROWS):
        last = min(first + ROWS, n)
        a, b = A.span(first, last)
        c, d = R.span(first, last)
        bags = R.start[first:last] - c
        G = F.embedding_bag(R.j[c:d], E, bags, mode="sum", per_sample_weights=weight[c:d])  # (rows, n)
        i, j = A.i[a:b], A.j[a:b]
        on_A.append(at(G.view(-1), (i - first) * n + j))
        rows = slice(first, last)
        Q = torch.addr(((n - size) * outside)[rows, None], outside[rows], size, alpha=-1)  # (rows, n)
        for e, q in turned.walks(j):
            row = at(i, e)
            Q.view(-1).index_add_(0, (row - first) * n + at(turned.j, q), at(inside, row))
        torch.mul(G, Q, out=X[first:last])
    g = torch.cat(on_A)  # (|A|,)
    T, K = g * inside[A.i], g * outside[A.i]  # (|A|,)
    column = -torch.zeros_like(size).index_add_(0, A.i, K).index_add_(0, A.j, K)  # (n,) the rank-one part
    # With S = T + Tᵀ the gradient of s gets S 1_N; its product with f needs no walks.
    T_turned = T[order]
    Af, Sf = A.times(f), A.times(f, T) + turned.times(f, T_turned)  # (n, d)
    grad = A.times(Af, T) + turned.times(Af, T_turned) + turned.times(Sf)
    return grad + torch.outer(column, f.sum(dim=0)) + column @ f


def _expansion(X: Tensor, E: Tensor, lists: Lists, W1: Tensor, R: Pairs, r: Tensor) -> None:
    """Step 3 backward: adds to X what reaches R(i, p), which 1_N(p, i) lets through to 1_N(i, p)."""
    n, A = len(X), lists.A
    i, p = A.i[lists.B], A.j[lists.B]
    there, back = _inner(E, A, W1, i, p), _inner(E, A, W1, p, i)  # (|B|,)
    mean = torch.zeros_like(r).index_add_(0, R.i, there[lists.R[lists.B]]) / r  # (n,)
    X.view(-1).index_add_(0, p * n + i, (there - mean[i]) / r[i] + (back - mean[p]) / r[p])


def _inner(E: Tensor, A: Pairs, W1: Tensor, i: Tensor, p: Tensor) -> Tensor:
    """Σ_j E(i, j) W₁(p, j) for each of the given i and p."""
    total = W1.new_zeros(len(i))
    for e, q in A.walks(p):
        total.index_add_(0, e, at(E.view(-1), at(i, e) * len(E) + at(A.j, q)) * at(W1, q))
    return total


def _add_transposed(X: Tensor) -> None:
    """X += Xᵀ in place, tile by tile: a transposed matrix read along its rows would miss the cache at every step."""
    tiles = [slice(first, first + TILE) for first in range(0, len(X), TILE)]
    for number, a in enumerate(tiles):
        for b in tiles[number:]:
            both = X[a, b] + X[b, a].T
            X[a, b] = both
            X[b, a] = both.T
