"""Loss: what the trainer calls, around the method's own module.

It checks the batch, works in float32 on L2-normalised embeddings whatever comes in, adds the regularisers that any method may
have, and keeps the parts of the last value for the training curves. `baselines.build` makes it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._contrast import contrastive
from benchmark.errors import UserError, unknown


@dataclass(frozen=True)
class Seen:
    """What a method whose file says NEEDS sees beyond embeddings and labels."""

    features: Tensor  # (n, feature_dim) of the backbone, pooled, with gradient
    embed: Callable[[Tensor], Tensor]  # the head: features (m, feature_dim) to unit rows (m, embedding_dim)
    levels: Tensor  # (n, levels) labels on every level of the hierarchy, finest first


class Loss(nn.Module):
    """criterion + γ · (mean of all n² cosines − s̃)² + λ · threshold-consistent margin.

    The margin is the mean of (m+ − s)₊ over the positive pairs below m+ plus the mean of (s − m−)₊ over the negative pairs above
    m−: as a function, the contrastive loss.
    """

    def __init__(
        self,
        base: nn.Module,
        *,
        embedding_dim: int,
        needs: tuple[str, ...],
        gamma: float,
        s_tilde: float,
        reg_form: str,
        tcm: float,
        tcm_pos_margin: float,
        tcm_neg_margin: float,
    ):
        super().__init__()
        if reg_form not in ("added", "mixed"):
            raise unknown("reg_form", reg_form, ("added", "mixed"))
        self.base = base
        self.embedding_dim, self.needs = embedding_dim, needs
        self.gamma, self.s_tilde, self.reg_form = gamma, s_tilde, reg_form
        self.tcm, self.tcm_margins = tcm, (tcm_pos_margin, tcm_neg_margin)
        self.parts: dict[str, Tensor] = {}  # terms of the last value, detached, before weighting

    def forward(self, embeddings: Tensor, labels: Tensor, seen: Seen | None = None) -> Tensor:
        labels = self._checked(embeddings, labels)
        with torch.autocast(embeddings.device.type, enabled=False):
            if embeddings.dtype != torch.float64:
                embeddings = embeddings.float()
            f = F.normalize(embeddings)  # (n, d), unit rows
            if any(p.dtype != f.dtype for p in self.parameters()):
                self.to(f.dtype)  # float64, in checks
            # Where a mask or a rank would hide a nan, training must still see it.
            loss = self.base(f, labels, *self._needed(seen, f)) + 0 * f.sum()
            self.parts = dict(getattr(self.base, "parts", {}))
            if self.gamma:
                reg = (f.mean(dim=0).square().sum() - self.s_tilde).square()  # mean of all n² cosines = |mean of f|²
                self.parts["reg"] = reg.detach()
                loss = (loss if self.reg_form == "added" else (1 - self.gamma) * loss) + self.gamma * reg
            if self.tcm:
                margin = contrastive(f @ f.T, labels, *self.tcm_margins)
                self.parts["tcm"] = margin.detach()
                loss = loss + self.tcm * margin
        return loss

    def parameter_groups(self, lr: float, proxy_lr: float) -> list[dict]:
        """For the optimiser: what a module calls its `layers` learns at lr × its `layers_lr` (1), all else is a proxy."""
        times = dict.fromkeys(self.parameters(), proxy_lr)
        for module in self.modules():
            if isinstance(layers := getattr(module, "layers", None), nn.Module):
                times |= dict.fromkeys(layers.parameters(), getattr(module, "layers_lr", 1.0))
        return [
            {"params": [p for p, own in times.items() if own == rate], "lr": lr * rate}
            for rate in dict.fromkeys(times.values())
        ]

    def _needed(self, seen: Seen | None, f: Tensor) -> tuple[Seen, ...]:
        """The third argument of the method's forward, if its file asks for one."""
        if not self.needs:
            return ()
        if seen is None or len(seen.features) != len(f) or len(seen.levels) != len(f):
            asked = f"loss(embeddings, labels, Seen(features, embed, levels)), a row of each for {len(f)} samples"
            raise UserError(f"this method needs {' and '.join(self.needs)} of the batch; call it as {asked}")
        return (replace(seen, features=seen.features.to(f.dtype)),)

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
