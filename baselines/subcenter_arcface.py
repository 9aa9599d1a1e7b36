"""ArcFace with several weights a class, of which the nearest counts: a class may have more than one look, or wrong labels.

cos θ_j = max over the K sub-centres of class j; the rest as in `arcface.py`. The publication then drops sub-centres and samples
far from the dominant one and trains again; here nothing is dropped, as the comparison trains everybody once.
"""

from functools import partial

import torch
from pytorch_metric_learning.losses import SubCenterArcFaceLoss
from torch import nn

from baselines._angular import Angular
from baselines._proxies import ProxyLoss

TITLE = "Sub-center ArcFace"
SOURCE = "Deng et al. 2020"
GROUP = "since"
YEAR = 2020
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
PARAMS = {
    "margin": 28.6,  # m in degrees, 0.5 in the publication
    "scale": 64.0,  # s, publication
    "sub_centers": 3,  # K, publication
}
SEARCH = {"scale": {"low": 16.0, "high": 64.0, "log": True}}


class SubCenterArcFace(Angular, SubCenterArcFaceLoss): ...


def build(
    *, num_classes: int, embedding_dim: int, margin: float, scale: float, sub_centers: int, generator: torch.Generator
) -> nn.Module:
    loss = SubCenterArcFace(
        num_classes=num_classes,
        embedding_size=embedding_dim,
        margin=margin,
        scale=scale,
        sub_centers=sub_centers,
        weight_init_func=partial(nn.init.normal_, generator=generator),
    )
    return ProxyLoss(loss, num_classes)
