"""Five concentric circles, one class each, with growing noise on the radius: does L₁ alone find an embedding?

L₁ is step 1 of the contextual loss: neighbourhoods against labels, with the step function's heuristic gradient (paper,
figure toy_experiment). Trained on noisy points, judged on clean ones. `python -m benchmark synthetic toy_circles`
"""

import math
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from baselines.contextual import contextual_similarity
from benchmark.seeds import isolated_torch, numpy_generator

RADII = (0.2, 0.4, 0.6, 0.8, 1.0)
NOISES = (0.0, 0.05, 0.1, 0.2)  # standard deviation of the radius; neighbouring circles are 0.2 apart
SPACES = ("plane", "circle")  # D of the outputs as they are, or normalised first, as the equations have it
PER_CLASS = 4  # points of a class in a batch, and k
HIDDEN = 100  # the network is 2-100-100-2
LR, STEPS = 0.01, 1500  # plain SGD
EPS = 1e-5  # ε of L₁
SEEDS = 3
SHOWN, JUDGED = 50, 200  # points of a class that the figure shows and that mAP is measured on


def table(data: Path) -> dict[str, list]:
    """Rows of three kinds: `train` and `embedding` (points of seed 0) and `score` (mAP before and after training)."""
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    x, labels = circles(0.0, JUDGED, numpy_generator("synthetic", "toy_circles", "judged"))
    for noise in NOISES:
        shown, classes = circles(noise, SHOWN, numpy_generator("synthetic", "toy_circles", "shown", noise))
        rows += _points({"kind": "train", "noise": noise, "space": ""}, shown, classes)
        for space in SPACES:
            for seed in range(SEEDS):
                told = {"noise": noise, "space": space, "seed": seed}
                before = embed(untrained(seed), x, space)
                after = embed(trained(noise, seed, space, STEPS), x, space)
                scores = {"mAP before": mean_ap(before, labels), "mAP": mean_ap(after, labels)}
                rows.append({"kind": "score"} | told | scores)
                if seed == 0:
                    every = JUDGED // SHOWN
                    rows += _points({"kind": "embedding"} | told, after[::every], labels[::every])
    names = ("kind", "noise", "space", "seed", "label", "x", "y", "mAP before", "mAP")
    return {name: [row.get(name) for row in rows] for name in names}


def circles(noise: float, per_class: int, generator: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Points (n, 2) on the circles, `noise` added to their radius, and their classes (n,), in order."""
    radius = np.repeat(RADII, per_class)
    angle = generator.uniform(0, 2 * math.pi, len(radius))
    radius = radius + noise * generator.standard_normal(len(radius))
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return torch.from_numpy(x.astype(np.float32)), torch.arange(len(RADII)).repeat_interleave(per_class)


def untrained(seed: int) -> nn.Module:
    with isolated_torch("synthetic", "toy_circles", "weights", seed):
        return nn.Sequential(
            nn.Linear(2, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2)
        )


def trained(noise: float, seed: int, space: str, steps: int) -> nn.Module:
    network = untrained(seed)
    optimizer = torch.optim.SGD(network.parameters(), lr=LR)
    generator = numpy_generator("synthetic", "toy_circles", "batches", noise, seed)
    for _ in range(steps):
        x, labels = circles(noise, PER_CLASS, generator)  # fresh points: nothing can be learned by heart
        z = network(x) if space == "plane" else F.normalize(network(x))
        value = step1_loss(z, labels)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    return network


def step1_loss(z: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """L₁ = mean of (y − 1_N)² over pairs, of embeddings z (n, 2) that need not have length 1."""
    D = (z[:, None] - z[None, :]).square().sum(dim=2)  # (n, n)
    same = (labels[:, None] == labels[None, :]).to(z.dtype)  # (n, n)
    near = contextual_similarity(1 - D / 2, PER_CLASS, EPS, variant="step1")  # (n, n); D = 2 − 2s
    return (same - near).square().fill_diagonal_(0).mean()


@torch.no_grad()
def embed(network: nn.Module, x: torch.Tensor, space: str) -> torch.Tensor:
    z = network(x)
    return z if space == "plane" else F.normalize(z)


def mean_ap(z: torch.Tensor, labels: torch.Tensor) -> float:
    """Mean average precision, leave-one-out, by Euclidean distance: the plane has no cosine to rank by."""
    D = torch.cdist(z.double(), z.double()).fill_diagonal_(-1)
    order = D.argsort(dim=1, stable=True)[:, 1:]  # (n, n − 1) without itself
    hit = (labels[order] == labels[:, None]).double()
    precision = hit.cumsum(dim=1) / torch.arange(1, hit.shape[1] + 1)
    return float(((precision * hit).sum(dim=1) / hit.sum(dim=1)).mean())


def _points(told: dict[str, object], x: torch.Tensor, labels: torch.Tensor) -> list[dict[str, object]]:
    return [told | {"label": label, "x": a, "y": b} for (a, b), label in zip(x.tolist(), labels.tolist(), strict=True)]
