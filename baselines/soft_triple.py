"""Classifies by a soft maximum of cosines to several centres a class, and draws the centres of a class together.

With K unit centres w_c1 … w_cK a class,
    S_ic = Σ_k softmax_k(f_i · w_ck / γ) f_i · w_ck,    L_i = cross entropy of λ (S_ic − δ [c = y_i]),
    R = Σ_c Σ_{t<u} √(2 − 2 w_ct · w_cu) / (C K (K − 1)),    loss = mean L_i + τ R.
R makes centres that are not needed coincide. As in the authors' code, 10⁻⁵ under the root keeps its gradient finite there.
The library's class has no R, and the one to add compares all C K centres with each other: gigabytes on SOP. Here R compares
the K of a class. γ is called `sharpness`, since `gamma` weighs the similarity regulariser.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._proxies import ProxyLoss

TITLE = "SoftTriple"
SOURCE = "Qian et al. 2019"
GROUP = "since"
YEAR = 2019
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
PARAMS = {
    "centers": 10,  # K, publication and code; 2 on SOP
    "scale": 20.0,  # λ, publication and code
    "sharpness": 0.1,  # γ, publication and code
    "margin": 0.01,  # δ, publication and code
    "tau": 0.2,  # τ, weight of R, publication and code
}
SEARCH = {"scale": {"low": 10.0, "high": 40.0, "log": True}}
ROOT = 1e-5  # under the root


class SoftTriple(nn.Module):
    def __init__(self, num_classes: int, embedding_dim: int, generator: torch.Generator, **params):
        super().__init__()
        self.params = params
        self.weight = nn.Parameter(torch.empty(num_classes, params["centers"], embedding_dim))
        flat = torch.empty(embedding_dim, num_classes * params["centers"])  # as the code draws them
        nn.init.kaiming_uniform_(flat, a=math.sqrt(5), generator=generator)
        self.weight.data.copy_(flat.T.view_as(self.weight))
        self.parts: dict[str, Tensor] = {}

    def forward(self, f: Tensor, rows: Tensor) -> Tensor:
        p = self.params
        w = F.normalize(self.weight, dim=2)  # (C, K, d)
        s = (f @ w.flatten(0, 1).T).view(len(f), *w.shape[:2])  # (n, C, K)
        S = ((s / p["sharpness"]).softmax(dim=2) * s).sum(dim=2)  # (n, C)
        margin = p["margin"] * F.one_hot(rows, len(w)).to(S)  # (n, C)
        loss = F.cross_entropy(p["scale"] * (S - margin), rows)
        self.parts = {"softmax": loss.detach()}
        C, K, _ = w.shape
        if p["tau"] and K > 1:
            t, u = torch.triu_indices(K, K, offset=1, device=w.device)
            pairs = (w @ w.mT)[:, t, u]  # (C, K (K − 1) / 2)
            R = (2 + ROOT - 2 * pairs).sqrt().sum() / (C * K * (K - 1))
            loss, self.parts["centers"] = loss + p["tau"] * R, R.detach()
        return loss


def build(*, num_classes: int, embedding_dim: int, generator: torch.Generator, **params) -> nn.Module:
    return ProxyLoss(SoftTriple(num_classes, embedding_dim, generator, **params), num_classes)
