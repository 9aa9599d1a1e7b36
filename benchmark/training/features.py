"""What does not change in training, computed once and shared by all workers: a backbone's output for every image.

The frozen lane trains only the head, on pooled features; the stage lane trains the backbone from a part on, on the maps before
it. They lie memory-mapped below the data folder under a key of data, weights and transform. To make them ahead of the runs:
`python -m benchmark features DATASET`.
"""

import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark.datasets import weights_file
from benchmark.datasets._dataset import Dataset, FileSource, Source, fingerprint
from benchmark.datasets._tree import sizes
from benchmark.errors import UserError
from benchmark.files import content_hash
from benchmark.images.chunked import ChunkedArray
from benchmark.images.packing import sources
from benchmark.spec import RunSpec
from benchmark.training.training_set import distractors

if TYPE_CHECKING:
    import torch

VERSION = 2  # raise when the same key would give other features
BATCH = 16  # fixed, since a convolution may round differently in another batch size; larger ones are slower on a CPU
CHUNK = 8 * BATCH  # images: some seconds of work
SEEN = ("backbone", "pooling", "image_size", "resize", "resize_square")  # what features of a plain image depend on
AUGMENTED = ("augmentation", "crop_scale", "train_resize")  # of an augmented view


@dataclass(frozen=True)
class Features:
    views: tuple[np.ndarray, ...]  # (n, d) float32, or (n, h, w, c) float16; the first plain, the others augmented
    distractors: np.ndarray | None  # (k, …), where the spec replaces images

    @property
    def dim(self) -> int:
        return self.views[0].shape[1]

    def rows(self, indices: np.ndarray, replaced: np.ndarray | None = None, view: np.ndarray | int = 0) -> np.ndarray:
        """Features of samples in float32, each from its view, with distractors where `replaced` is not -1: (m, …)."""
        view = np.broadcast_to(view, indices.shape)
        found = np.empty((len(indices), *self.views[0].shape[1:]), dtype=np.float32)
        for v in np.unique(view):
            found[view == v] = self.views[v][indices[view == v]]
        if replaced is not None and self.distractors is not None:
            found[replaced >= 0] = self.distractors[replaced[replaced >= 0]]
        return found


@dataclass(frozen=True)
class Part:
    """One view of some images: what it is read from, and the array that its features go to."""

    source: Source
    view: int  # 0: as it is judged
    kept: ChunkedArray


def folder(dataset: Dataset, root: Path) -> Path:
    return root / "features" / dataset.file_name


def parts(dataset: Dataset, spec: RunSpec, root: Path) -> list[Part]:
    """What a spec trains on: the plain view, the augmented ones, the distractors if it has some."""
    train, judged = sources(dataset, spec, root)
    found = [(dataset.fingerprint, judged, np.arange(len(dataset)), 0)]
    found += [(dataset.fingerprint, train, dataset.train, view) for view in range(1, spec.views)]
    others = distractors(dataset, spec, root) if spec.image_noise else None
    if others is not None:
        found.append((_distractor_key(dataset, others), others, np.arange(len(others)), 0))
    wanted = []
    for data, source, indices, view in found:
        key = _key(spec, root, data, view)
        path = folder(dataset, root) / f"{fingerprint(json.dumps(key, sort_keys=True))}.npy"
        wanted.append(Part(source, view, ChunkedArray(path, len(source), indices, CHUNK, key)))
    return wanted


def features(dataset: Dataset, spec: RunSpec, root: Path, device: str = "cpu") -> Features:
    """The features that a spec of the frozen or stage lane trains on; makes those that are not there yet."""
    found = parts(dataset, spec, root)
    make(found, spec, root, device)
    arrays = [part.kept.array() for part in found]
    return Features(tuple(arrays[: spec.views]), arrays[spec.views] if len(arrays) > spec.views else None)


def make(found: list[Part], spec: RunSpec, root: Path, device: str = "cpu") -> None:
    """Computes what is missing, together with every other process that is at it."""
    room(found, spec, root)
    network = cache(lambda: _network(spec, root, device))  # built when it is first needed, and once
    for part in found:

        def compute(chunk: int, indices: np.ndarray, part: Part = part) -> np.ndarray:
            rows = network()
            return np.concatenate([rows(x) for x in _images(spec, part, chunk, indices, device)])[: len(indices)]

        part.kept.fill(compute)


def signature(spec: RunSpec) -> tuple[object, ...]:
    """The same for specs that train on the same features."""
    own = () if spec.pretrained or spec.weights else (spec.phase, spec.seed)
    names = ("lane", "trainable", "dataset", "weights", "pretrained", "views", "distractors", *SEEN, *AUGMENTED)
    return (*(getattr(spec, name) for name in names), spec.image_noise > 0, *own)


