"""Frozen features: a backbone's pooled output for every image, computed once and shared by all workers.

The frozen lane trains only the head on these. They lie memory-mapped below the data folder under a key of
data, weights and transform; who needs them first makes them while others wait. They appear whole or not.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import Dataset, FileSource, Source, fingerprint
from benchmark.datasets._tree import sizes
from benchmark.files import locked
from benchmark.images.packing import sources
from benchmark.spec import RunSpec
from benchmark.training.training_set import distractors

VERSION = 1  # raise when the same key would give other features
BATCH = 64  # fixed, since a convolution may round differently in another batch size


@dataclass(frozen=True)
class Features:
    views: tuple[
        np.ndarray, ...
    ]  # each (n, d) float32; the first plain, the others augmented (training samples only)
    distractors: np.ndarray | None  # (k, d), where the spec replaces images

    @property
    def dim(self) -> int:
        return self.views[0].shape[1]

    def rows(
        self, indices: np.ndarray, replaced: np.ndarray | None = None, view: np.ndarray | int = 0
    ) -> np.ndarray:
        """Features of samples, each from its view, with distractors where `replaced` is not -1: (m, d)."""
        view = np.broadcast_to(view, indices.shape)
        found = np.empty((len(indices), self.dim), dtype=np.float32)
        for v in np.unique(view):
            found[view == v] = self.views[v][indices[view == v]]
        if replaced is not None and self.distractors is not None:
            found[replaced >= 0] = self.distractors[replaced[replaced >= 0]]
        return found


def features(dataset: Dataset, spec: RunSpec, root: Path, device: str = "cpu", workers: int = 0) -> Features:
    """The features that a spec of the frozen lane trains on; makes those that are not there yet."""
    train, judged = sources(dataset, spec, root)
    everything = np.arange(len(dataset))
    name = re.sub(r"[^\w.-]+", "_", dataset.name)
    maker = _Maker(spec, root / "features" / name, device, workers)
    views = [maker.get(dataset.fingerprint, judged, everything, 0)]
    views += [maker.get(dataset.fingerprint, train, dataset.train, view) for view in range(1, spec.views)]
    others = distractors(dataset, spec) if spec.image_noise else None
    extra = None
    if others is not None:
        extra = maker.get(_distractor_key(dataset, others), others, np.arange(len(others)), 0)
    return Features(tuple(views), extra)


def _distractor_key(dataset: Dataset, others: Source) -> str:
    if isinstance(others, FileSource):
        return fingerprint(list(others.files), sizes(others.root, others.files))
    return f"{dataset.fingerprint} distractors"


@dataclass(frozen=True)
class _Maker:
    spec: RunSpec
    folder: Path
    device: str
    workers: int

    def key(self, data: str, view: int) -> dict[str, object]:
        """Everything that these features depend on."""
        spec = self.spec
        weights: tuple[object, ...] = (
            ("pretrained",) if spec.pretrained else ("random", spec.phase, spec.seed)
        )
        fields = ["backbone", "pooling", "image_size", "resize", "resize_square"]
        fields += ["augmentation", "crop_scale", "train_resize"] if view else []
        return {
            "version": VERSION,
            "data": data,
            "weights": weights,
            "packages": {name: version(name) for name in ("torch", "torchvision", "timm")},
            "view": view,
        } | {field: getattr(spec, field) for field in fields}

    def get(self, data: str, source: Source, indices: np.ndarray, view: int) -> np.ndarray:
        key = self.key(data, view)
        path = self.folder / f"{fingerprint(json.dumps(key, sort_keys=True))}.npy"
        if not path.exists():
            with locked(path.with_suffix(".lock")):
                if not path.exists():  # another worker may have made it while this one waited
                    self._make(path, source, indices, view)
                    path.with_suffix(".json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")
        return np.load(path, mmap_mode="r")

    def _make(self, path: Path, source: Source, indices: np.ndarray, view: int) -> None:
        temporary = path.with_suffix(f".{os.getpid()}.part")
        for left in path.parent.glob(
            f"{path.stem}.*.part"
        ):  # of a worker that was killed; the lock is ours now
            left.unlink(missing_ok=True)
        try:
            out: np.ndarray | None = None
            done = 0
            for rows in self._compute(source, indices, view):
                if out is None:
                    shape = (len(source), rows.shape[1])
                    out = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=shape)
                out[indices[done : done + len(rows)]] = rows
                done += len(rows)
            assert isinstance(out, np.memmap)
            out.flush()
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def _compute(self, source: Source, indices: np.ndarray, view: int) -> Iterator[np.ndarray]:
        import torch
        from tqdm import tqdm

        from benchmark.images import loading, transforms
        from benchmark.images.augment import augment
        from benchmark.seeds import torch_generator
        from benchmark.training.model import POOLS, build_seeded_backbone

        spec = self.spec
        backbone = build_seeded_backbone(spec)
        module = backbone.module.to(self.device).eval()
        mean, std = (
            torch.tensor(v, device=self.device).view(-1, 1, 1) for v in (backbone.mean, backbone.std)
        )
        transform = transforms.training(spec) if view else transforms.evaluation(spec)
        generator = torch_generator("features", "view", view)
        parts = [indices[s : s + BATCH] for s in range(0, len(indices), BATCH)]
        loaded = loading.batches(source, parts, transform, self.workers, ("features", "view", view))
        bar = tqdm(
            loaded,
            f"features of {self.folder.name}",
            len(parts),
            disable=None,
            unit_scale=BATCH,
            unit=" images",
        )
        with torch.inference_mode():
            for images in bar:
                if view and spec.augmentation == "affine":
                    images = augment(images, "affine", spec.crop_scale, generator)
                images = images.to(self.device)
                if images.shape[1] != backbone.channels:
                    grey = backbone.channels == 1
                    images = (
                        images.mean(1, keepdim=True) if grey else images.expand(-1, backbone.channels, -1, -1)
                    )
                yield POOLS[spec.pooling](module((images - mean) / std)).float().cpu().numpy()
