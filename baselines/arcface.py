"""Classifies by cosines to class weights, after a margin was added to the angle to the right class.

Cross entropy of s cos(θ_y + m) against s cos θ_j. Where θ_y + m would pass 180°, the logit goes on as cos θ_y − m sin m, so that
it keeps falling (the authors' code and the library; the publication leaves this out). Scale and margin of the publication are
those of faces, with ten thousands of classes; with about a hundred, a scale of 64 is reported to collapse, so it is searched.
"""

from functools import partial

import torch
from pytorch_metric_learning.losses import ArcFaceLoss
from torch import nn

from baselines._angular import Angular
from baselines._proxies import ProxyLoss

TITLE = "ArcFace"
SOURCE = "Deng et al. 2019"
GROUP = "since"
YEAR = 2019
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
PARAMS = {
    "margin": 28.6,  # m in degrees, 0.5 in the publication
    "scale": 64.0,  # s, publication
}
SEARCH = {"scale": {"low": 16.0, "high": 64.0, "log": True}}


class ArcFace(Angular, ArcFaceLoss): ...


def build(
    *, num_classes: int, embedding_dim: int, margin: float, scale: float, generator: torch.Generator
) -> nn.Module:
    init = partial(nn.init.normal_, generator=generator)
    loss = ArcFace(num_classes, embedding_dim, margin=margin, scale=scale, weight_init_func=init)
    return ProxyLoss(loss, num_classes)
