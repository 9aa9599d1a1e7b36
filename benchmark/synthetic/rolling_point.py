"""One point rolls along the unit circle from the wrong class to its own: value and gradient of the loss on its way.

64 points of two classes around (0, 1) and (1, 0), as in the paper (figure ball_rolling); L_context, whose gradient is a
heuristic, beside L_contrast. `python -m benchmark synthetic rolling_point`
"""

import math
from pathlib import Path

import numpy as np
import torch

import baselines
from benchmark.seeds import numpy_generator

N = 64  # points, half of each class
SPREAD = 0.15  # standard deviation of a class along the circle, in radians
STEPS = 241  # positions of the rolling point
LOSSES = {"context": 1.0, "contrast": 0.0}  # λ
MOVED = N // 2  # the first point of the second class


def table(data: Path) -> dict[str, list]:
    """Rows of two kinds: `point` (the resting points) and `path` (the rolling one, for each loss)."""
    torch.set_num_threads(1)
    angles, labels = points()
    own, other = angles[MOVED + 1 :].mean(), angles[:MOVED].mean()
    rows: list[dict[str, object]] = [
        {"kind": "point", "angle": angle, "label": label}
        for i, (angle, label) in enumerate(zip(angles.tolist(), labels.tolist(), strict=True))
        if i != MOVED
    ]
    for loss in LOSSES:
        for angle in np.linspace(other, own, STEPS).tolist():
            value, gradient = rolled(loss, angles, labels, angle)
            seen = {"angle": angle, "label": 1, "value": value, "gradient": gradient}
            rows.append({"kind": "path", "loss": loss} | seen)
    names = ("kind", "loss", "angle", "label", "value", "gradient")
    return {name: [row.get(name) for row in rows] for name in names}


def points() -> tuple[np.ndarray, torch.Tensor]:
    """Angles (N,) and classes (N,): the first half around (0, 1), the second around (1, 0)."""
    draw = SPREAD * numpy_generator("synthetic", "rolling_point").standard_normal(N)
    centre = np.repeat([math.pi / 2, 0.0], N // 2)
    return centre + draw, torch.arange(2).repeat_interleave(N // 2)


def rolled(loss: str, angles: np.ndarray, labels: torch.Tensor, angle: float) -> tuple[float, float]:
    """The loss with the moved point at `angle`, and its slope for a step of that point away from its class."""
    module = baselines.build("contextual", num_classes=2, embedding_dim=2, k=N // 2, lam=LOSSES[loss], gamma=0.0)
    angles = angles.copy()
    angles[MOVED] = angle
    f = torch.tensor(np.stack([np.cos(angles), np.sin(angles)], axis=1), dtype=torch.float32)  # (N, 2)
    f.requires_grad_()
    value = module(f, labels)
    value.backward()
    assert f.grad is not None
    away = torch.tensor([-math.sin(angle), math.cos(angle)])  # along the circle, towards the other class
    return value.item(), float(f.grad[MOVED] @ away)
