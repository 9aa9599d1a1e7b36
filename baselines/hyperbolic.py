"""Cross entropy over hyperbolic distances: each positive is nearer in the Poincaré ball than the anchor's negatives.

For an anchor a and each of its positives p,
    L_ap = −log( exp(−d_ap / T) / (exp(−d_ap / T) + Σ_{n∈N(a)} exp(−d_an / T)) ),
    d = arcosh(1 + 2c ‖x − y‖² / ((1 − c‖x‖²)(1 − c‖y‖²))) / √c    in the ball of curvature −c,
averaged over positive pairs: the loss of `ntxent.py` on another distance. With two images a class this is the authors' code;
with more, the code compares two images a class at a time and this file all.

The publication maps the embedding into the ball, tanh(√c r) / √c for a length r that is clipped at 2.3, and ranks by d at test
time. Here embeddings are unit vectors: all lie at the radius of the clip, ρ = tanh(2.3 √c) / √c, and d grows with 2 − 2 cos, so
that ranking by cosine, which the comparison does for all, ranks by d. What is lost is a length below the clip.
"""

import math

import torch
from torch import Tensor, nn

from baselines.ntxent import NtXent

TITLE = "Hyperbolic"
SOURCE = "Ermolov et al. 2022"
GROUP = "since"
YEAR = 2022
SAMPLER = "balanced"
PARAMS = {
    "temperature": 0.2,  # T, publication
    "curvature": 0.1,  # c, publication
    "clip": 2.3,  # length of an embedding before it is mapped into the ball, publication
}
SEARCH = {"temperature": {"low": 0.1, "high": 0.4, "log": True}}
NEAREST = 1e-6  # arcosh(1 + x) has an infinite derivative at 0: a smaller x passes on no gradient


class Hyperbolic(NtXent):
    def __init__(self, temperature: float, curvature: float, clip: float):
        super().__init__(temperature)
        self.root = math.sqrt(curvature)
        inside = math.tanh(self.root * clip) ** 2  # cρ²
        self.stretch = 2 * inside / (1 - inside) ** 2

    def logits(self, f: Tensor) -> Tensor:
        x = (self.stretch * (2 - 2 * f @ f.T)).clamp(min=NEAREST)  # (n, n)
        d = torch.log1p(x + (x * (x + 2)).sqrt()) / self.root  # arcosh(1 + x) / √c
        return -d / self.temperature


def build(*, num_classes: int, embedding_dim: int, **params: float) -> nn.Module:
    return Hyperbolic(**params)
