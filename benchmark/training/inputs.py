"""What the model is fed: training batches with augmentation, and plain samples for evaluation.

Three kinds behind one interface: small images that fit on the device (`ArrayInputs`), image files (`FileInputs`) and features
of a frozen backbone (`FeatureInputs`). `open_inputs` picks one from the spec; the trainer does not know which.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F

from benchmark.datasets._dataset import ArraySource, Dataset, Source
from benchmark.images import loading, transforms
from benchmark.images.augment import augment
from benchmark.images.packing import sources
from benchmark.images.transforms import Transform
from benchmark.seeds import numpy_generator, torch_generator
from benchmark.spec import RunSpec
from benchmark.training.features import Features, features
from benchmark.training.model import Backbone, build_seeded_backbone
from benchmark.training.training_set import TrainingView, training_source

EVALUATION_BATCH = 512
PHOTO_BATCH = 64


class Inputs(Protocol):
    def train(self, epoch: int, batches: list[np.ndarray]) -> Iterator[torch.Tensor]:
        """The model's input for each batch of positions in the training view."""
        ...

    def plain(self, indices: np.ndarray) -> Iterator[torch.Tensor]:
        """Samples of the data set in order, in batches, as they are evaluated."""
        ...

    def plain_train(self, positions: np.ndarray) -> Iterator[torch.Tensor]:
        """Samples of the training view (with what was replaced in it), in order, in batches, without augmentation."""
        ...


class ArrayInputs:
    """Images in one array: loaded whole, shrunk to image_size, augmented in batches on the device."""

    def __init__(
        self, spec: RunSpec, dataset: Dataset, view: TrainingView, backbone: Backbone, device: torch.device
    ) -> None:
        self.spec, self.backbone, self.device = spec, backbone, device
        assert isinstance(dataset.source, ArraySource)
        self.array = dataset.source.array
        images = np.array(self.array[view.indices])
        spoiled = view.replaced >= 0
        if spoiled.any():
            assert isinstance(view.distractors, ArraySource)  # training_view has checked it
            images[spoiled] = view.distractors.array[view.replaced[spoiled]]
        self.training = self._tensor(images)
        self.shrunk: dict[bytes, torch.Tensor] = {}  # evaluated sets, which come again after every epoch

    def _tensor(self, images: np.ndarray) -> torch.Tensor:
        """(n, h, w, c) uint8 to (n, channels, image_size, image_size) uint8."""
        x = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2)
        if x.shape[-1] != self.spec.image_size:
            parts = [
                F.interpolate(part.float(), size=self.spec.image_size, mode="area").round().byte()
                for part in x.split(4096)
            ]
            x = torch.cat(parts)
        return x.contiguous().to(self.device)

    def train(self, epoch: int, batches: list[np.ndarray]) -> Iterator[torch.Tensor]:
        generator = torch_generator("augment", self.spec.phase, self.spec.seed, epoch)
        for batch in batches:
            x = self.training[torch.from_numpy(batch)].float() / 255
            yield self.backbone.normalised(augment(x, self.spec.augmentation, self.spec.crop_scale, generator))

    def plain(self, indices: np.ndarray) -> Iterator[torch.Tensor]:
        key = indices.tobytes()
        if key not in self.shrunk:
            self.shrunk[key] = self._tensor(self.array[indices])
        for part in self.shrunk[key].split(EVALUATION_BATCH):
            yield self.backbone.normalised(part.float() / 255)

    def plain_train(self, positions: np.ndarray) -> Iterator[torch.Tensor]:
        for part in _parts(positions):
            yield self.backbone.normalised(self.training[torch.from_numpy(part)].float() / 255)


