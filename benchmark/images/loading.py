"""Images to batches of tensors: reads, transforms and stacks, with as many threads as asked.

The picture of a sample depends on the key, its batch and its place in it, never on threads or on what was
read before. `inputs.py` calls this for photos; PIL works outside Python's lock, so threads are enough.
"""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch

from benchmark.datasets._dataset import Source
from benchmark.images.transforms import DRAWS, Transform
from benchmark.seeds import numpy_generator

PREFETCH = 2  # batches that wait for the trainer
CHUNK = 8  # images that a thread takes at a time


def batches(
    source: Source,
    index_batches: Iterable[np.ndarray],
    transform: Transform,
    workers: int = 0,
    key: tuple[object, ...] = (),
) -> Generator[torch.Tensor, None, None]:
    """A float tensor (n, c, h, w) in [0, 1] for each batch of indices; `key` names the draws of an epoch."""
    for pixels in pixel_batches(source, index_batches, transform, workers, key):
        yield torch.from_numpy(pixels).float().div_(255)


def pixel_batches(
    source: Source,
    index_batches: Iterable[np.ndarray],
    transform: Transform,
    workers: int = 0,
    key: tuple[object, ...] = (),
) -> Generator[np.ndarray, None, None]:
    """The same as uint8."""

    def pictures(indices: np.ndarray, draws: np.ndarray) -> np.ndarray:
        pairs = zip(indices.tolist(), draws, strict=True)
        return np.stack([transform(source.read(i), drawn).transpose(2, 0, 1) for i, drawn in pairs])

    if workers <= 0:
        for number, indices in enumerate(index_batches):
            yield pictures(indices, _draws(len(indices), *key, number))
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[list[Future[np.ndarray]]] = deque()
        try:
            for number, indices in enumerate(index_batches):
                draws = _draws(len(indices), *key, number)
                chunks = [slice(start, start + CHUNK) for start in range(0, len(indices), CHUNK)]
                waiting.append([pool.submit(pictures, indices[c], draws[c]) for c in chunks])
                if len(waiting) > PREFETCH:
                    yield np.concatenate([future.result() for future in waiting.popleft()])
            while waiting:
                yield np.concatenate([future.result() for future in waiting.popleft()])
        finally:  # the trainer stopped early, or an image is broken: do not read on
            for futures in waiting:
                for future in futures:
                    future.cancel()


def _draws(count: int, *key: object) -> np.ndarray:
    """The draws of a batch at once (count, DRAWS): a row depends on the key and its place alone."""
    return numpy_generator(*key).random((count, DRAWS))
