"""The angular margin of ArcFace without its pole, for `arcface.py` and `subcenter_arcface.py`.

The derivative of the arc cosine is infinite where an embedding lies on its class weight, and a gradient of ∞ · 0 is not a number;
the library asks for the angle there. Cosines closer to ±1 than float32 can tell pass on no gradient instead.
"""

import torch
from pytorch_metric_learning.losses.large_margin_softmax_loss import LargeMarginSoftmaxLoss
from torch import Tensor

NEAREST = 1e-6  # of a cosine to ±1


class Angular(LargeMarginSoftmaxLoss):
    def get_angles(self, cosines: Tensor) -> Tensor:
        return torch.acos(cosines.clamp(NEAREST - 1, 1 - NEAREST))
