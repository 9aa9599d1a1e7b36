"""Pulls every sample to the proxy of its class and away from the other proxies, hardest samples first.

A soft maximum over the samples of the batch for each proxy, which thereby acts as the anchor.
"""

from functools import partial

import torch
from pytorch_metric_learning.losses import ProxyAnchorLoss
from torch import nn

from baselines._proxies import ProxyLoss

TITLE = "Proxy Anchor"
SOURCE = "Kim et al. 2020"
GROUP = "paper"
YEAR = 2020
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
PARAMS = {
    "margin": 0.1,  # as in the paper's comparison
    "alpha": 32.0,
}


def build(
    *, num_classes: int, embedding_dim: int, margin: float, alpha: float, generator: torch.Generator
) -> ProxyLoss:
    init = partial(nn.init.kaiming_normal_, mode="fan_out", generator=generator)
    loss = ProxyAnchorLoss(num_classes, embedding_dim, margin=margin, alpha=alpha, weight_init_func=init)
    return ProxyLoss(loss, num_classes)