class FileInputs:
    """Photos: decoded (or read from a pack), transformed and stacked by threads."""

    def __init__(
        self, spec: RunSpec, dataset: Dataset, view: TrainingView, data: Path, backbone: Backbone, device: torch.device
    ) -> None:
        self.spec, self.view, self.backbone, self.device = spec, view, backbone, device
        train, self.judged = sources(dataset, spec, data)
        self.trained = training_source(dataset, view, train)
        self.trained_plain = training_source(dataset, view, self.judged)
        self.threads = min(8, os.cpu_count() or 1) if device.type == "cuda" else 1

    def _load(self, source: Source, batches: list[np.ndarray], transform: Transform, *key: object):
        for x in loading.batches(source, batches, transform, self.threads, key):
            yield self.backbone.normalised(x.to(self.device, non_blocking=True))

    def train(self, epoch: int, batches: list[np.ndarray]) -> Iterator[torch.Tensor]:
        chosen = [self.view.indices[batch] for batch in batches]
        key = ("augment", self.spec.phase, self.spec.seed, epoch)
        loaded = self._load(self.trained, chosen, transforms.training(self.spec), *key)
        if self.spec.augmentation != "affine":  # a crop is cut out of the whole photo, by its transform
            return loaded
        generator = torch_generator(*key)
        return (augment(x, "affine", self.spec.crop_scale, generator) for x in loaded)

    def plain(self, indices: np.ndarray) -> Iterator[torch.Tensor]:
        return self._load(self.judged, _parts(indices, PHOTO_BATCH), transforms.evaluation(self.spec))

    def plain_train(self, positions: np.ndarray) -> Iterator[torch.Tensor]:
        parts = _parts(self.view.indices[positions], PHOTO_BATCH)
        return self._load(self.trained_plain, parts, transforms.evaluation(self.spec))


class FeatureInputs:
    """What a backbone gives up to where training begins, computed once and memory-mapped."""

    def __init__(self, spec: RunSpec, view: TrainingView, found: Features, device: torch.device) -> None:
        self.spec, self.view, self.found, self.device = spec, view, found, device
        self.size = PHOTO_BATCH if spec.trainable else EVALUATION_BATCH

    def _tensor(self, *rows: np.ndarray) -> torch.Tensor:
        x = torch.from_numpy(self.found.rows(*rows)).to(self.device)
        return x.permute(0, 3, 1, 2) if x.ndim == 4 else x  # maps lie with colours innermost

    def train(self, epoch: int, batches: list[np.ndarray]) -> Iterator[torch.Tensor]:
        generator = numpy_generator("augment", self.spec.phase, self.spec.seed, epoch)
        for batch in batches:
            which = generator.integers(self.spec.views, size=len(batch))
            yield self._tensor(self.view.indices[batch], self.view.replaced[batch], which)

    def plain(self, indices: np.ndarray) -> Iterator[torch.Tensor]:
        for part in _parts(indices, self.size):
            yield self._tensor(part)

    def plain_train(self, positions: np.ndarray) -> Iterator[torch.Tensor]:
        for part in _parts(positions, self.size):
            yield self._tensor(self.view.indices[part], self.view.replaced[part])


def _parts(indices: np.ndarray, size: int = EVALUATION_BATCH) -> list[np.ndarray]:
    return np.array_split(indices, range(size, len(indices), size))


def open_inputs(
    spec: RunSpec, dataset: Dataset, view: TrainingView, data: Path, device: torch.device
) -> tuple[Inputs, Backbone | None, int]:
    """The inputs, the backbone to train (none in the frozen lane, the rest of it in the stage lane) and its features."""
    backbone = None if spec.lane == "frozen" else build_seeded_backbone(spec, data)
    inputs = inputs_of(spec, dataset, view, data, device, backbone)
    if backbone is None:
        assert isinstance(inputs, FeatureInputs)
        return inputs, None, inputs.found.dim
    trained = backbone.cut(spec.trainable)[1] if spec.lane == "stage" else backbone
    return inputs, trained, backbone.out_features


def inputs_of(
    spec: RunSpec, dataset: Dataset, view: TrainingView, data: Path, device: torch.device, backbone: Backbone | None
) -> Inputs:
    if spec.lane != "end_to_end":
        return FeatureInputs(spec, view, features(dataset, spec, data, device=device.type), device)
    assert backbone is not None
    if isinstance(dataset.source, ArraySource):
        return ArrayInputs(spec, dataset, view, backbone, device)
    return FileInputs(spec, dataset, view, data, backbone, device)
