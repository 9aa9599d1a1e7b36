"""Contrasts each sample with a bank of class centres that the batches keep up to date, with a margin for the right one.

With c_j the unit centre of class j,
    L_i = −log( exp((f_i · c_y − m) / τ) / (exp((f_i · c_y − m) / τ) + Σ_{j≠y} exp(f_i · c_j / τ)) ).
No code was published. The publication says: a bank of class centres, updated in every step, contrasted with the samples by a
softmax with a margin. Chosen here, since it does not say or is not known:
- centres are not learned: no gradient reaches them; they are a state, kept in checkpoints;
- before the loss of a batch, c ← normalised(μ c + (1 − μ) mean of the class in the batch), μ = `momentum`; a class that is seen
  for the first time gets the mean; classes never seen take no part;
- the margin lowers the cosine, as in `cosface.py`; τ and m are values usual for such losses.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._proxies import ProxyLoss

TITLE = "Center contrastive"
SOURCE = "Cai, Xiong, Tian 2023"
GROUP = "since"
YEAR = 2023
SAMPLER = "balanced"
PARAMS = {
    "temperature": 0.05,  # τ, chosen: that of `normalized_softmax.py`; searched
    "margin": 0.1,  # m, chosen
    "momentum": 0.5,  # μ, chosen: 0, 0.5 and 0.9 end alike on glyphs
}
SEARCH = {"temperature": {"low": 0.03, "high": 0.2, "log": True}}


class CenterContrastive(nn.Module):
    centers: Tensor  # (C, d); 0: not seen

    def __init__(self, num_classes: int, embedding_dim: int, **params: float):
        super().__init__()
        self.params = params
        self.register_buffer("centers", torch.zeros(num_classes, embedding_dim))

    def forward(self, f: Tensor, rows: Tensor) -> Tensor:
        p = self.params
        self.update(f.detach(), rows)
        s = f @ self.centers.T  # (n, C)
        s = s.masked_fill(self.centers.eq(0).all(dim=1), torch.finfo(s.dtype).min)
        margin = p["margin"] * F.one_hot(rows, len(self.centers)).to(s)  # (n, C)
        return F.cross_entropy((s - margin) / p["temperature"], rows)

    def update(self, f: Tensor, rows: Tensor) -> None:
        present, kind, count = rows.unique(return_inverse=True, return_counts=True)  # (b,)
        mean = f.new_zeros(len(present), f.shape[1]).index_add_(0, kind, f) / count[:, None]  # (b, d)
        self.centers = self.centers.to(f)
        old = self.centers[present]
        kept = self.params["momentum"] * old.ne(0).any(dim=1, keepdim=True)  # (b, 1)
        self.centers = self.centers.index_copy(0, present, F.normalize(kept * old + (1 - kept) * mean))


def build(*, num_classes: int, embedding_dim: int, **params: float) -> nn.Module:
    return ProxyLoss(CenterContrastive(num_classes, embedding_dim, **params), num_classes)
