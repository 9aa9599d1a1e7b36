"""Makes samples of a class share their neighbours: pulls the contextual similarity w towards the labels.

L = λ L_context + (1 − λ) L_contrast + γ L_reg (paper eq. 6), with
    L_context  = 1/n² Σ_{i≠j} (y_ij − w_ij)²    w: `contextual_similarity`, from neighbourhoods that are k + ε wide
    L_contrast = contrastive loss with margins δ+ and δ−
    L_reg      = (s̃ − mean of all cosines)²     added to any method by `_loss.py`
λ weighs the contextual term everywhere.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._contextual_definition import VARIANTS, check_k, contextual_similarity
from baselines._contextual_fast import ContextLoss, Terms, evaluate
from baselines._contrast import contrastive
from benchmark.errors import unknown

__all__ = ["VARIANTS", "Contextual", "build", "context_loss", "contextual_similarity"]

TITLE = "Contextual"
SOURCE = "Liao, Tsiligkaridis, Kulis 2023"
GROUP = "paper"
YEAR = 2023
SAMPLER = "balanced"
PARAMS = {
    "k": 4,  # samples per class in the batch
    "eps": 0.05,  # ε, in squared distance; 0.04 on CUB
    "alpha": 10.0,  # α, gradient of the step function
    "lam": 0.8,  # λ, weight of the contextual term; 0.95 on CUB, 0.4 at 256
    "contrast_weight": None,  # of the contrastive term; None: by the rule `rest`
    "rest": "1 - lam",  # or "1 - lam - gamma", as used at 256
    "gamma": 0.1,  # γ
    "s_tilde": 0.3,  # s̃; 0.25 at 256
    "pos_margin": 0.75,  # δ+
    "neg_margin": 0.6,  # δ−
    "variant": "full",  # or an ablation, see VARIANTS
}
SEARCH = {"lam": {"low": 0.2, "high": 1.0}}  # the paper used 0.4, 0.8 and 0.95
RESTS = ("1 - lam", "1 - lam - gamma")


class Contextual(nn.Module):
    def __init__(self, terms: Terms, variant: str):
        super().__init__()
        check_k(terms.k)
        if variant not in VARIANTS:
            raise unknown("variant of contextual", variant, VARIANTS)
        self.terms, self.variant = terms, variant
        self.parts: dict[str, Tensor] = {}

    def forward(self, f: Tensor, labels: Tensor) -> Tensor:
        check_k(self.terms.k, len(f))
        if self.variant == "full":
            loss, context, contrast = ContextLoss.apply(f, labels, self.terms)
        else:
            loss, context, contrast = self.ablated(f, labels)
        self.parts = {"context": context.detach(), "contrast": contrast.detach()}
        return loss

    def ablated(self, f: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        t = self.terms
        s = f @ f.T  # (n, n)
        y = (labels[:, None] == labels[None, :]).to(s.dtype)  # (n, n)
        seen = Corrected.apply(s, y) if self.variant == "gradient_correction" else s
        w = contextual_similarity(seen, t.k, t.eps, t.alpha, self.variant)  # (n, n)
        context = (y - w).square().fill_diagonal_(0).mean()
        contrast = contrastive(s, labels, t.pos_margin, t.neg_margin) if t.contrast_weight else s.new_zeros(())
        return t.lam * context + t.contrast_weight * contrast, context, contrast


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


def context_loss(embeddings: Tensor, labels: Tensor, k: int, eps: float) -> Tensor:
    """L_context of any method's embeddings (n, d): a value to watch, without gradient."""
    check_k(k, len(embeddings))
    f = F.normalize(embeddings.detach() if embeddings.dtype == torch.float64 else embeddings.detach().float())
    return evaluate(f, labels, Terms(k=k, eps=eps), gradient=False).context


def build(
    *,
    num_classes: int,
    embedding_dim: int,
    variant: str,
    lam: float,
    gamma: float,
    contrast_weight: float | None,
    rest: str,
    **params,
) -> nn.Module:
    if rest not in RESTS:
        raise unknown("rest of contextual", rest, RESTS)
    if contrast_weight is None:
        contrast_weight = 1 - lam if rest == "1 - lam" else max(0.0, 1 - lam - gamma)
    return Contextual(Terms(lam=lam, contrast_weight=contrast_weight, **params), variant)
