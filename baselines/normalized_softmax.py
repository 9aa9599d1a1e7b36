"""Classifies with normalised embeddings and normalised class weights: a softmax over cosines."""

from functools import partial

import torch
from pytorch_metric_learning.losses import NormalizedSoftmaxLoss
from torch import nn

from baselines._proxies import ProxyLoss

TITLE = "N-Softmax"
SOURCE = "Zhai, Wu 2019"
GROUP = "paper"
YEAR = 2019
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
PARAMS = {
    "temperature": 0.05  # as in the paper's comparison
}


def build(*, num_classes: int, embedding_dim: int, temperature: float, generator: torch.Generator) -> ProxyLoss:
    init = partial(nn.init.normal_, generator=generator)
    loss = NormalizedSoftmaxLoss(num_classes, embedding_dim, temperature=temperature, weight_init_func=init)
    return ProxyLoss(loss, num_classes)
