"""Which pairs of a real batch the contextual loss pulls together and pushes apart: the gradient, pair by pair.

A network is trained for a moment on the embedded data, then one batch is looked at: the gradient of the distances of a wrong
neighbour j of a sample i, split into its two parts (paper eq. 11, figures target_picture_inter and figure2), and the gradient
of all pairs. `python -m benchmark synthetic gradient_picture`
"""

from pathlib import Path

import numpy as np
import torch

import baselines
from baselines._contrast import contrastive
from baselines.contextual import PARAMS, contextual_similarity
from benchmark.datasets import open_dataset
from benchmark.planning.settings import setting
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec
from benchmark.training.inputs import open_inputs
from benchmark.training.model import build_model
from benchmark.training.sampling import batches
from benchmark.training.training_set import training_view

STEPS, LR = 20, 3e-3  # of training before the picture is taken, with the loss as it is published
K, EPS, ALPHA = 4, 0.05, 10.0


def table(data: Path) -> dict[str, list]:
    """Rows of two kinds: `sample` (all of the batch, as seen from i and j) and `pair` (all pairs of the batch)."""
    torch.set_num_threads(1)
    z, labels, images = batch(data)
    s = z @ z.T  # (n, n)
    D = (2 - 2 * s).clamp(min=0).fill_diagonal_(0).numpy()
    near = neighbourhoods(D)
    same = labels[:, None] == labels[None, :]  # (n, n)
    i, j = chosen_pair(D, near, same)
    ranking, context_i, context_j = parts(near, i, j)
    h = chosen_sample(near, same)
    simple = step1_gradient(near, same, h)
    rows: list[dict[str, object]] = [
        {
            "kind": "sample",
            "step 1": float(simple[p]),
            "part 1": float(ranking[p]),
            "part 2 from i": float(context_i[p]),
            "part 2 from j": float(context_j[p]),
            "image": images[p].tobytes(),
            "side": images.shape[1],
        }
        | _seen_from(D, near, same, p, {"h": h, "i": i, "j": j})
        for p in range(len(labels))
    ]
    whole = {"context": context_gradient(s, labels), "contrast": contrast_gradient(s, labels)}
    rows += [
        {"kind": "pair", "a": a, "b": b, "same": bool(same[a, b])}
        | {name: float(gradient[a, b]) for name, gradient in whole.items()}
        for a in range(len(labels))
        for b in range(len(labels))
    ]
    names = list(rows[0]) + [name for name in rows[-1] if name not in rows[0]]
    return {name: [row.get(name) for row in rows] for name in names}


def _seen_from(D: np.ndarray, near: np.ndarray, same: np.ndarray, p: int, samples: dict[str, int]) -> dict[str, object]:
    """Where sample p stands for each of the three that the picture is about."""
    told: dict[str, object] = {}
    for name, q in samples.items():
        told |= {f"is {name}": p == q, f"like {name}": bool(same[q, p])}
        told |= {f"D to {name}": float(D[q, p]), f"near {name}": bool(near[q, p])}
    return told


def batch(data: Path) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """Embeddings (n, d), classes (n,) and images (n, h, w) of one balanced batch, after a little training."""
    spec = RunSpec(dataset="glyphs", method="contextual", lr=LR, **setting("glyphs", "glyphs"))  # type: ignore[arg-type]
    dataset = open_dataset("glyphs", data)
    view = training_view(dataset, spec)
    inputs, backbone, features = open_inputs(spec, dataset, view, data, torch.device("cpu"))
    model = build_model(spec, backbone, features)
    loss = baselines.build("contextual", num_classes=view.classes, embedding_dim=model.out_dim, k=K, eps=EPS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=spec.lr, weight_decay=spec.weight_decay)
    targets = torch.from_numpy(view.labels)
    generator = numpy_generator("synthetic", "gradient_picture")
    order = batches("balanced", view.labels, None, spec.batch_size, K, generator)
    todo = [next(order) for _ in range(STEPS)]
    model.train()
    for positions, x in zip(todo, inputs.train(1, todo), strict=True):
        value = loss(model(x), targets[torch.from_numpy(positions)])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    model.eval()
    shown = next(order)
    with torch.no_grad():
        z = torch.cat([model(x) for x in inputs.plain_train(shown)])
    images = np.stack([dataset.source.read(int(index))[:, :, 0] for index in view.indices[shown]])
    return z, view.labels[shown], images


