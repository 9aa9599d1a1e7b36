"""Proxy Anchor with mixed samples: each proxy also pulls and pushes mixtures of its class and others, with labels in between.

L = L_PA + w · mean over proxies of log(1 + Σ_v y_v exp(−α (s_v − δ))) + log(1 + Σ_v (1 − y_v) exp(α (s_v + δ))), over the mixed
samples v of `_mixing.py` that have one part of the proxy's class, whose share is y_v; the mean is over proxies that have some.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines import proxy_anchor
from baselines._loss import Seen
from baselines._mixing import Mixed, Mixing, soft_maximum
from baselines._proxies import ProxyLoss

TITLE = "Proxy Anchor + Metrix"
SOURCE = "Venkataramanan et al. 2022"
GROUP = "copied"
YEAR = 2022
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
NEEDS = ("features",)
PARAMS = {
    "margin": 0.1,  # δ, as `proxy_anchor.py`
    "alpha": 32.0,  # α, the same
    "w": 0.4,  # weight of the mixed samples, official code
    "mix_alpha": 2.0,  # λ ~ Beta(2, 2), official code
    "level": "feature",  # what is mixed: feature (the published row) or embed
    "partners": 3,  # mixtures for each sample
}
SEARCH = {"w": {"low": 0.2, "high": 0.8, "log": True}}


class ProxyAnchorMetrix(nn.Module):
    def __init__(self, clean: Any, mixing: Mixing, margin: float, alpha: float, w: float):
        super().__init__()
        self.clean, self.mixing = clean, mixing
        self.margin, self.alpha, self.w = margin, alpha, w

    def forward(self, f: Tensor, rows: Tensor, seen: Seen) -> Tensor:
        return self.clean(f, rows) + self.w * self.mixed(rows, self.mixing(f, rows, seen))

    def mixed(self, rows: Tensor, of: Mixed) -> Tensor:
        present = rows.unique()  # (p,) proxies that have mixtures, unless the batch has one class only
        is_i, is_j = (rows[part][:, None] == present[None, :] for part in (of.i, of.j))  # (m, p)
        share = torch.where(is_i, of.lam, 1 - of.lam).to(of.v.dtype)
        s = of.v @ F.normalize(self.clean.proxies)[present].T  # (m, p)
        pair = is_i | is_j
        positive = soft_maximum(-self.alpha * (s - self.margin), pair * share, dim=0)
        negative = soft_maximum(self.alpha * (s + self.margin), pair * (1 - share), dim=0)
        return (positive + negative).mean()


def build(
    *,
    num_classes: int,
    embedding_dim: int,
    generator: torch.Generator,
    w: float,
    mix_alpha: float,
    level: str,
    partners: int,
    **constants: Any,
) -> nn.Module:
    clean = proxy_anchor.build(
        num_classes=num_classes, embedding_dim=embedding_dim, generator=generator, **constants
    ).loss
    mixing = Mixing(level, mix_alpha, partners, generator)
    return ProxyLoss(ProxyAnchorMetrix(clean, mixing, w=w, **constants), num_classes)
