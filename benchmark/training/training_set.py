"""What a run trains on and is judged on: fewer classes, wrong labels, wrong images, validation hold-out.

Sits between the data set and the samplers. Every choice is drawn per sample from names (data set, phase, seed
index), so it is the same for every method, and the samples spoiled at 5 % are among those spoiled at 10 %.
To list what was changed: `python -m benchmark show DATASET --label-noise 0.1 --corrupted`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.datasets._dataset import ArraySource, Dataset, FileSource, Source
from benchmark.datasets._tree import image_files
from benchmark.errors import UserError
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec


@dataclass(frozen=True)
class TrainingView:
    """The training samples of one run, after everything that the spec does to them."""

    indices: np.ndarray  # (m,) int64 into the data set
    labels: np.ndarray  # (m,) int64 in 0 … classes - 1, spoiled
    true_labels: np.ndarray  # (m,) the same before label noise
    class_ids: np.ndarray  # (classes,) the data set's class id of each label
    levels: np.ndarray  # (m, levels) labels of that class, finest first: a spoiled label is so on every level
    replaced: np.ndarray  # (m,) distractor that stands in for the image, or -1
    distractors: Source | None = None  # those, where some are replaced

    @property
    def classes(self) -> int:
        return len(self.class_ids)

    @classmethod
    def none(cls) -> "TrainingView":
        """Of a data set that is only judged on."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, nothing, nothing[:, None], nothing)


@dataclass(frozen=True)
class Change:
    """One spoiled training sample."""

    index: int
    kind: str  # "label" or "image"
    true: str  # name of the true class
    now: str  # name of the class it is called now, or which distractor replaces its image


def training_view(dataset: Dataset, spec: RunSpec, data: Path = Path("data")) -> TrainingView:
    classes, _ = _sides(dataset, spec)
    fine = dataset.labels[:, 0]
    indices = dataset.train[np.isin(fine[dataset.train], classes)]
    true = np.searchsorted(classes, fine[indices])
    labels = _spoiled_labels(dataset, spec, indices, true, len(classes))
    levels_of = np.zeros((len(classes), len(dataset.levels)), dtype=np.int64)
    levels_of[true] = dataset.labels[indices]  # a class has the super-labels of its samples
    others = distractors(dataset, spec, data) if spec.image_noise else None
    return TrainingView(
        indices=indices,
        labels=labels,
        true_labels=true,
        class_ids=classes,
        levels=levels_of[labels],
        replaced=_replaced(dataset, spec, indices, others),
        distractors=others,
    )


def validation_indices(dataset: Dataset, spec: RunSpec) -> np.ndarray:
    """The held-out training samples that choose the epoch and the rate; empty with protocol = test."""
    _, held = _sides(dataset, spec)
    return dataset.train[np.isin(dataset.labels[dataset.train, 0], held)]


def test_indices(dataset: Dataset, spec: RunSpec) -> tuple[np.ndarray, np.ndarray | None]:
    """Query and gallery samples of the classes that are judged."""
    fine = dataset.labels[:, 0]
    classes = _first(np.unique(fine[dataset.test]), spec.test_classes, "test_classes", dataset.name)
    kept = np.isin(fine, classes)
    gallery = None if dataset.gallery is None else dataset.gallery[kept[dataset.gallery]]
    return dataset.query[kept[dataset.query]], gallery


def rest_indices(dataset: Dataset, spec: RunSpec) -> np.ndarray:
    """Test samples of the classes that are not judged."""
    query, gallery = test_indices(dataset, spec)
    judged = dataset.labels[query if gallery is None else np.concatenate([query, gallery]), 0]
    return dataset.test[~np.isin(dataset.labels[dataset.test, 0], judged)]


def changes(dataset: Dataset, view: TrainingView) -> list[Change]:
    """Every training sample whose label or image is not its own, in the order of the data set."""
    name = [dataset.names[0][c] for c in view.class_ids]
    found = []
    for index, true, now, other in zip(
        view.indices.tolist(), view.true_labels, view.labels, view.replaced, strict=True
    ):
        if true != now:
            found.append(Change(index, "label", name[true], name[now]))
        if other >= 0:
            found.append(Change(index, "image", name[true], f"distractor {other}"))
    return found