def room(found: list[Part], spec: RunSpec, root: Path) -> int:
    """Bytes that what is missing will take; refuses if they are not free."""
    rows = sum(len(part.kept.indices) - part.kept.done() for part in found)
    if rows == 0:
        return 0
    needed = rows * _row_bytes(spec)
    there = next(path for path in (root.absolute(), *root.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if needed > free:
        raise UserError(
            f"features of {spec.dataset} need {needed / 1e9:.1f} GB below {str(root)!r} and {free / 1e9:.1f} GB are free; "
            "make room (python -m benchmark features --clean removes stored ones), or use fewer views"
        )
    return needed


def _row_bytes(spec: RunSpec) -> int:
    """Of an image: 4 bytes a pooled feature, or 2 bytes a number of the maps before the stage that is trained."""
    import torch

    from benchmark.training.model import build_backbone

    with torch.device("meta"):  # shapes without numbers
        backbone = build_backbone(spec.backbone, pretrained=False)
        if not spec.trainable:
            return 4 * backbone.out_features
        before, _ = backbone.cut(spec.trainable)
        side = spec.image_size
        return 2 * before.module.eval()(torch.zeros(1, backbone.channels, side, side)).numel()


def _distractor_key(dataset: Dataset, others: Source) -> str:
    if isinstance(others, FileSource):
        return fingerprint(list(others.files), sizes(others.root, others.files))
    return f"{dataset.fingerprint} distractors"


def _key(spec: RunSpec, root: Path, data: str, view: int) -> dict[str, object]:
    """Everything that these features depend on."""
    file = weights_file(spec.weights, root)
    own: tuple[object, ...] = ("pretrained",) if spec.pretrained else ("random", spec.phase, spec.seed)
    stage = {"trainable": spec.trainable} if spec.trainable else {}
    fields = [f for f in (*SEEN, *AUGMENTED) if (view or f in SEEN) and not (stage and f == "pooling")]
    return {
        "version": VERSION,
        "data": data,
        "weights": ("file", content_hash(file)) if file else own,
        "packages": {name: version(name) for name in ("torch", "torchvision", "timm")},
        "view": view,
        **{field: getattr(spec, field) for field in fields},
        **stage,
    }


def _images(spec: RunSpec, part: Part, chunk: int, indices: np.ndarray, device: str) -> "Iterator[torch.Tensor]":
    """Batches of a chunk, the last one filled up: what an image goes through depends on its chunk and place alone."""
    from benchmark.images import loading, transforms
    from benchmark.images.augment import augment
    from benchmark.seeds import torch_generator

    full = indices[np.minimum(np.arange(-(-len(indices) // BATCH) * BATCH), len(indices) - 1)]
    transform = transforms.training(spec) if part.view else transforms.evaluation(spec)
    key = ("features", "view", part.view, chunk)
    generator = torch_generator(*key)
    threads = 0 if device == "cpu" else min(8, os.cpu_count() or 1)
    for images in loading.batches(part.source, list(full.reshape(-1, BATCH)), transform, threads, key):
        moved = part.view and spec.augmentation == "affine"
        yield augment(images, "affine", spec.crop_scale, generator) if moved else images


def _network(spec: RunSpec, root: Path, device: str) -> "Callable[[torch.Tensor], np.ndarray]":
    """Images to rows, as fast as they can be had: on a CPU traced and frozen, with colours innermost."""
    import torch

    from benchmark.training.model import POOLS, build_seeded_backbone

    backbone = build_seeded_backbone(spec, root)
    if spec.trainable:
        backbone, _ = backbone.cut(spec.trainable)
    layout = torch.channels_last
    module = backbone.module.to(device).eval().to(memory_format=layout)
    if device == "cpu":
        side = spec.image_size
        example = torch.zeros(BATCH, backbone.channels, side, side).to(memory_format=layout)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tracing is on its way out, and nothing else is as quick yet
            module = torch.jit.freeze(torch.jit.trace(module, example))

    def rows(images: torch.Tensor) -> np.ndarray:
        with torch.inference_mode():
            x = backbone.normalised(images.to(device)).contiguous(memory_format=layout)
            found = module(x)
            if spec.trainable:  # colours innermost, as the stage reads them
                return found.permute(0, 2, 3, 1).half().contiguous().cpu().numpy()
            return POOLS[spec.pooling](found).float().cpu().numpy()

    return rows
