"""Proxy NCA with mixed samples, which are classified among the proxies with both their labels, each to its share.

L = L_PNCA + w · mean over mixed samples v of λ L(v, y) + (1 − λ) L(v, y′), of `_mixing.py`. The published row mixes with the loss
of Proxy NCA++, which is that of `proxy_nca.py`.
"""

from typing import Any

import torch
from torch import Tensor, nn

from baselines import proxy_nca
from baselines._loss import Seen
from baselines._mixing import Mixed, Mixing
from baselines._proxies import ProxyLoss

TITLE = "Proxy NCA + Metrix"
SOURCE = "Venkataramanan et al. 2022"
GROUP = "copied"
YEAR = 2022
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
NEEDS = ("features",)
PARAMS = {
    "softmax_scale": 9.0,  # as `proxy_nca.py`
    "w": 0.4,  # weight of the mixed samples, official code
    "mix_alpha": 2.0,  # λ ~ Beta(2, 2), official code
    "level": "feature",  # what is mixed: feature (the published row) or embed
    "partners": 3,  # mixtures for each sample
}
SEARCH = {"w": {"low": 0.2, "high": 0.8, "log": True}}


class ProxyNcaMetrix(nn.Module):
    def __init__(self, clean: nn.Module, mixing: Mixing, w: float):
        super().__init__()
        self.clean, self.mixing, self.w = clean, mixing, w

    def forward(self, f: Tensor, rows: Tensor, seen: Seen) -> Tensor:
        of: Mixed = self.mixing(f, rows, seen)
        clean = self.clean(f, rows)
        if not len(of.v):  # one class only
            return clean
        mixed = of.lam * self.clean(of.v, rows[of.i]) + (1 - of.lam) * self.clean(of.v, rows[of.j])
        return clean + self.w * mixed


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
    clean = proxy_nca.build(num_classes=num_classes, embedding_dim=embedding_dim, generator=generator, **constants).loss
    mixing = Mixing(level, mix_alpha, partners, generator)
    return ProxyLoss(ProxyNcaMetrix(clean, mixing, w), num_classes)
