"""Loss: what the trainer calls, around the method's own module.

It checks the batch, works in float32 on L2-normalised embeddings whatever comes in, adds the similarity regulariser, and keeps
the parts of the last value for the training curves. `baselines.build` makes it.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmark.errors import UserError, unknown

# Learnable parameters of a loss (proxies) learn at 100 × the learning rate (224 setting); the spec may say otherwise.
LR_MULTIPLIER = 100.0


class Loss(nn.Module):
    """criterion + γ · (mean of all n² cosines − s̃)²."""

    def __init__(self, base: nn.Module, *, embedding_dim: int, gamma: float, s_tilde: float, reg_form: str):
        super().__init__()
        if reg_form not in ("added", "mixed"):
            raise unknown("reg_form", reg_form, ("added", "mixed"))
        self.base = base
        self.embedding_dim = embedding_dim
        self.gamma, self.s_tilde, self.reg_form = gamma, s_tilde, reg_form
        self.lr_multiplier = LR_MULTIPLIER
        self.parts: dict[str, Tensor] = {}  # terms of the last value, detached, before weighting

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        labels = self._checked(embeddings, labels)
        with torch.autocast(embeddings.device.type, enabled=False):
            if embeddings.dtype != torch.float64:
                embeddings = embeddings.float()
            f = F.normalize(embeddings)  # (n, d), unit rows
            loss = (
                self.base(f, labels) + 0 * f.sum()
            )  # where a mask or a rank would hide a nan, training must still see it
            self.parts = dict(getattr(self.base, "parts", {}))
            if self.gamma:
                reg = (
                    f.mean(dim=0).square().sum() - self.s_tilde
                ).square()  # mean of all n² cosines = |mean of f|²
                self.parts["reg"] = reg.detach()
                loss = (loss if self.reg_form == "added" else (1 - self.gamma) * loss) + self.gamma * reg
        return loss

    def parameter_groups(self, lr: float, multiplier: float | None = None) -> list[dict]:
        """For the optimiser: the proxies with their own learning rate; empty where the loss learns nothing."""
        params = list(self.parameters())
        return (
            [{"params": params, "lr": lr * (self.lr_multiplier if multiplier is None else multiplier)}]
            if params
            else []
        )

    def _checked(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        d = self.embedding_dim
        if embeddings.ndim != 2 or embeddings.shape[1] != d or not embeddings.is_floating_point():
            given = f"{tuple(embeddings.shape)} of {embeddings.dtype}"
            raise UserError(f"embeddings of shape {given}; expected (n, {d}) of a floating-point type")
        integer = not (labels.is_floating_point() or labels.is_complex())
        if labels.shape != embeddings.shape[:1] or not integer:
            given = f"{tuple(labels.shape)} of {labels.dtype}"
            raise UserError(
                f"labels of shape {given}; expected ({len(embeddings)},) of an integer type, one per embedding"
            )
        if not len(embeddings):
            raise UserError("the batch is empty; expected at least one embedding")
        return labels.to(embeddings.device, torch.int64)
