"""Every sample and proxy is a charge: a field that fades with distance draws those of its class and repels all others.

With r_ab = ‖x_a − x_b‖ of unit vectors, the energy of a charge a in the field of all others is
    U_a = −Σ_{b of its class} 1 / max(r_ab, δ)^α + Σ_{b of other classes} 1 / max(r_ab, δ)^α,
over the samples of the batch and M learned proxies a class. The force fades as r^−(α+1), so that far samples, wrong labels among
them, have little say; nearer than δ there is none.

No code was published, and accounts of the publication disagree. Chosen here, each by a parameter where another reading exists:
- δ is the distance below which a potential stays flat, for both kinds (accounts: that, or the reach of the repulsion):
  `reach` = 0 is no limit of the repulsion; above 0, what is farther apart than it does not repel;
- M = 15 (accounts: 15 on CUB and Cars and 2 on SOP; or 4): `proxies`;
- energies are averaged over charges, not summed: the optimiser divides by the scale of gradients anyway;
- only proxies of classes in the batch are averaged over, but all proxies make the field: else n samples would be lost among
  C · M proxies, and their pairs would not fit in memory on SOP;
- α and δ are not known: α is searched.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._proxies import ProxyLoss

TITLE = "Potential field"
SOURCE = "Bhatnagar, Ahuja 2025"
GROUP = "since"
YEAR = 2025
SAMPLER = "balanced"
WARM_UP = True
PROXIES = True
PARAMS = {
    "alpha": 2.0,  # α, chosen
    "delta": 0.2,  # δ, chosen
    "reach": 0.0,  # of the repulsion, chosen: no limit
    "proxies": 15,  # M, by accounts of the publication; 2 on SOP
}
SEARCH = {"alpha": {"low": 1.0, "high": 6.0, "log": True}}


class PotentialField(nn.Module):
    def __init__(self, num_classes: int, embedding_dim: int, generator: torch.Generator, **params):
        super().__init__()
        self.params = params
        self.proxies = nn.Parameter(torch.empty(num_classes * params["proxies"], embedding_dim))
        nn.init.normal_(self.proxies, generator=generator)

    def forward(self, f: Tensor, rows: Tensor) -> Tensor:
        p = self.params
        every = torch.cat([f, F.normalize(self.proxies)])  # (n + C M, d) all that make the field
        of = torch.arange(len(self.proxies), device=f.device) // p["proxies"]  # (C M,) class of each proxy
        kind = torch.cat([rows, of])
        feels = torch.isin(kind, rows).nonzero().squeeze(1)  # (charges,)
        squared = 2 - 2 * every[feels] @ every.T  # (charges, n + C M)
        sign = 1.0 - 2.0 * (kind[feels, None] == kind[None, :]).to(f.dtype)  # −1 draws, 1 repels
        if p["reach"]:
            sign.masked_fill_((sign > 0) & (squared > p["reach"] ** 2), 0)
        sign[torch.arange(len(feels), device=f.device), feels] = 0  # itself
        potential = squared.clamp(min=p["delta"] ** 2) ** (-p["alpha"] / 2)
        return (sign * potential).sum() / len(feels)


def build(*, num_classes: int, embedding_dim: int, generator: torch.Generator, **params) -> nn.Module:
    return ProxyLoss(PotentialField(num_classes, embedding_dim, generator, **params), num_classes)
