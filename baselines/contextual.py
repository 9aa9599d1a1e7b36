"""Makes samples of a class share their neighbours: pulls the contextual similarity w towards the labels.

L = λ L_context + (1 − λ) L_contrast + γ L_reg (paper eq. 6), with
    L_context  = 1/n² Σ_{i≠j} (y_ij − w_ij)²    w: `contextual_similarity`, from neighbourhoods that are k + ε wide
    L_contrast = contrastive loss with margins δ+ and δ−
    L_reg      = (s̃ − mean of all cosines)²     added to any method by `_loss.py`
λ weighs the contextual term everywhere (REPRODUCTION 5, no. 2).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._contrast import contrastive
from baselines._similarity import VARIANTS, check_k, contextual_similarity
from benchmark.errors import unknown

__all__ = ["VARIANTS", "Contextual", "build", "context_loss", "contextual_similarity"]

TITLE = "Contextual"
SOURCE = "Liao, Tsiligkaridis, Kulis 2023"
SAMPLER = "balanced"
PARAMS = {
    "k": 4,  # samples per class in the batch
    "eps": 0.05,  # ε, in squared distance; 0.04 on CUB
    "alpha": 10.0,  # α, gradient of the step function
    "lam": 0.8,  # λ, weight of the contextual term; 0.95 on CUB, 0.4 at 256
    "contrast_weight": None,  # None: 1 − λ; 0.5 at 256 (REPRODUCTION 5, no. 3)
    "gamma": 0.1,  # γ
    "s_tilde": 0.3,  # s̃; 0.25 at 256
    "pos_margin": 0.75,  # δ+
    "neg_margin": 0.6,  # δ−
    "variant": "full",  # or an ablation, see VARIANTS
}
SEARCH = {"lam": [0.4, 0.8, 0.95], "eps": [0.02, 0.05]}  # the two that the paper tunes per data set


class Contextual(nn.Module):
    def __init__(
        self,
        k: int,
        eps: float,
        alpha: float,
        lam: float,
        contrast_weight: float,
        pos_margin: float,
        neg_margin: float,
        variant: str,
    ):
        super().__init__()
        check_k(k)
        if variant not in VARIANTS:
            raise unknown("variant of contextual", variant, VARIANTS)
        self.k, self.eps, self.alpha, self.variant = k, eps, alpha, variant
        self.lam, self.contrast_weight = lam, contrast_weight
        self.pos_margin, self.neg_margin = pos_margin, neg_margin
        self.parts: dict[str, Tensor] = {}

    def forward(self, f: Tensor, labels: Tensor) -> Tensor:
        check_k(self.k, len(f))
        s = f @ f.T  # (n, n)
        y = (labels[:, None] == labels[None, :]).to(s.dtype)  # (n, n)
        seen = Corrected.apply(s, y) if self.variant == "gradient_correction" else s
        w = contextual_similarity(seen, self.k, self.eps, self.alpha, self.variant)  # (n, n)
        context = (y - w).square().fill_diagonal_(0).mean()
        contrast = contrastive(s, labels, self.pos_margin, self.neg_margin)
        self.parts = {"context": context.detach(), "contrast": contrast.detach()}
        return self.lam * context + self.contrast_weight * contrast


class Corrected(torch.autograd.Function):
    """s itself; backward keeps only gradients that pull positives together or push negatives apart (paper eq. 12)."""

    @staticmethod
    def forward(ctx, s: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(y)
        return s.view_as(s)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, grad.clamp(max=0), grad.clamp(min=0)), None


@torch.no_grad()
def context_loss(embeddings: Tensor, labels: Tensor, k: int, eps: float) -> Tensor:
    """L_context of any method's embeddings (n, d): a value to watch, without gradient."""
    f = F.normalize(embeddings.float())
    y = (labels[:, None] == labels[None, :]).to(f.dtype)
    return (y - contextual_similarity(f @ f.T, k, eps)).square().fill_diagonal_(0).mean()


def build(
    *, num_classes: int, embedding_dim: int, lam: float, contrast_weight: float | None = None, **params
) -> nn.Module:
    return Contextual(
        lam=lam, contrast_weight=1 - lam if contrast_weight is None else contrast_weight, **params
    )
