"""Mixed samples for the methods with Metrix (Venkataramanan et al. 2022): pairs of two classes, interpolated like their labels.

A mixed sample is λ x + (1 − λ) x′ of a sample and one of another class, λ ~ Beta(a, a) once a batch: of two embeddings
(level = "embed"), or of two pooled features that then go through the head (level = "feature"; the same as mixing feature maps
where pooling is an average). For an anchor of class c its label is λ if x is of class c, 1 − λ if x′ is, and it is no pair of
anchors of other classes. The official code has no feature-level mixing for these losses, and none but contrastive without
errors (mixed negatives never counted, negatives of other anchors); this is the publication's formula, on drawn pairs.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._loss import Seen
from benchmark.errors import unknown
from benchmark.seeds import drawing_from

LEVELS = ("embed", "feature")


@dataclass(frozen=True)
class Mixed:
    v: Tensor  # (m, d) unit rows
    i: Tensor  # (m,) the sample that is in it to the share `lam`
    j: Tensor  # (m,) the other, of another class
    lam: float


class Mixing(nn.Module):
    """Draws the mixed samples of a batch: `partners` of other classes for each sample."""

    def __init__(self, level: str, mix_alpha: float, partners: int, generator: torch.Generator):
        super().__init__()
        if level not in LEVELS:
            raise unknown("level", level, LEVELS)
        self.level, self.mix_alpha, self.partners, self.generator = level, mix_alpha, partners, generator

    def forward(self, f: Tensor, labels: Tensor, seen: Seen) -> Mixed:
        with drawing_from(self.generator):  # on the CPU, so that every device gets the same
            lam = float(torch.distributions.Beta(self.mix_alpha, self.mix_alpha).sample())
            order = torch.rand(len(f), len(f)).to(f.device)  # (n, n)
        other = labels[:, None] != labels[None, :]  # (n, n)
        number, chosen = torch.where(other, order, -1).topk(min(self.partners, len(f)), dim=1)
        i, place = (number >= 0).nonzero(as_tuple=True)  # (m,): fewer than n · partners where classes are few
        j = chosen[i, place]
        x = f if self.level == "embed" else seen.features
        mixed = lam * x[i] + (1 - lam) * x[j]
        return Mixed(F.normalize(mixed) if self.level == "embed" else seen.embed(mixed), i, j, lam)


def soft_maximum(x: Tensor, weight: Tensor, dim: int) -> Tensor:
    """log(1 + Σ weight · exp(x)) along a dimension."""
    logits = torch.where(weight > 0, x + weight.clamp(min=torch.finfo(x.dtype).tiny).log(), torch.finfo(x.dtype).min)
    return F.softplus(logits.logsumexp(dim=dim))
