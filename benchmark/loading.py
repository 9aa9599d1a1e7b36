"""Images to batches of tensors: reads, transforms and stacks, with as many threads as asked.

The picture of a sample depends on the key, its batch and its place in it, never on threads or on what was
read before. `inputs.py` calls this for photos; PIL works outside Python's lock, so threads are enough.
"""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from benchmark.datasets.dataset import Source
from benchmark.seeds import seed
from benchmark.transforms import Transform

if TYPE_CHECKING:
    import torch

PREFETCH = 2  # batches that wait for the trainer
CHUNK = 8  # images that a thread takes at a time


def batches(
    source: Source,
    index_batches: Iterable[np.ndarray],
    transform: Transform,
    workers: int = 0,
    key: tuple[object, ...] = (),
    device: "torch.device | str" = "cpu",
) -> "Generator[torch.Tensor, None, None]":
    """A float tensor (n, c, h, w) in [0, 1] for each batch of indices; `key` names the draws of an epoch."""
    import torch

    for pixels in pixel_batches(source, index_batches, transform, workers, key):
        yield torch.from_numpy(pixels).to(device).float().div_(255)  # bytes cross to a GPU, not floats


def pixel_batches(
    source: Source,
    index_batches: Iterable[np.ndarray],
    transform: Transform,
    workers: int = 0,
    key: tuple[object, ...] = (),
) -> Generator[np.ndarray, None, None]:
    """The same as uint8."""

    def picture(number: int, place: int, index: int) -> np.ndarray:
        generator = np.random.Generator(np.random.PCG64(seed(*key, number, place)))
        return transform(source.read(index), generator).transpose(2, 0, 1)

    def pictures(number: int, start: int, indices: np.ndarray) -> list[np.ndarray]:
        return [picture(number, place, int(i)) for place, i in enumerate(indices, start)]

    if workers <= 0:
        for number, indices in enumerate(index_batches):
            yield np.stack(pictures(number, 0, indices))
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[list[Future[list[np.ndarray]]]] = deque()
        try:
            for number, indices in enumerate(index_batches):
                starts = range(0, len(indices), CHUNK)
                waiting.append([pool.submit(pictures, number, s, indices[s : s + CHUNK]) for s in starts])
                if len(waiting) > PREFETCH:
                    yield np.stack([image for future in waiting.popleft() for image in future.result()])
            while waiting:
                yield np.stack([image for future in waiting.popleft() for image in future.result()])
        finally:  # the trainer stopped early, or an image is broken: do not read on
            for futures in waiting:
                for future in futures:
                    future.cancel()
