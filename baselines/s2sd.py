"""Distils similarities from wider embeddings of the same features, trained beside it, into the embedding.

Branch k maps the pooled features by an MLP F → t_k → t_k to unit rows and has its own copy of the base loss. With s the
similarities of the embedding and kl(s, t) = T² · mean over rows of KL(softmax(t / T) ‖ softmax(s / T)), gradients into s only,
    L = ½ (L_base + mean_k L_k) + w · mean_k kl(s, s_k) + w_f · kl(s, s_features),
the last term after `delay` steps. Branches are dropped after training. `base` may be any other method.

Official code: t = 512, 1024, 1536, 2048 for an embedding of 512 and features of 2048 dimensions, as here. On CUB and Cars its
branches see average + maximum pooling, here the features that the embedding sees.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import baselines
from baselines._loss import Seen
from benchmark.errors import UserError
from benchmark.seeds import drawing_from

TITLE = "S2SD"
SOURCE = "Roth et al. 2021"
GROUP = "copied"
YEAR = 2021
SAMPLER = "balanced"
NEEDS = ("features",)
PARAMS = {
    "base": "multi_similarity",  # on CUB and Cars; margin loss on SOP
    "branches": 4,  # official code
    "temperature": 1.0,  # T, official code
    "weight": 50.0,  # w, official code
    "feature_weight": 50.0,  # w_f, official code (SOP: 5)
    "delay": 1000,  # steps, official code, of about 8,000; settings say an eighth of theirs
}
SEARCH = {"weight": {"low": 1.0, "high": 50.0, "log": True}}


def unit(branch: nn.Module, features: Tensor) -> Tensor:
    return F.normalize(branch(features))


class S2SD(nn.Module):
    steps: Tensor

    def __init__(self, base: nn.Module, branches: list, losses: list, **params: float):
        super().__init__()
        self.params = params
        self.base, self.layers, self.losses = base, nn.ModuleList(branches), nn.ModuleList(losses)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, f: Tensor, labels: Tensor, seen: Seen) -> Tensor:
        p, s = self.params, f @ f.T  # (n, n)
        views = [replace(seen, embed=partial(unit, branch)) for branch in self.layers]
        wide = [view.embed(seen.features) for view in views]  # (n, t_k) each
        branches = zip(self.losses, wide, views, strict=True)
        own = torch.stack([loss(g, labels, view) for loss, g, view in branches]).mean()
        taught = torch.stack([self.divergence(s, g) for g in wide]).mean()
        loss = (self.base(f, labels, seen) + own) / 2 + p["weight"] * taught
        if self.steps >= p["delay"]:
            loss = loss + p["feature_weight"] * self.divergence(s, F.normalize(seen.features))
        self.steps += 1
        return loss

    def divergence(self, s: Tensor, g: Tensor) -> Tensor:
        T = self.params["temperature"]
        student, teacher = (s / T).log_softmax(dim=1), (g @ g.T / T).detach().log_softmax(dim=1)  # (n, n)
        return T**2 * F.kl_div(student, teacher, reduction="batchmean", log_target=True)


def widths(d: int, features: int, branches: int) -> list[int]:
    """From the embedding's dimensions to the features', or to twice its own where these are few, in steps of eights."""
    more = max(features, 2 * d) - d
    return [d + more * k // max(1, branches - 1) // 8 * 8 for k in range(branches)]


def build(
    *,
    num_classes: int,
    embedding_dim: int,
    feature_dim: int,
    generator: torch.Generator,
    base: str,
    branches: int,
    **params: float,
) -> nn.Module:
    if base == "s2sd":
        raise UserError("s2sd: base = 's2sd' has no end; expected another method (python -m benchmark list)")
    dims = widths(embedding_dim, feature_dim, branches)
    size: dict[str, Any] = {"num_classes": num_classes, "feature_dim": feature_dim, "generator": generator}
    first, *losses = [baselines.build(base, embedding_dim=d, **size) for d in [embedding_dim, *dims]]
    with drawing_from(generator):
        maps = [nn.Sequential(nn.Linear(feature_dim, t), nn.ReLU(), nn.Linear(t, t)) for t in dims]
    return S2SD(first, maps, losses, **params)
