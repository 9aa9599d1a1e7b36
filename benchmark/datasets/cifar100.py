"""CIFAR-100: 60,000 photos of 32 pixels, 100 classes in 20 coarse ones; the first 50 classes train.

torchvision's `cifar-100-python/`, its own training and test images pooled, since they share all classes.
"""

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.datasets._dataset import Dataset, KeptSource, fingerprint, levelled
from benchmark.datasets._tree import check_counts, found_or_fetched
from benchmark.errors import UserError

ARCHIVE = "cifar-100-python.tar.gz (https://www.cs.toronto.edu/~kriz/cifar.html)"
FOLDERS = ("cifar-100-python",)
MARKERS = ("meta",)
LEVELS = ("class", "coarse")
COUNTS = {"images": 60_000, "classes": 100, "coarse": 20}


def open(root: Path, expect: Mapping[str, int] | None = COUNTS) -> Dataset:
    folder = found_or_fetched("cifar100", root, FOLDERS[0], MARKERS, ARCHIVE, "CIFAR100")
    meta = _load(folder / "meta")
    parts = [_load(folder / part) for part in ("train", "test")]
    fine = [(i, meta["fine_label_names"][i]) for part in parts for i in part["fine_labels"]]
    coarse = [(i, meta["coarse_label_names"][i]) for part in parts for i in part["coarse_labels"]]
    labels, names = levelled(fine, coarse)
    sides = np.where(labels[:, 0] < len(names[0]) // 2, "train", "test")
    check_counts("cifar100", expect, labels, sides, LEVELS, ARCHIVE)
    source = KeptSource(folder / "images.npy", len(labels), lambda: _pixels(parts))
    stamp = fingerprint("cifar100", labels, *[np.asarray(part["data"])[::500] for part in parts])
    return Dataset.sided("cifar100", LEVELS, (labels, names), sides, source, stamp)


class _Plain(pickle.Unpickler):
    """Lists, texts, numbers and arrays only: a pickle may otherwise run anything, and this one was downloaded."""

    PARTS = ("numpy.ndarray", "numpy.dtype", "_codecs.encode", "numpy._core.numeric._frombuffer",
             "numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")  # fmt: skip

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" in self.PARTS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no data")


def _load(path: Path) -> dict[str, Any]:
    try:
        return _Plain(io.BytesIO(path.read_bytes()), encoding="latin1").load()
    except FileNotFoundError:
        raise UserError(f"{str(path)!r} is missing; unpack {ARCHIVE} again") from None
    except Exception as error:  # a damaged pickle fails in many ways
        raise UserError(f"{str(path)!r} cannot be read ({error}); unpack {ARCHIVE} again") from None


def _pixels(parts: list[dict[str, Any]]) -> np.ndarray:
    # (n, 3072), colour first
    flat = np.concatenate([np.asarray(part["data"], dtype=np.uint8) for part in parts])
    return np.ascontiguousarray(flat.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
