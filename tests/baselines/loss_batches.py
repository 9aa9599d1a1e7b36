"""Batches that losses are tried on: ordinary ones and the corner cases that training meets."""

import torch
from torch import Tensor
from torch.nn import functional as F

from baselines._loss import Loss, Seen


def batch(kind: str, n: int = 48, d: int = 12, k: int = 4, seed: int = 0, dtype=torch.float32) -> tuple[Tensor, Tensor]:
    """Embeddings (n, d) around one centre per class, and labels (n,)."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    labels = torch.arange(n) // k
    if kind == "unequal":
        labels = torch.cat([torch.zeros(n // 3), torch.ones(1), 2 + torch.arange(n - n // 3 - 1) // 3]).long()
    if kind == "one_class":
        labels = torch.zeros(n, dtype=torch.long)
    if kind == "singletons":
        labels = torch.arange(n)
    if kind != "sorted":
        labels = labels[torch.randperm(n, generator=generator)]
    embeddings = normal(n, d)[labels] + normal(n, d)
    if kind == "duplicates":
        embeddings[n // 2 :] = embeddings[: n - n // 2].clone()
    if kind == "identical":
        embeddings = normal(1, d).repeat(n, 1)
    if kind == "collapsed":  # neighbourhoods of any ε > 0 are huge
        embeddings = normal(1, d) + 0.1 * embeddings
    if kind == "perfect":
        embeddings = torch.eye(max(d, int(labels.max()) + 1), dtype=torch.float64)[labels][:, :d] + 0.01 * normal(n, d)
    return embeddings.to(dtype).requires_grad_(), labels


def with_seen(loss: Loss, given: tuple) -> tuple | None:
    """A forward pre-hook that hands a loss what its file says it NEEDS: features that the head leaves as they are."""
    embeddings, labels = given[:2]
    if not loss.needs or len(given) > 2 or labels.shape != embeddings.shape[:1] or embeddings.ndim != 2:
        return None
    features = F.normalize(embeddings if embeddings.dtype == torch.float64 else embeddings.float())
    fine = labels.unique(return_inverse=True)[1]
    return embeddings, labels, Seen(features, F.normalize, torch.stack([fine, fine // 2], dim=1))


def relative(found: Tensor, expected: Tensor) -> float:
    """|found − expected| / |expected|; 0 where both are 0."""
    return float((found - expected).detach().norm() / expected.detach().norm().clamp(min=1e-30))
