"""Multi-similarity on the hard pairs of the batch: those within ε of the hardest pair of the other kind.

The pairs are chosen anew in every batch; the loss is that of `multi_similarity.py`.
"""

from pytorch_metric_learning.losses import MultiSimilarityLoss
from pytorch_metric_learning.miners import MultiSimilarityMiner
from torch import Tensor, nn

TITLE = "MS + miner"
SOURCE = "Wang et al. 2019"
GROUP = "paper"
YEAR = 2019
SAMPLER = "balanced"
PARAMS = {
    "alpha": 2.0,  # of positive pairs, as in the paper's comparison
    "beta": 50.0,  # of negative pairs
    "base": 0.5,  # similarity that both are measured from
    "epsilon": 0.1,  # of the miner
}


class Mined(nn.Module):
    def __init__(self, loss: nn.Module, miner: nn.Module):
        super().__init__()
        self.loss, self.miner = loss, miner

    def forward(self, f: Tensor, labels: Tensor) -> Tensor:
        return self.loss(f, labels, self.miner(f, labels))


def build(*, num_classes: int, embedding_dim: int, alpha: float, beta: float, base: float, epsilon: float) -> nn.Module:
    return Mined(MultiSimilarityLoss(alpha=alpha, beta=beta, base=base), MultiSimilarityMiner(epsilon=epsilon))
