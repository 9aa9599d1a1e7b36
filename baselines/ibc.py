"""Lets the samples of a batch attend to each other and classifies what they become, beside themselves.

L = CE(classifier of the embedding / T) + CE(classifier of the refined embedding / T), both with smoothed labels. The embedding is
refined by `depth` transformer blocks over the batch: multi-head attention, residual, layer norm, MLP d → 4d → d, residual, layer
norm, behind one linear layer; a batch norm without shift comes before the classifier. All of it is dropped after training.

The official code attends with a softmax that has one more term, exp(0), in the denominator; this file follows the publication.
It goes back to the weights of the best test R@1 before each drop of the learning rate, and its configuration for SOP has no
refinement at all; neither is done here. The classifier of the embedding sees √d · f, there the embedding before normalisation.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from baselines._proxies import ProxyLoss
from benchmark.errors import UserError
from benchmark.seeds import drawing_from

TITLE = "IBC"
SOURCE = "Seidenschwarz, Elezi, Leal-Taixé 2021"
GROUP = "copied"
YEAR = 2021
SAMPLER = "balanced"
PARAMS = {
    "temperature": 0.2,  # T, official configuration for CUB (Cars 0.111, In-Shop 0.186, SOP 0.605)
    "heads": 2,  # the same (Cars 8, In-Shop 4, SOP 8)
    "depth": 1,  # the same (Cars 2)
    "dropout": 0.1,  # the same everywhere
    "smoothing": 0.1,  # of labels, official code
}
SEARCH = {"temperature": {"low": 0.1, "high": 0.6, "log": True}}


class Block(nn.Module):
    """Each sample attends to all of the batch, itself included; then an MLP. x (n, d) to (n, d)."""

    def __init__(self, d: int, heads: int):
        super().__init__()
        self.heads = heads
        linear = [nn.Linear(d, d) for _ in range(4)]
        for layer in linear:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.attention = nn.ModuleList(linear)  # query, key, value, out
        self.mlp = nn.ModuleList([nn.Linear(d, 4 * d), nn.Linear(4 * d, d)])
        self.norms = nn.ModuleList([nn.LayerNorm(d), nn.LayerNorm(d)])

    def forward(self, x: Tensor, dropout: Callable[[Tensor], Tensor]) -> Tensor:
        n, d = x.shape
        q, k, v = (layer(x).view(n, self.heads, -1).transpose(0, 1) for layer in self.attention[:3])
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d / self.heads), dim=2)  # (heads, n, n)
        gathered = (dropout(weights) @ v).transpose(0, 1).reshape(n, d)
        x = self.norms[0](x + dropout(self.attention[3](gathered)))
        inner, outer = self.mlp
        return self.norms[1](x + dropout(outer(dropout(F.relu(inner(x))))))


class Classifiers(nn.Module):
    """Logits of the classes, (n, C), of the embeddings and of what they become."""

    def __init__(self, classes: int, d: int, heads: int, depth: int):
        super().__init__()
        self.plain = nn.Linear(d, classes)
        self.reduction = nn.Linear(d, d)
        self.blocks = nn.ModuleList([Block(d, heads) for _ in range(depth)])
        self.norm = nn.BatchNorm1d(d)
        self.norm.bias.requires_grad_(False)
        self.refined = nn.Linear(d, classes, bias=False)
        nn.init.normal_(self.refined.weight, std=0.001)  # official code

    def forward(self, f: Tensor, dropout: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        x = self.reduction(f)
        for block in self.blocks:
            x = block(x, dropout)
        return self.plain(math.sqrt(f.shape[1]) * f), self.refined(self.norm(x))


class Ibc(nn.Module):
    def __init__(self, layers: Classifiers, generator: torch.Generator, **params: float):
        super().__init__()
        self.layers, self.generator, self.params = layers, generator, params

    def forward(self, f: Tensor, rows: Tensor) -> Tensor:
        T, smoothing = self.params["temperature"], self.params["smoothing"]
        plain, refined = (
            F.cross_entropy(logits / T, rows, label_smoothing=smoothing) for logits in self.layers(f, self.dropped)
        )
        return plain + refined

    def dropped(self, x: Tensor) -> Tensor:
        """As nn.Dropout, drawn on the CPU from this module's generator so that every device gets the same."""
        share = self.params["dropout"]
        kept = torch.rand(x.shape, generator=self.generator) >= share
        return x * kept.to(x) / (1 - share)


def build(
    *, num_classes: int, embedding_dim: int, generator: torch.Generator, heads: int, depth: int, **params: float
) -> nn.Module:
    if embedding_dim % heads:
        raise UserError(f"ibc: heads = {heads} does not divide embedding_dim = {embedding_dim}")
    with drawing_from(generator):
        layers = Classifiers(num_classes, embedding_dim, heads, depth)
    return ProxyLoss(Ibc(layers, generator, **params), num_classes)
