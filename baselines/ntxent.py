"""Makes each positive pair more similar than the anchor's negatives in a softmax, one positive at a time.

Normalised temperature-scaled cross entropy; the other positives of the anchor do not enter the denominator.
"""

from pytorch_metric_learning.losses import NTXentLoss
from torch import nn

TITLE = "NtXent"
SOURCE = "Sohn 2016; Chen et al. 2020"
SAMPLER = "balanced"
PARAMS = {
    "temperature": 0.07,  # REPRODUCTION 3
}


def build(*, num_classes: int, embedding_dim: int, temperature: float) -> nn.Module:
    return NTXentLoss(temperature=temperature)
