"""Proxy Anchor with a similarity that an image's own uncertainty can soften, on images and on mixtures of two.

A second linear head maps the features to an uncertainty v. A proxy p at the cosine c has the similarity
    1 − (1 − c) · exp(−(‖v‖² + 4) / (5 ‖f − p‖²)),
and L = L_PA + λ L_PA(mixed, y) + (1 − λ) L_PA(mixed, y′) on mixtures of the batch with itself in another order, λ uniform.
The head of v is dropped after training.

The official code, from which the formula is: by default it normalises v too, so that ‖v‖ = 1 for every image and its head learns
nothing (`unit`); it measures ‖f − p‖ to proxies of any length, here to unit ones as the cosine; and it mixes images, which costs
a second pass through the network, here pooled features.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._loss import Seen
from baselines._mixing import soft_maximum
from baselines._proxies import ProxyLoss
from benchmark.seeds import drawing_from

TITLE = "IDML"
SOURCE = "Wang et al. 2023"
GROUP = "since"
YEAR = 2023
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
NEEDS = ("features",)
PARAMS = {
    "margin": 0.1,  # as `proxy_anchor.py`, official code
    "alpha": 32.0,  # the same
    "unit": False,  # whether v is normalised, as the official code does by default
    "mixed": 1.0,  # weight of the mixtures, official code
}
SEARCH = {"unit": [False, True]}


class Idml(nn.Module):
    def __init__(self, classes: int, d: int, features: int, generator: torch.Generator, **params: float):
        super().__init__()
        self.generator, self.params = generator, params
        with drawing_from(generator):
            self.proxies = nn.Parameter(nn.init.kaiming_normal_(torch.empty(classes, d), mode="fan_out"))
            self.layers = nn.Linear(features, d)

    def forward(self, f: Tensor, rows: Tensor, seen: Seen) -> Tensor:
        loss = self.anchored(f, seen.features, rows)
        if not self.params["mixed"]:
            return loss
        with drawing_from(self.generator):  # on the CPU, so that every device gets the same
            lam, order = float(torch.rand(())), torch.randperm(len(f)).to(f.device)
        features = lam * seen.features + (1 - lam) * seen.features[order]
        mixed = seen.embed(features)
        first, second = (self.anchored(mixed, features, of) for of in (rows, rows[order]))
        return loss + self.params["mixed"] * (lam * first + (1 - lam) * second)

    def anchored(self, f: Tensor, features: Tensor, rows: Tensor) -> Tensor:
        """Proxy Anchor on the softened similarities."""
        alpha, margin = self.params["alpha"], self.params["margin"]
        s = self.similarity(f, features)  # (n, C)
        own = F.one_hot(rows, s.shape[1]).to(s.dtype)
        pull = soft_maximum(-alpha * (s - margin), own, dim=0)
        push = soft_maximum(alpha * (s + margin), 1 - own, dim=0)
        return pull.sum() / len(rows.unique()) + push.mean()

    def similarity(self, f: Tensor, features: Tensor) -> Tensor:
        v = self.layers(features)
        v = F.normalize(v) if self.params["unit"] else v
        apart = 1 - f @ F.normalize(self.proxies).T  # (n, C), half of ‖f − p‖²
        return 1 - apart * torch.exp(-(v.square().sum(dim=1, keepdim=True) + 4) / (10 * apart.clamp(min=1e-4)))


def build(*, num_classes: int, embedding_dim: int, feature_dim: int, generator: torch.Generator, **params) -> nn.Module:
    return ProxyLoss(Idml(num_classes, embedding_dim, feature_dim, generator, **params), num_classes)
