"""Value and gradient of λ L_context + μ L_contrast together, without autograd: the form in which `contextual.py` trains.

Both need the same neighbourhoods, so one pass makes the loss and its gradient with respect to the embeddings. Two ways give
the same numbers: dense products (here), and neighbour lists (`_contextual_lists.py`) where neighbourhoods are small.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from baselines import _contextual_lists as _neighbours


@dataclass(frozen=True)
class Terms:
    """The constants of the loss, with the paper's symbols."""

    k: int
    eps: float  # ε
    alpha: float = 1.0  # α
    lam: float = 1.0  # λ, weight of L_context
    contrast_weight: float = 0.0  # μ, weight of L_contrast: 1 − λ in the main setting
    pos_margin: float = 1.0  # δ+
    neg_margin: float = 0.0  # δ−


class Result(NamedTuple):
    context: Tensor  # L_context
    contrast: Tensor  # L_contrast, 0 where its weight is 0
    grad: Tensor | None  # (n, d) of λ L_context + μ L_contrast


class ContextLoss(torch.autograd.Function):
    """f (n, d) with unit rows, labels (n,) -> λ L_context + μ L_contrast, and both terms to look at, without gradient."""

    @staticmethod
    def forward(ctx, f: Tensor, labels: Tensor, terms: Terms):
        result = evaluate(f, labels, terms, gradient=ctx.needs_input_grad[0])
        if result.grad is not None:
            ctx.save_for_backward(result.grad)
        ctx.mark_non_differentiable(result.context, result.contrast)
        loss = terms.lam * result.context + terms.contrast_weight * result.contrast
        return loss, result.context, result.contrast

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad: Tensor, *_):
        (of_loss,) = ctx.saved_tensors
        return grad * of_loss, None, None


@torch.no_grad()
def evaluate(f: Tensor, labels: Tensor, terms: Terms, gradient: bool) -> Result:
    s = f @ f.T  # (n, n)
    lists = _neighbours.find(s, labels, terms)
    if lists is None:
        return _dense(f, s, labels, terms, gradient)
    return Result(*_neighbours.evaluate(f, s, lists, terms, gradient))


def _dense(f: Tensor, s: Tensor, labels: Tensor, terms: Terms, gradient: bool) -> Result:
    n, k, dtype = len(s), terms.k, s.dtype
    same = labels[:, None] == labels[None, :]  # (n, n)
    near = -(2 - 2 * s.topk(k).values)  # (n, k) −D of the k nearest
    x = -(2 - 2 * s) + terms.eps  # (n, n)
    A = (x >= near[:, k - 1 :]).to(dtype)  # (n, n) 1_N, step 1
    B = (x >= near[:, k // 2 - 1 : k // 2]).to(dtype)  # (n, n)
    del x
    size = A.sum(dim=1, keepdim=True)  # (n, 1) |N|
    rest = (n - size).clamp(min=1)  # (n, 1) |Nᶜ|
    common = A @ A.T  # (n, n) M₊; M₋ = n − |Nᵢ| − |Nⱼ| + M₊
    Q = 0.5 * (common / size + (common - size.T + (n - size)) / rest)  # (n, n)
    del common
    W1 = Q * A  # (n, n) step 2
    R = B * B.T  # (n, n) step 3
    r = R.sum(dim=1, keepdim=True).clamp(min=1)  # (n, 1)
    W2 = (R @ W1) / r  # (n, n)
    E = 0.5 * (W2 + W2.T) - same.to(dtype)  # (n, n) w − y
    E.fill_diagonal_(0)
    context = E.square().mean()
    X = torch.zeros_like(s) if gradient else None  # (n, n) gradient of s
    if X is not None and terms.lam:
        E *= 4 * terms.lam * terms.alpha / n**2  # 2α from θ and D = 2 − 2s, 2/n² from the square
        dR = (E @ W1.T - (E * W2).sum(dim=1, keepdim=True)) / r
        X += (dR + dR.T) * B.T
        del dR, W2, W1, B
        G = R @ (E / r)  # (n, n) gradient of W₁
        X += G * Q
        del R, Q, E
        G *= A
        K = G / (2 * rest)  # (n, n) gradient of M₋
        G /= 2 * size  # (n, n) gradient of M₊
        X += (G + G.T) @ A
        X -= (K + K.T) @ A.neg_().add_(1)  # not by M₋ = n − … + M₊: where |Nᶜ| is small, that would cancel
    contrast = s.new_zeros(())
    if terms.contrast_weight:
        below = torch.where(same.fill_diagonal_(False), terms.pos_margin - s, 0).clamp_(min=0)  # (n, n)
        above = torch.where(labels[:, None] != labels[None, :], s - terms.neg_margin, 0).clamp_(min=0)  # (n, n)
        for sign, hinge in ((-1, below), (1, above)):
            count = (hinge > 0).sum().clamp(min=1).to(dtype)
            contrast = contrast + hinge.sum() / count
            if X is not None:
                X += (hinge > 0) * (sign * terms.contrast_weight / count)
    return Result(context, contrast, None if X is None else (X + X.T) @ f)
