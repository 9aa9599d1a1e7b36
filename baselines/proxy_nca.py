"""Makes the proxy of the right class the most likely one in a softmax over negative squared distances.

One proxy per class (one public release had one per image).
"""

from functools import partial

import torch
from pytorch_metric_learning.losses import ProxyNCALoss
from torch import nn

from baselines._proxies import ProxyLoss

TITLE = "Proxy NCA"
SOURCE = "Movshovitz-Attias et al. 2017; Teh et al. 2020"
GROUP = "paper"
YEAR = 2017
SAMPLER = "shuffle"
WARM_UP = True
PROXIES = True
PARAMS = {
    "softmax_scale": 9.0  # 224 setting; 10 at 256, as in the paper's comparison
}


def build(*, num_classes: int, embedding_dim: int, softmax_scale: float, generator: torch.Generator) -> ProxyLoss:
    init = partial(nn.init.normal_, generator=generator)
    loss = ProxyNCALoss(num_classes, embedding_dim, softmax_scale=softmax_scale, weight_init_func=init)
    return ProxyLoss(loss, num_classes)