def distractors(dataset: Dataset, spec: RunSpec, data: Path) -> Source | None:
    """The images that replace others: those of a folder, here or below `data`, if the spec names one, else the data set's own.

    Of a large folder half as many as there are training images, which is what half of these replaced would need.
    """
    if not spec.distractors:
        return dataset.distractors
    folder = next((path for path in (Path(spec.distractors), data / spec.distractors) if path.is_dir()), None)
    files = image_files(folder) if folder else []
    if not folder or not files:
        raise UserError(
            f"distractors = {spec.distractors!r} is not a folder with images (jpg, png, bmp, webp), neither here nor "
            f"below {str(data)!r}"
        )
    step = -(-len(files) // max(1, len(dataset.train) // 2))
    source = FileSource(folder, files[::step])
    if isinstance(dataset.source, ArraySource):  # a data set of equal images stays one
        return _fitted(source, dataset.source.array.shape[1:])
    return source


@dataclass(frozen=True)
class SpoiledSource:
    """A data set's images with distractors in place of some."""

    source: Source
    distractors: Source
    replaced: np.ndarray  # (n,) distractor of each sample of the data set, or -1

    def __len__(self) -> int:
        return len(self.source)

    def read(self, index: int) -> np.ndarray:
        other = int(self.replaced[index])
        return self.source.read(index) if other < 0 else self.distractors.read(other)


def training_source(dataset: Dataset, view: TrainingView, source: Source | None = None) -> Source:
    """The images that training sees; `source` stands for the data set's own where it is packed."""
    source = dataset.source if source is None else source
    if not (view.replaced >= 0).any():
        return source
    assert view.distractors is not None  # training_view has checked it
    replaced = np.full(len(dataset), -1, dtype=np.int64)
    replaced[view.indices] = view.replaced
    return SpoiledSource(source, view.distractors, replaced)


def _sides(dataset: Dataset, spec: RunSpec) -> tuple[np.ndarray, np.ndarray]:
    """Classes to train on and classes held out. The limit comes first: withheld data cannot validate."""
    classes = np.unique(dataset.labels[dataset.train, 0])
    classes = _first(classes, spec.train_classes, "train_classes", dataset.name)
    if spec.protocol == "test":
        return classes, classes[:0]
    count = round(spec.validation_share * len(classes))
    if not 2 <= count <= len(classes) - 2:
        raise UserError(
            f"validation_share = {spec.validation_share:g} of {len(classes)} training classes of "
            f"{dataset.name} is {count}; at least 2 must be held out and 2 remain"
        )
    order = numpy_generator("validation", dataset.name).permutation(len(classes))
    return np.sort(classes[order[count:]]), np.sort(classes[order[:count]])


def _first(classes: np.ndarray, limit: float, field: str, name: str) -> np.ndarray:
    """The first `limit` classes, or that share of them if it is below 1; 0 means all."""
    if limit == 0:
        return classes
    count = round(limit * len(classes)) if limit < 1 else limit
    if count != int(count) or not 2 <= count <= len(classes):
        raise UserError(
            f"{field} = {limit:g} of {name}, which has {len(classes)}; expected 0 (all), a share below 1, or "
            f"a number from 2 to {len(classes)}"
        )
    return classes[: int(count)]


def _chosen(dataset: Dataset, spec: RunSpec, kind: str, indices: np.ndarray, share: float) -> np.ndarray:
    """Positions in `indices` of the spoiled share: the smallest numbers drawn, so that shares are nested."""
    number = numpy_generator(kind, "which", dataset.name, spec.phase, spec.seed).random(len(dataset))
    return np.argsort(number[indices], kind="stable")[: round(share * len(indices))]


def _spoiled_labels(
    dataset: Dataset, spec: RunSpec, indices: np.ndarray, true: np.ndarray, num_classes: int
) -> np.ndarray:
    labels = true.copy()
    if spec.label_noise == 0:
        return labels
    chosen = _chosen(dataset, spec, "label noise", indices, spec.label_noise)
    draw = numpy_generator("label noise", "to", dataset.name, spec.phase, spec.seed).random(len(dataset))
    draw = draw[indices[chosen]]
    if spec.label_noise_excludes_true:
        labels[chosen] = (true[chosen] + 1 + (draw * (num_classes - 1)).astype(np.int64)) % num_classes
    else:  # the literal reading: a random label may be the true one
        labels[chosen] = (draw * num_classes).astype(np.int64)
    return labels


def _replaced(dataset: Dataset, spec: RunSpec, indices: np.ndarray, others: Source | None) -> np.ndarray:
    replaced = np.full(len(indices), -1, dtype=np.int64)
    if spec.image_noise == 0:
        return replaced
    if others is None:
        raise UserError(
            f"image_noise = {spec.image_noise:g}, but data set {dataset.name} has no distractors of its own; "
            "set distractors = 'folder of images'"
        )
    chosen = _chosen(dataset, spec, "image noise", indices, spec.image_noise)
    generator = numpy_generator("image noise", "to", dataset.name, spec.phase, spec.seed)
    order = generator.permutation(len(others))  # each distractor once before any comes twice
    replaced[chosen] = order[np.arange(len(chosen)) % len(order)]
    return replaced


def _fitted(source: Source, shape: tuple[int, ...]) -> ArraySource:
    """Images of any size as one array: centre cropped and resized to `shape` (h, w, c)."""
    from PIL import Image, ImageOps

    height, width, channels = shape
    array = np.empty((len(source), *shape), dtype=np.uint8)
    for i in range(len(source)):
        image = Image.fromarray(source.read(i)).convert("L" if channels == 1 else "RGB")
        array[i] = np.asarray(ImageOps.fit(image, (width, height))).reshape(shape)
    return ArraySource(array)
