"""Proxy NCA as its second publication trains it: the loss of `proxy_nca.py` on batches with several images a class.

The softmax with the right proxy in the denominator and its temperature of 1/9 are this publication's, and the library's Proxy NCA
has both; so does the row Proxy NCA. What else the publication adds is recipe (maximum pooling, layer norm, Adam with ε = 1,
a schedule read off held-out classes), and the recipe here is the same for all. Its batches hold 8 classes × 4 images.
"""

import torch
from torch import nn

from baselines import proxy_nca

TITLE = "Proxy NCA++"
SOURCE = "Teh, DeVries, Taylor 2020"
GROUP = "copied"
YEAR = 2020
SAMPLER = "balanced"
WARM_UP = True
PROXIES = True
PARAMS = {
    "softmax_scale": 9.0  # 1 / T, publication
}


def build(*, generator: torch.Generator, **given) -> nn.Module:
    return proxy_nca.build(generator=generator, **given)
