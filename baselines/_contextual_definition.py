"""Contextual similarity w of a cosine-similarity matrix s, in dense matrices with autograd: the definition and its ablations.

Steps 1–3 of the paper (section 3, appendix E.3). `contextual.py` calls it for the ablations; for the loss itself it has a faster
form with the same numbers (`_contextual_fast.py`).
"""

import torch
from torch import Tensor

from benchmark.errors import UserError, unknown

TAU = 0.01  # temperature of θσ in the ablations
STEP1_EPS = 1e-5  # ε of the "step 1 only" rows, whatever eps says

VARIANTS = {
    "full": "the loss of the paper",
    "step1": "w = 1_N, not symmetrised, ε = 1e-5",
    "step1_sigmoid": "the same with θσ for θ",
    "no_query_expansion": "skip step 3: w = W₁, not symmetrised",
    "skip_step2": "W₁ = 1_N",
    "min": "min for every logical and",
    "sigmoid": "θσ for θ in all steps",
    "no_m_minus": "W₁ = M₊ / |N| ⊙ 1_N",
    "no_stop_gradient": "gradient also through |N| and |Nᶜ|",
    "detach_r": "no gradient through |R|",
    "gradient_correction": "gradients of D whose sign disagrees with the label are dropped",
}


class Step(torch.autograd.Function):
    """θ(x ≥ y): exact forward, constant gradient α backward (eq. 1). y gets none: it is under a stop gradient."""

    @staticmethod
    def forward(ctx, x: Tensor, y: Tensor, alpha: float) -> Tensor:
        ctx.alpha = alpha
        return (x >= y).to(x.dtype)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return ctx.alpha * grad, None, None


def contextual_similarity(s: Tensor, k: int, eps: float, alpha: float = 10.0, variant: str = "full") -> Tensor:
    """w (n, n) of cosine similarities s (n, n).

    k: samples per label in the batch; eps: margin ε in squared distance; alpha: gradient α of the step function.
    """
    check_k(k, len(s))
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    if variant in ("step1", "step1_sigmoid"):
        eps = STEP1_EPS
    soft = variant in ("step1_sigmoid", "sigmoid")
    D = 2 - 2 * s  # (n, n) squared Euclidean distance
    nearest = (-D.detach()).topk(k).values  # (n, k), itself first

    def neighbours(rank: int) -> Tensor:
        """1_N(i, j): D(i, j) ≤ D(i, p) + ε, p the rank-th nearest of i."""
        bound = nearest[:, rank - 1 : rank]  # (n, 1)
        return torch.sigmoid((-D + eps - bound) / TAU) if soft else Step.apply(-D + eps, bound, alpha)

    both = torch.minimum if variant == "min" else torch.mul  # logical and
    A = neighbours(k)  # (n, n) 1_N, step 1
    if variant.startswith("step1"):
        return A
    W1 = A if variant == "skip_step2" else both(_overlap(A, variant), A)  # (n, n) step 2
    if variant == "no_query_expansion":
        return W1
    B = neighbours(k // 2)  # (n, n)
    R = both(B, B.T)  # (n, n) reciprocal neighbours, step 3
    size = R.sum(dim=1, keepdim=True)  # (n, 1)
    size = size + (size == 0)
    W2 = _product(R, W1, variant) / (size.detach() if variant == "detach_r" else size)  # (n, n)
    return 0.5 * (W2 + W2.T)


def _overlap(A: Tensor, variant: str) -> Tensor:
    """½ (M₊ / |N| + M₋ / |Nᶜ|), shares of common neighbours and of common non-neighbours."""
    C = 1 - A
    size, rest = A.sum(dim=1, keepdim=True), C.sum(dim=1, keepdim=True)  # (n, 1)
    rest = rest + (rest == 0)  # a sum over an empty set is 0, and so shall its share be
    if variant != "no_stop_gradient":
        size, rest = size.detach(), rest.detach()
    M_plus = _product(A, A.T, variant)  # (n, n)
    if variant == "no_m_minus":
        return M_plus / size
    return 0.5 * (M_plus / size + _product(C, C.T, variant) / rest)


def _product(X: Tensor, Y: Tensor, variant: str) -> Tensor:
    """Σₚ X(i, p) and Y(p, j)."""
    return torch.minimum(X[:, :, None], Y[None, :, :]).sum(dim=1) if variant == "min" else X @ Y


def check_k(k: int, n: int | None = None) -> None:
    if not isinstance(k, int) or k < 2:
        raise UserError(f"k = {k!r} must be a whole number from 2 on: the samples per class in a batch")
    if n is not None and k > n:
        raise UserError(f"k = {k} does not fit a batch of {n}: choose k from 2 to {n}, or a larger batch")
