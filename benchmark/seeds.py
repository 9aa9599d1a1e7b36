"""Random numbers that depend on names only.

Every random choice of a run draws from its own generator, seeded by hashing what the choice is for
(`seed("batches", "final", 3)`), so adding a method, a worker or a metric never changes another number.
The global random state of torch, numpy and Python is never used.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def seed(*names: object) -> int:
    """A 63-bit seed from names: stable across processes, platforms and Python versions."""
    text = "\x1f".join(map(str, names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def numpy_generator(*names: object) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed(*names)))


def torch_generator(*names: object, device: str = "cpu"):
    import torch

    return torch.Generator(device=device).manual_seed(seed(*names))


@contextmanager
def isolated_torch(*names: object) -> Iterator[None]:
    """For code that can only draw from torch's global state: seeded inside by names, left outside as it was."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed(*names))
        yield


@contextmanager
def drawing_from(generator: "torch.Generator") -> Iterator[None]:
    """The same, but what is drawn inside comes from `generator`, which goes on where it was left."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(generator.get_state())
        yield
        generator.set_state(torch.get_rng_state())
