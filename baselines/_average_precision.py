"""Surrogates of average precision on a similarity matrix, with their gradients, in memory O(n²) and time O(n² · positives).

AP of query i is the mean over its positives p (itself among them) of rank⁺(p) / rank(p), where a rank counts the samples
above p. The surrogates differ in the step function that counts: `smooth_ap.py` and `roadmap.py` give theirs. The textbook form
holds all n³ differences; here they live for a block of queries at a time, and the gradient is written beside the value.
`ByQuery` does the same for any other cost of a query's ranking, with autograd inside a block.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from baselines._contrast import contrastive

BLOCK = 1 << 21  # differences held at a time

# x, scratch of its shape -> step(x) in x's place and its derivative in the scratch's
Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class RankLoss(torch.autograd.Function):
    """1 − mean over queries of the surrogate AP. s (n, n), labels (n,)."""

    @staticmethod
    def forward(ctx, s: Tensor, labels: Tensor, positive: Step, negative: Step) -> Tensor:
        grad = torch.zeros_like(s)  # (n, n)
        total = s.new_zeros((), dtype=torch.float64)
        for rows, places in queries(labels):
            total += _block(s, grad, rows, places, positive, negative)
        ctx.save_for_backward(grad)
        return (1 - total / len(s)).to(s.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, upstream: Tensor):
        (grad,) = ctx.saved_tensors
        return upstream * grad, None, None, None


class ByQuery(torch.autograd.Function):
    """Mean over the queries that have a positive of a cost; 0 if none has. s (n, n), labels (n,).

    cost(scores (b, n), rows (b,), places (b, c)) is the sum over b queries, each among its own c positives.
    """

    @staticmethod
    def forward(ctx, s: Tensor, labels: Tensor, cost: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
        grad = torch.zeros_like(s)  # (n, n)
        total, asked = s.new_zeros((), dtype=torch.float64), 0
        for rows, places in queries(labels):
            if places.shape[1] == 1:
                continue
            with torch.enable_grad():
                scores = s[rows].detach().requires_grad_()
                value = cost(scores, rows, places)
                (grad[rows],) = torch.autograd.grad(value, scores)
            total, asked = total + value.detach(), asked + len(rows)
        ctx.save_for_backward(grad.div_(max(asked, 1)))
        return (total / max(asked, 1)).to(s.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, upstream: Tensor):
        (grad,) = ctx.saved_tensors
        return upstream * grad, None, None


def queries(labels: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Blocks of queries (b,) with the places of their positives (b, c); the queries of a block have equally many."""
    n = len(labels)
    _, kind, count = labels.unique(return_inverse=True, return_counts=True)
    order, start = kind.argsort(stable=True), count.cumsum(0) - count
    for c in count.unique().tolist():
        queries = (count[kind] == c).nonzero().squeeze(1)
        for rows in queries.split(max(1, BLOCK // (c * n))):
            yield rows, order[start[kind[rows], None] + torch.arange(c, device=labels.device)]


def _block(s: Tensor, grad: Tensor, rows: Tensor, places: Tensor, positive: Step, negative: Step) -> Tensor:
    """Sum of the AP of some queries; writes the gradient of the loss into their rows."""
    n, (b, c) = len(s), places.shape
    scores = s[rows]  # (b, n)
    own = scores.gather(1, places)  # (b, c) similarity of the positives p
    among = own[:, None, :] - own[:, :, None]  # (b, p, q)
    H, dH = positive(among, torch.empty_like(among))
    for x in (H, dH):
        x.diagonal(dim1=1, dim2=2).zero_()
    above = scores[:, None, :] - own[:, :, None]  # (b, p, n)
    N, dN = negative(above, torch.empty_like(above))
    for x in (N, dN):
        x.scatter_(2, places[:, None, :].expand(b, c, c), 0)
    rank_pos = 1 + H.sum(dim=2)  # (b, p)
    rank = rank_pos + N.sum(dim=2)  # (b, p)
    to_rank = rank_pos / rank.square() / (n * c)  # (b, p) gradient of the loss
    to_pos = to_rank - 1 / rank / (n * c)
    row = torch.bmm(to_rank[:, None, :], dN).squeeze(1)  # (b, n)
    pull = to_pos[:, :, None] * dH  # (b, p, q)
    row.scatter_add_(1, places, pull.sum(dim=1) - pull.sum(dim=2) - to_rank * dN.sum(dim=2))
    grad[rows] = row
    return (rank_pos / rank).sum(dtype=torch.float64) / c


class WithContrast(nn.Module):
    """λ · ranking(s, labels) + (1 − λ) · contrastive, of unit embeddings: what the paper's AP figures vary."""

    def __init__(self, ranking: Callable[[Tensor, Tensor], Tensor], lam: float, pos_margin: float, neg_margin: float):
        super().__init__()
        self.ranking, self.lam = ranking, lam
        self.pos_margin, self.neg_margin = pos_margin, neg_margin
        self.parts: dict[str, Tensor] = {}

    def forward(self, f: Tensor, labels: Tensor) -> Tensor:
        s = f @ f.T  # (n, n)
        loss = s.new_zeros(())
        self.parts = {}
        if self.lam:
            ap = self.ranking(s, labels)
            loss, self.parts["ap"] = self.lam * ap, ap.detach()
        if self.lam != 1:
            contrast = contrastive(s, labels, self.pos_margin, self.neg_margin)
            loss, self.parts["contrast"] = loss + (1 - self.lam) * contrast, contrast.detach()
        return loss