def neighbourhoods(D: np.ndarray) -> np.ndarray:
    """1_N as booleans (n, n): within the distance of the k-th nearest, itself the first, plus ε."""
    return np.sort(D, axis=1)[:, K - 1 : K] + EPS >= D


def chosen_pair(D: np.ndarray, near: np.ndarray, same: np.ndarray) -> tuple[int, int]:
    """A wrong neighbour j of i with two neighbours of i's class, if there is one: there the loss pulls that class
    apart. Of several, the one around which the letters of the picture stand farthest from each other.
    """
    wrong = np.argwhere(near & ~same)
    shared = [min(2, int((near[j] & same[i]).sum() - near[j, i])) for i, j in wrong]
    best = max(range(len(wrong)), key=lambda w: (shared[w], _room(D, near, same, *wrong[w]), -w))
    return int(wrong[best, 0]), int(wrong[best, 1])


def _room(D: np.ndarray, near: np.ndarray, same: np.ndarray, i: int, j: int) -> float:
    """The least distance between two letters, as a share of the picture."""
    at = D[np.ix_([i, j], near[i] | near[j] | same[i])]  # (2, m): distance to i, to j
    gaps = np.abs(at[:, :, None] - at[:, None, :]).max(axis=0)  # (m, m)
    return float(gaps[np.triu_indices(len(gaps), 1)].min() / at.max())


def chosen_sample(near: np.ndarray, same: np.ndarray) -> int:
    """A sample h with wrong neighbours and missing ones, two of each if there is one: there L₁ pushes and pulls."""
    wrong, missing = (near & ~same).sum(axis=1), (same & ~near).sum(axis=1)
    both = np.minimum(wrong, missing).clip(max=2)
    return min(range(len(near)), key=lambda h: (-int(both[h]), int(near[h].sum()), h))


def parts(near: np.ndarray, i: int, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂D(i, ·) by part 1, ∂D(i, ·) and ∂D(j, ·) by part 2, for a gradient of 1 at W₁(i, j); each (n,).

    The full gradient, M₋ included (paper appendix F). Below 0: descent makes the distance larger.
    """
    n, size = len(near), near[i].sum()
    overlap = 0.5 * ((near[i] & near[j]).sum() / size + (~near[i] & ~near[j]).sum() / (n - size))
    ranking = np.zeros(n)
    ranking[j] = -ALPHA * overlap
    away = [-ALPHA * np.where(near[of], 0.5 / size, -0.5 / (n - size)) for of in (j, i)]
    return ranking, away[0], away[1]


def step1_gradient(near: np.ndarray, same: np.ndarray, h: int) -> np.ndarray:
    """∂D(h, ·) of L₁ = mean of (y − 1_N)², times n²: wrong neighbours below 0, missing ones above."""
    gradient = -2 * ALPHA * (near[h].astype(float) - same[h])
    gradient[h] = 0.0
    return gradient


def context_gradient(s: torch.Tensor, labels: np.ndarray) -> np.ndarray:
    """∂L_context/∂D of each pair, both orders together: (n, n)."""
    s = s.clone().requires_grad_()
    y = torch.from_numpy(labels[:, None] == labels[None, :]).to(s.dtype)
    w = contextual_similarity(s, K, EPS, ALPHA)
    (y - w).square().fill_diagonal_(0).mean().backward()
    return _of_distances(s)


def contrast_gradient(s: torch.Tensor, labels: np.ndarray) -> np.ndarray:
    s = s.clone().requires_grad_()
    margins = float(PARAMS["pos_margin"]), float(PARAMS["neg_margin"])  # type: ignore[arg-type]
    contrastive(s, torch.from_numpy(labels), *margins).backward()
    return _of_distances(s)


def _of_distances(s: torch.Tensor) -> np.ndarray:
    assert s.grad is not None
    gradient = -0.5 * (s.grad + s.grad.T)  # D = 2 − 2s
    return gradient.fill_diagonal_(0).numpy()
