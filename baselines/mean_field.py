"""Replaces the samples of the other classes by one learned mean field a class, in a pair loss: proxies derived, not assumed.

With unit fields w_c and class-wise means ⟨·⟩_c over the batch, B the classes in it (form = "class_wise"):
    L = Σ_{c∈B} log(1 + ⟨exp(α (δ − f·w_c))⟩_c) / (α |B|)
      + Σ_{c≠c′} log(1 + ⟨exp(β (f·w_c′ − δ))⟩_c + ⟨exp(β (f·w_c − δ))⟩_c′) / (2 β |B|),
where the mean over a class that is not in the batch is 0. With form = "contrastive", D = 1 − f·w:
    L = mean_i ( (D_iy − m₊)₊ + Σ_{c≠y} (m₋ − D_ic)₊ ).
Both add μ mean_c Σ_{c′≠c} h(c, c′)², where h is (m₋ − (1 − w_c·w_c′))₊, or its soft form of sharpness β with m₋ = 1 − δ.
As in the authors' code, but without its C × C matrices of classes that are not in the batch. There the fields learn at 2,000
times the rate of the network, here at the rate of all proxies.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._proxies import ProxyLoss
from benchmark.errors import unknown

TITLE = "Mean field"
SOURCE = "Furusawa 2024"
GROUP = "since"
YEAR = 2024
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
PARAMS = {
    "form": "class_wise",  # of multi-similarity, what the authors run on every data set; or contrastive
    "alpha": 0.01,  # α, README of the authors' code, like β and δ
    "beta": 80.0,  # β
    "base": 0.8,  # δ
    "pos_margin": 0.02,  # m₊ of the contrastive form, defaults of the authors' code
    "neg_margin": 0.3,  # m₋
    "mu": 0.0,  # μ, README of the authors' code
}
SEARCH = {"base": {"low": 0.6, "high": 0.8}}
FORMS = ("class_wise", "contrastive")


class MeanField(nn.Module):
    def __init__(self, num_classes: int, embedding_dim: int, generator: torch.Generator, **params):
        super().__init__()
        if params["form"] not in FORMS:
            raise unknown("form of mean_field", params["form"], FORMS)
        self.params = params
        self.fields = nn.Parameter(torch.empty(num_classes, embedding_dim))
        nn.init.normal_(self.fields, generator=generator)

    def forward(self, f: Tensor, rows: Tensor) -> Tensor:
        p = self.params
        w = F.normalize(self.fields)  # (C, d)
        form = self.class_wise if p["form"] == "class_wise" else self.contrastive
        loss = form(f @ w.T, rows)
        if p["mu"]:
            soft = p["form"] == "class_wise"
            closer = w @ w.T - (p["base"] if soft else 1 - p["neg_margin"])  # (C, C)
            h = F.softplus(closer, beta=p["beta"]) if soft else closer.relu()
            off = 1 - torch.eye(len(w), device=w.device, dtype=w.dtype)
            loss = loss + p["mu"] * (h * off).square().sum(dim=1).mean()
        return loss

    def class_wise(self, s: Tensor, rows: Tensor) -> Tensor:
        """s (n, C)."""
        p = self.params
        present, kind, count = rows.unique(return_inverse=True, return_counts=True)  # (b,)
        of = F.one_hot(kind).to(s) / count  # (n, b) each column a mean over a class
        own = s.gather(1, rows[:, None])  # (n, 1)
        pull = (of.T @ (p["alpha"] * (p["base"] - own)).exp()).log1p().sum()
        push = of.T @ (p["beta"] * (s - p["base"])).exp()  # (b, C)
        both = push[:, present] + push[:, present].T  # (b, b) pairs of classes in the batch
        among = both.log1p().sum() - both.diagonal().log1p().sum()
        absent = torch.ones(s.shape[1], dtype=torch.bool, device=s.device).index_fill(0, present, False)
        beyond = 2 * push[:, absent].log1p().sum()  # c in the batch and c′ not, or the other way round
        return (pull / p["alpha"] + (among + beyond) / (2 * p["beta"])) / len(present)

    def contrastive(self, s: Tensor, rows: Tensor) -> Tensor:
        """s (n, C)."""
        p = self.params
        own = s.gather(1, rows[:, None])  # (n, 1)
        pull = (1 - own - p["pos_margin"]).relu()
        push = (p["neg_margin"] - (1 - s)).relu().scatter(1, rows[:, None], 0)
        return (pull.sum(dim=1) + push.sum(dim=1)).mean()


def build(*, num_classes: int, embedding_dim: int, generator: torch.Generator, **params) -> nn.Module:
    return ProxyLoss(MeanField(num_classes, embedding_dim, generator, **params), num_classes)
