"""Makes each positive pair more similar than the anchor's negatives in a softmax, one positive at a time.

Normalised temperature-scaled cross entropy; the other positives of the anchor do not enter the denominator. The same numbers
as pytorch-metric-learning's NTXentLoss, which compares every positive pair with every negative pair: forty times the step of
any other method at a batch of 128, gigabytes at 400.
"""

import torch
from torch import Tensor, nn

TITLE = "NtXent"
SOURCE = "Sohn 2016; Chen et al. 2020"
GROUP = "paper"
YEAR = 2016
SAMPLER = "balanced"
PARAMS = {
    "temperature": 0.07  # as in the paper's comparison
}


class NtXent(nn.Module):
    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def logits(self, f: Tensor) -> Tensor:
        return f @ f.T / self.temperature  # (n, n)

    def forward(self, f: Tensor, labels: Tensor) -> Tensor:
        s = self.logits(f)
        same = labels[:, None] == labels[None, :]  # (n, n)
        positive = same & ~torch.eye(len(s), dtype=torch.bool, device=s.device)
        if same.all() or not positive.any():
            return 0 * s.sum()
        negatives = s.masked_fill(same, torch.finfo(s.dtype).min).logsumexp(dim=1, keepdim=True)  # (n, 1)
        return (torch.logaddexp(negatives, s) - s)[positive].mean()


def build(*, num_classes: int, embedding_dim: int, temperature: float) -> nn.Module:
    return NtXent(temperature)
