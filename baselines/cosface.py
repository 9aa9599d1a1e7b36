"""Classifies by cosines to class weights, after the cosine of the right class was lowered by a margin.

Cross entropy of s · (cos θ_j − m · [j = y]). Scale and margin of the publication are those of faces, with ten thousands of
classes; with about a hundred, a scale of 64 is reported to collapse, so the scale is searched.
"""

from functools import partial

import torch
from pytorch_metric_learning.losses import CosFaceLoss
from torch import nn

from baselines._proxies import ProxyLoss

TITLE = "CosFace"
SOURCE = "Wang et al. 2018"
GROUP = "since"
YEAR = 2018
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
PARAMS = {
    "margin": 0.35,  # m, publication
    "scale": 64.0,  # s, publication
}
SEARCH = {"scale": {"low": 16.0, "high": 64.0, "log": True}}


def build(
    *, num_classes: int, embedding_dim: int, margin: float, scale: float, generator: torch.Generator
) -> nn.Module:
    init = partial(nn.init.normal_, generator=generator)
    loss = CosFaceLoss(num_classes, embedding_dim, margin=margin, scale=scale, weight_init_func=init)
    return ProxyLoss(loss, num_classes)
