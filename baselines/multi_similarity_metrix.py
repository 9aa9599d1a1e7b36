"""Multi-similarity with mixed samples: each anchor also sees mixtures of its positives and negatives, with labels in between.

L = L_MS + w · mean over anchors of (1/α) log(1 + Σ_v y_v exp(−α (s_v − b))) + (1/β) log(1 + Σ_v (1 − y_v) exp(β (s_v − b))), over
the mixed samples v of `_mixing.py` that have one part of the anchor's class, y_v its share, and no part that is the anchor.
"""

from typing import Any

import torch
from torch import Tensor, nn

from baselines import multi_similarity_miner
from baselines._loss import Seen
from baselines._mixing import Mixed, Mixing, soft_maximum

TITLE = "MS + Metrix"
SOURCE = "Venkataramanan et al. 2022"
GROUP = "copied"
YEAR = 2022
SAMPLER = "balanced"
NEEDS = ("features",)
PARAMS = {
    "alpha": 18.0,  # of positive pairs, official code, like the next three: Musgrave et al. 2020 tuned them
    "beta": 75.0,  # of negative pairs
    "base": 0.77,  # similarity that both are measured from
    "epsilon": 0.39,  # of the miner of the unmixed pairs
    "w": 0.4,  # weight of the mixed samples, official code
    "mix_alpha": 2.0,  # λ ~ Beta(2, 2), official code
    "level": "feature",  # what is mixed: feature (the published row) or embed
    "partners": 3,  # mixtures for each sample
}
SEARCH = {"w": {"low": 0.2, "high": 0.8, "log": True}}


class MultiSimilarityMetrix(nn.Module):
    def __init__(self, clean: nn.Module, mixing: Mixing, alpha: float, beta: float, base: float, w: float):
        super().__init__()
        self.clean, self.mixing = clean, mixing
        self.alpha, self.beta, self.base, self.w = alpha, beta, base, w

    def forward(self, f: Tensor, labels: Tensor, seen: Seen) -> Tensor:
        return self.clean(f, labels) + self.w * self.mixed(f, labels, self.mixing(f, labels, seen))

    def mixed(self, f: Tensor, labels: Tensor, of: Mixed) -> Tensor:
        anchor = torch.arange(len(f), device=f.device)[:, None]  # (n, 1)
        is_i, is_j = (labels[:, None] == labels[part][None, :] for part in (of.i, of.j))  # (n, m)
        pair = (is_i | is_j) & (of.i != anchor) & (of.j != anchor)
        share = torch.where(is_i, of.lam, 1 - of.lam).to(f.dtype)
        x = f @ of.v.T - self.base  # (n, m)
        positive = soft_maximum(-self.alpha * x, pair * share, dim=1) / self.alpha
        negative = soft_maximum(self.beta * x, pair * (1 - share), dim=1) / self.beta
        return (positive + negative).mean()


def build(
    *,
    num_classes: int,
    embedding_dim: int,
    generator: torch.Generator,
    epsilon: float,
    w: float,
    mix_alpha: float,
    level: str,
    partners: int,
    **constants: Any,
) -> nn.Module:
    clean = multi_similarity_miner.build(
        num_classes=num_classes, embedding_dim=embedding_dim, epsilon=epsilon, **constants
    )
    return MultiSimilarityMetrix(clean, Mixing(level, mix_alpha, partners, generator), w=w, **constants)
