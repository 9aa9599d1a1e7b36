"""Random changes of small images, a whole batch at once on its device.

Each change is an affine map of the image plane, so a batch is one `grid_sample`. `affine` moves letters a little and never
mirrors them; `crop` is the batched form of a random resized crop with a horizontal flip.
"""

import math

import torch
import torch.nn.functional as F

ROTATION = math.radians(10)  # at most, either way
ZOOM = 0.15  # size changes by at most this share
SHIFT = 0.10  # of the image, either way
SHEAR = 0.15
CROP_RATIO = (3 / 4, 4 / 3)


def augment(images: torch.Tensor, kind: str, crop_scale: float, generator: torch.Generator) -> torch.Tensor:
    """images: (n, c, h, w) float, zero outside; the same generator state gives the same pictures."""
    if kind == "none":
        return images
    draw = torch.rand(len(images), 6, generator=generator, dtype=torch.float64)  # (n, 6) in [0, 1)
    theta = (_affine(draw) if kind == "affine" else _crop(draw, crop_scale)).float().to(images.device)
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="zeros", align_corners=False)


def _affine(draw: torch.Tensor) -> torch.Tensor:
    spread = 2 * draw - 1  # (n, 6) in [-1, 1)
    angle, shear = spread[:, 0] * ROTATION, spread[:, 1] * SHEAR
    zoom = 1 + spread[:, 2:4] * ZOOM
    cos, sin = angle.cos(), angle.sin()
    rows = [
        torch.stack([cos * zoom[:, 0], (cos * shear - sin) * zoom[:, 1], 2 * SHIFT * spread[:, 4]], dim=1),
        torch.stack([sin * zoom[:, 0], (sin * shear + cos) * zoom[:, 1], 2 * SHIFT * spread[:, 5]], dim=1),
    ]
    return torch.stack(rows, dim=1)  # (n, 2, 3)


def _crop(draw: torch.Tensor, scale: float) -> torch.Tensor:
    area = scale + (1 - scale) * draw[:, 0]
    ratio = torch.exp(math.log(CROP_RATIO[0]) + draw[:, 1] * math.log(CROP_RATIO[1] / CROP_RATIO[0]))
    width = (area * ratio).sqrt().clamp(max=1)
    height = (area / ratio).sqrt().clamp(max=1)
    flip = torch.where(draw[:, 4] < 0.5, -1.0, 1.0)
    zero = torch.zeros_like(area)
    x = (2 * draw[:, 2] - 1) * (1 - width)
    y = (2 * draw[:, 3] - 1) * (1 - height)
    return torch.stack([torch.stack([width * flip, zero, x], 1), torch.stack([zero, height, y], 1)], dim=1)
