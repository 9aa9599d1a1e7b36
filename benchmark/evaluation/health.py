"""Whether an embedding space is in use or has collapsed: mean cosine, effective rank, hubness, distances of pairs.

Kept with every run beside its metrics, so that a run whose embeddings shrank to a point or a line is seen; the distance
histograms are those of figure distribution_plots.
"""

import numpy as np
import torch
from torch import Tensor

from benchmark.errors import UserError
from benchmark.evaluation.checks import checked
from benchmark.evaluation.neighbours import neighbours
from benchmark.evaluation.similarity import unit_rows
from benchmark.seeds import numpy_generator

SAMPLE = 4096  # of more samples than this, whole classes drawn by a fixed seed stand for all where pairs are looked at
HUB_K = 10  # neighbours in whose lists a hub appears too often (Radovanović et al. 2010 use 10)


def health(embeddings: object, labels: object) -> dict[str, float]:
    """Numbers that show a collapse; cosines are means over pairs of different samples.

    `effective_rank` is the exponential of the entropy of the normalised singular values (Roy and Vetterli 2007): 1 for a
    line, at most the dimension. `hubness` is the skewness of how often a sample is among the 10 nearest of another.
    """
    data = checked(embeddings, labels)
    x, y = data.query, data.query_labels[:, 0]
    n, classes = len(x), torch.unique(y, return_inverse=True)[1]
    sums = torch.zeros(int(classes.max()) + 1, x.shape[1], dtype=torch.float64, device=x.device)
    gram = torch.zeros(x.shape[1], x.shape[1], dtype=torch.float64, device=x.device)
    for start in range(0, n, SAMPLE):
        unit = unit_rows(x[start : start + SAMPLE])
        sums.index_add_(0, classes[start : start + SAMPLE], unit)
        gram += unit.T @ unit
    itself = float(gram.trace())  # each sample with itself: 1, or 0 for a zero row
    sizes = torch.bincount(classes).double()
    total = float(sums.sum(0).square().sum()) - itself
    positive = float(sums.square().sum()) - itself
    positive_pairs = float((sizes * (sizes - 1)).sum())
    negative_pairs = n * (n - 1) - positive_pairs
    return {
        "mean_cosine": total / max(n * (n - 1), 1),
        "positive_cosine": positive / max(positive_pairs, 1.0),
        "negative_cosine": (total - positive) / max(negative_pairs, 1.0),
        "effective_rank": _effective_rank(gram),
        "hubness": _hubness(x[_sample(y, x.device)]),
    }


def distance_histograms(embeddings: object, labels: object, bins: int = 50) -> dict[str, list]:
    """How many pairs of one class, and of two, lie at each distance between unit vectors: counts between `edges`."""
    if bins < 1:
        raise UserError(f"bins = {bins!r}: expected at least 1")
    data = checked(embeddings, labels)
    chosen = _sample(data.query_labels[:, 0], data.query.device)
    x, y = unit_rows(data.query[chosen]), data.query_labels[chosen, 0]
    counts = torch.zeros(2 * bins + 1, dtype=torch.int64, device=x.device)
    for start in range(0, len(x), 512):  # each pair once, and no sample with itself
        part, others = slice(start, start + 512), slice(start, None)
        distance = (2 - 2 * (x[part] @ x[others].T)).clamp_(0, 4).sqrt_()  # (512, samples from there on)
        cell = (distance * (bins / 2)).long().clamp_(max=bins - 1)
        cell += bins * (y[part, None] != y[others])
        cell[:, : len(cell)].masked_fill_(torch.ones(len(cell), len(cell), device=x.device).tril() > 0, 2 * bins)
        counts += torch.bincount(cell.flatten(), minlength=2 * bins + 1)
    positive, negative = counts[:bins].tolist(), counts[bins : 2 * bins].tolist()
    return {"edges": np.linspace(0, 2, bins + 1).tolist(), "positive": positive, "negative": negative}


def _effective_rank(gram: Tensor) -> float:
    singular = torch.linalg.eigvalsh(gram).clamp_min(0).sqrt()
    share = singular / singular.sum().clamp_min(1e-300)
    return float(torch.exp(torch.special.entr(share).sum()))


def _hubness(x: Tensor) -> float:
    k = min(HUB_K, len(x) - 1)
    if k < 1:
        return 0.0
    index = neighbours(x, k=k).index[:, :k]
    occurrences = np.bincount(index.ravel(), minlength=len(x))[: len(x)].astype(np.float64)
    deviation = occurrences - occurrences.mean()
    spread = np.sqrt((deviation**2).mean())
    return float((deviation**3).mean() / spread**3) if spread > 0 else 0.0


def _sample(labels: Tensor, device: torch.device) -> Tensor:
    """All samples, or about SAMPLE of them in whole classes, so that positive pairs are as frequent as they are."""
    y = labels.cpu().numpy()
    if len(y) <= SAMPLE:
        return torch.arange(len(y), device=device)
    classes = np.unique(y, return_inverse=True)[1]
    place = numpy_generator("health").permutation(classes.max() + 1)
    order = np.argsort(place[classes], kind="stable")
    return torch.from_numpy(np.sort(order[:SAMPLE])).to(device)
