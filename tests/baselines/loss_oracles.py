"""The losses once more, slow and literal: what the shipped versions are tested and benched against.

Written from the publications' equations, with dense matrices and autograd, and without anything from `baselines`.
"""

import torch
from torch import Tensor
from torch.nn import functional as F


class Theta(torch.autograd.Function):
    """Forward: 1 if x ≥ y else 0. Backward: α (paper eq. 1)."""

    @staticmethod
    def forward(ctx, x: Tensor, y: Tensor, alpha: float) -> Tensor:
        ctx.alpha = alpha
        return (x >= y).to(x.dtype)

    @staticmethod
    def backward(ctx, g: Tensor):
        return g * ctx.alpha, -g * ctx.alpha, None


class TruncatedGradient(torch.autograd.Function):
    """D itself; backward: max(∂D, 0) where y = 1, min(∂D, 0) elsewhere (paper eq. 12)."""

    @staticmethod
    def forward(ctx, D: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(y)
        return D.clone()

    @staticmethod
    def backward(ctx, g: Tensor):
        (y,) = ctx.saved_tensors
        return torch.where(y == 1, torch.clamp(g, min=0), torch.clamp(g, max=0)), None


def contextual_similarity(D: Tensor, k: int, eps: float, alpha: float = 10.0, variant: str = "full") -> Tensor:
    """w of squared distances D, equation by equation. Empty sets: 0 / 0 counts as 0."""
    if variant in ("step1", "step1_sigmoid"):
        eps = 1e-5

    def indicator(rank: int) -> Tensor:
        D_ip = D.sort(dim=1).values[:, rank - 1].unsqueeze(1).detach()
        if variant in ("step1_sigmoid", "sigmoid"):
            return 1 / (1 + torch.exp(-(-D + D_ip + eps) / 0.01))
        return Theta.apply(-D + eps, -D_ip, alpha)

    def logical_and(a: Tensor, b: Tensor) -> Tensor:
        return torch.minimum(a, b) if variant == "min" else a * b

    def divided(a: Tensor, b: Tensor) -> Tensor:
        return a / torch.where(b == 0, torch.ones_like(b), b)

    # step 1
    N = indicator(k)
    if variant in ("step1", "step1_sigmoid"):
        return N
    # step 2
    if variant == "min":
        M_plus = torch.minimum(N[:, None, :], N[None, :, :]).sum(dim=2)
        M_minus = torch.minimum((1 - N)[:, None, :], (1 - N)[None, :, :]).sum(dim=2)
    else:
        M_plus = N @ N.T
        M_minus = (1 - N) @ (1 - N).T
    inside, outside = N.sum(dim=1, keepdim=True), (1 - N).sum(dim=1, keepdim=True)
    if variant != "no_stop_gradient":
        inside, outside = inside.detach(), outside.detach()
    if variant == "skip_step2":
        W1 = N
    elif variant == "no_m_minus":
        W1 = divided(M_plus, inside) * N
    else:
        W1 = logical_and(0.5 * (divided(M_plus, inside) + divided(M_minus, outside)), N)
    if variant == "no_query_expansion":
        return W1
    # step 3
    N_half = indicator(k // 2)
    R = logical_and(N_half, N_half.T)
    if variant == "min":
        total = torch.minimum(R[:, :, None], W1[None, :, :]).sum(dim=1)
    else:
        total = R @ W1
    size = R.sum(dim=1, keepdim=True)
    W2 = divided(total, size.detach() if variant == "detach_r" else size)
    return 0.5 * (W2 + W2.T)


def context(s: Tensor, labels: Tensor, k: int, eps: float, alpha: float = 10.0, variant: str = "full") -> Tensor:
    """1/n² Σ_{i≠j} (y_ij − w_ij)²."""
    n = len(labels)
    y = (labels[:, None] == labels[None, :]).to(s.dtype)
    D = 2 - 2 * s
    if variant == "gradient_correction":
        D = TruncatedGradient.apply(D, y)
    w = contextual_similarity(D, k, eps, alpha, variant)
    return ((y - w) ** 2 * (1 - torch.eye(n, dtype=s.dtype))).sum() / n**2


def contrastive(s: Tensor, labels: Tensor, pos_margin: float, neg_margin: float) -> Tensor:
    same = labels[:, None] == labels[None, :]
    pull = (pos_margin - s)[same & ~torch.eye(len(s), dtype=torch.bool)]
    push = (s - neg_margin)[~same]
    terms = [x[x > 0].mean() for x in (pull, push) if (x > 0).any()]
    return torch.stack(terms).sum() if terms else 0 * s.sum()


def contextual_loss(
    embeddings: Tensor,
    labels: Tensor,
    k: int = 4,
    eps: float = 0.05,
    alpha: float = 10.0,
    lam: float = 0.8,
    gamma: float = 0.1,
    s_tilde: float = 0.3,
    pos_margin: float = 0.75,
    neg_margin: float = 0.6,
    variant: str = "full",
) -> Tensor:
    f = F.normalize(embeddings)
    s = f @ f.T
    total = lam * context(s, labels, k, eps, alpha, variant)
    total = total + (1 - lam) * contrastive(s, labels, pos_margin, neg_margin)
    return total + gamma * (s_tilde - s.mean()) ** 2


def smooth_ap(s: Tensor, labels: Tensor, tau: float = 0.01) -> Tensor:
    """All n³ differences at once; the query is one of its own positives."""
    n = len(s)
    y = (labels[:, None] == labels[None, :]).to(s.dtype)
    above = s[:, None, :] - s[:, :, None]  # (i, p, j): by how much j is above p for query i
    H = torch.sigmoid(above / tau) * (1 - torch.eye(n, dtype=s.dtype))
    rank = 1 + H.sum(dim=2)
    rank_pos = 1 + (H * y[:, None, :]).sum(dim=2)
    return 1 - ((rank_pos / rank * y).sum(dim=1) / y.sum(dim=1)).mean()


def sup_ap(s: Tensor, labels: Tensor) -> Tensor:
    """Positives: the exact step without gradient. Negatives: the bound in three pieces."""
    n = len(s)
    same = labels[:, None] == labels[None, :]
    y = same.to(s.dtype)
    x = s[:, None, :] - s[:, :, None]
    low = torch.sigmoid(x / 0.01)
    bound = torch.where(x <= 0, low, torch.where(x <= 0.05, 0.5 + low, 100 * x + 1.44))
    exact = (x >= 0).to(s.dtype)
    H = torch.where(same[:, None, :], exact, bound) * (1 - torch.eye(n, dtype=s.dtype))
    rank = 1 + H.sum(dim=2)
    rank_pos = 1 + (H * y[:, None, :]).sum(dim=2)
    return 1 - ((rank_pos / rank * y).sum(dim=1) / y.sum(dim=1)).mean()


def softbin_ap(s: Tensor, labels: Tensor, bins: int = 20) -> Tensor:
    """Triangles of half-width Δ around centres 1, 1 − Δ, …, −1; precision and recall increment of each bin."""
    y = (labels[:, None] == labels[None, :]).to(s.dtype)
    centres = torch.linspace(1, -1, bins, dtype=s.dtype)
    width = 2 / (bins - 1)
    q = torch.relu(1 - (s.clamp(-1, 1)[:, None, :] - centres[None, :, None]).abs() / width)  # (i, bin, j)
    every, right = q.sum(dim=2), (q * y[:, None, :]).sum(dim=2)
    precision = right.cumsum(dim=1) / (every.cumsum(dim=1) + 1e-16)
    return 1 - (precision * right / y.sum(dim=1, keepdim=True)).sum(dim=1).mean()


def blackbox_ap(s: Tensor, labels: Tensor, strength: float = 4.0, margin: float = 0.02) -> tuple[Tensor, Tensor]:
    """Value and gradient of s, sample by sample: rank / n, and the ranking of scores moved along its gradient."""
    n, total, grad = len(s), 0.0, torch.zeros_like(s)
    for i in range(n):
        same = labels == labels[i]
        score = s[i] - margin * torch.where(same, 0.5, -0.5)
        rank = torch.tensor([1 + int((score > score[j]).sum()) for j in range(n)], dtype=s.dtype) / n
        to_rank = torch.zeros_like(rank)
        for p in same.nonzero().flatten():
            rank_pos = int((rank[same] <= rank[p]).sum()) / n
            total += float(rank_pos / rank[p]) / int(same.sum()) / n
            to_rank[p] = rank_pos / rank[p] ** 2 / int(same.sum()) / n
        moved = score + strength * to_rank
        rank_moved = torch.tensor([1 + int((moved > moved[j]).sum()) for j in range(n)], dtype=s.dtype) / n
        grad[i] = -(rank - rank_moved) / strength
    return torch.tensor(1 - total, dtype=s.dtype), grad
