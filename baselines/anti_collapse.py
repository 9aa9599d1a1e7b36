"""Proxy Anchor with a term that spreads the proxies of the batch over as many directions as they can fill.

    loss = w_align · ProxyAnchor + w · exp(−R),    R = ½ log det(I + κ P̂ P̂ᵀ),
P̂ (m, d) the unit proxies of the classes in the batch: R is their coding rate, large where they are orthogonal and small where
they lie together. Proxy Anchor as in `proxy_anchor.py`, with the authors' constants.

The coding rate of m points in d dimensions has κ = d / (m ε). The authors' code has that in a form that it does not use; the one
that it trains with has κ = m / (d ε), and this file follows it (with the other, exp(−R) would vanish). The code also takes
the mean of the positive terms over samples instead of classes: alike on batches with equally many of each. It learns proxies at
2,000 times the rate of the network; here at the rate of all proxies.
"""

from functools import partial

import torch
from pytorch_metric_learning.losses import ProxyAnchorLoss
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._proxies import ProxyLoss

TITLE = "Anti-collapse"
SOURCE = "Jiang et al. 2024"
GROUP = "since"
YEAR = 2024
SAMPLER = "balanced"  # two images a class in the authors' runs
WARM_UP = True
PROXIES = True
PARAMS = {
    "margin": 0.1,  # of Proxy Anchor, defaults of the authors' code, like α
    "alpha": 64.0,
    "align": 0.0035,  # w_align, the authors' runs
    "weight": 1.0,  # w, the authors' runs
    "eps": 0.5,  # ε, the authors' runs
}
SEARCH = {"align": {"low": 0.001, "high": 0.1, "log": True}}  # 0.01 is the default of the authors' code


class AntiCollapse(nn.Module):
    def __init__(self, anchor: ProxyAnchorLoss, align: float, weight: float, eps: float):
        super().__init__()
        self.anchor, self.align, self.weight, self.eps = anchor, align, weight, eps
        self.parts: dict[str, Tensor] = {}

    def forward(self, f: Tensor, rows: Tensor) -> Tensor:
        anchor = self.anchor(f, rows)
        P = F.normalize(self.anchor.proxies[rows.unique()])  # (m, d)
        m, d = P.shape
        spread = torch.eye(m, device=P.device, dtype=P.dtype) + m / (d * self.eps) * P @ P.T  # (m, m)
        collapse = torch.exp(-0.5 * torch.linalg.slogdet(spread).logabsdet)
        self.parts = {"proxy_anchor": anchor.detach(), "collapse": collapse.detach()}
        return self.align * anchor + self.weight * collapse


def build(
    *, num_classes: int, embedding_dim: int, margin: float, alpha: float, generator: torch.Generator, **weights: float
) -> nn.Module:
    init = partial(nn.init.kaiming_normal_, mode="fan_out", generator=generator)
    anchor = ProxyAnchorLoss(num_classes, embedding_dim, margin=margin, alpha=alpha, weight_init_func=init)
    return ProxyLoss(AntiCollapse(anchor, **weights), num_classes)
