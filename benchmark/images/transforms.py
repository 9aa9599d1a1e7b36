"""What a photo goes through before the network: random crop and flip in training, centre crop otherwise.

Pure functions of an image and its random draws, so that loader threads and their order cannot change a pixel.
`loading.py` applies them; `packing.py` stores images after their first step, which is then the identity.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmark.spec import RunSpec

RATIO = (3 / 4, 4 / 3)  # of width to height of a random crop

TRIES = 10  # at a crop that lies within the image
DRAWS = 2 * TRIES + 3  # uniform in [0, 1): area and aspect of each try, top, left, whether to mirror

Transform = Callable[[np.ndarray, np.ndarray], np.ndarray]  # uint8 (h, w, c), (DRAWS,) → uint8 (side, side, c)


@dataclass(frozen=True)
class FirstStep:
    """The resize that opens a transform: it depends on nothing random, so a packed image can have had it."""

    side: int = 0  # 0: the image as it is
    square: bool = False  # to side × side instead of the shorter side to `side`

    @property
    def name(self) -> str:
        return "full" if self.side == 0 else f"{'square' if self.square else 'shorter'}{self.side}"

    def __call__(self, image: np.ndarray) -> np.ndarray:
        height, width = image.shape[:2]
        if self.side == 0:
            return image
        if self.square:
            size = (self.side, self.side)
        elif width <= height:
            size = (self.side, max(self.side, int(self.side * height / width)))
        else:
            size = (max(self.side, int(self.side * width / height)), self.side)
        return image if size == (width, height) else _resized(image, size)


def training_step(spec: RunSpec) -> FirstStep:
    """The first step of images that are trained on."""
    return FirstStep(spec.train_resize) if spec.augmentation == "crop" else evaluation_step(spec)


def evaluation_step(spec: RunSpec) -> FirstStep:
    """The first step of images that are judged."""
    return FirstStep(max(spec.resize, spec.image_size), spec.resize_square)


def training(spec: RunSpec) -> Transform:
    """A random resized crop with a flip, or the evaluation's crop where augmentation is not "crop"."""
    if spec.augmentation != "crop":
        return evaluation(spec)
    first = training_step(spec)

    def transform(image: np.ndarray, draws: np.ndarray) -> np.ndarray:
        image = first(image)
        height, width = image.shape[:2]
        top, left, h, w = crop_box(height, width, spec.crop_scale, draws)
        side = (spec.image_size, spec.image_size)
        return _resized(image[top : top + h, left : left + w], side, mirrored=bool(draws[-1] < 0.5))

    return transform


def evaluation(spec: RunSpec) -> Transform:
    """Resize, then the centre."""
    first, side = evaluation_step(spec), spec.image_size

    def transform(image: np.ndarray, draws: np.ndarray) -> np.ndarray:
        image = first(image)
        top, left = (image.shape[0] - side) // 2, (image.shape[1] - side) // 2
        return image[top : top + side, left : left + side]

    return transform


def crop_box(height: int, width: int, scale: float, draws: np.ndarray) -> tuple[int, int, int, int]:
    """Top, left, height, width of a crop with a random share of the area and a random aspect."""
    *tries, top, left, _ = draws.tolist()
    narrowest, widest = math.log(RATIO[0]), math.log(RATIO[1])
    for first, second in zip(tries[::2], tries[1::2], strict=True):
        area = height * width * (scale + (1 - scale) * first)
        ratio = math.exp(narrowest + (widest - narrowest) * second)
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return int(top * (height - h + 1)), int(left * (width - w + 1)), h, w
    # A very long image: the largest centre crop of an allowed aspect.
    w, h = min(width, round(height * RATIO[1])), min(height, round(width / RATIO[0]))
    return (height - h) // 2, (width - w) // 2, h, w


def _resized(image: np.ndarray, size: tuple[int, int], mirrored: bool = False) -> np.ndarray:
    """Bilinear with antialiasing, size = (width, height). A third of the time of PIL."""
    import torch
    import torch.nn.functional as F

    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None]  # (1, c, h, w)
    resized = F.interpolate(pixels, size=size[::-1], mode="bilinear", antialias=True)
    return (resized.flip(3) if mirrored else resized)[0].permute(1, 2, 0).numpy()
