"""Speed of the data path: parsing an index, packed against unpacked images, samplers, steps on frozen features, photos.

Run by `make bench`; times are the best of several, and what is compared is measured in the same run.
"""

import tempfile
from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch

import baselines
from benchmark.bench import Row, _photos, best, photos, row
from benchmark.datasets import sop
from benchmark.datasets._own import open_folder
from benchmark.images import loading, packing, transforms
from benchmark.planning import settings
from benchmark.spec import RunSpec
from benchmark.training import sampling as samplers
from benchmark.training.features import Features
from benchmark.training.model import build_model


def run() -> Iterator[Row]:
    for part in (_index, _packed, _steps, _photos.run):
        yield from part()


def _index() -> list[Row]:
    """Stanford Online Products at its true size: 120,053 rows of index and as many (empty) files."""
    sides = (("train", 59_551, 11_318, 0), ("test", 60_502, 11_316, 11_318))
    with tempfile.TemporaryDirectory() as name:
        root, image = Path(name), 0
        for side, images, classes, first in sides:
            lines = ["image_id class_id super_class_id path"]
            for i in range(images):
                image += 1
                product = first + i * classes // images + 1
                category = product % 12 + 1
                file = f"category{category}_final/{image}.JPG"
                (root / file).parent.mkdir(exist_ok=True)
                (root / file).touch()
                lines.append(f"{image} {product} {category} {file}")
            (root / f"Ebay_{side}.txt").write_text("\n".join(lines) + "\n")
        seconds = best(lambda: sop.open(root), 5)
        return [row("open SOP (index and files)", image, seconds, seconds / 2, "the 2 s it may take")]


def _packed() -> list[Row]:
    spec = RunSpec(dataset="photos").replace(**settings.setting("224", "cub"))
    with photos(256, 464, 348) as root:
        dataset = open_folder(root / "photos")
        for step, indices in packing.needed(spec, dataset):
            list(packing.pack(dataset, step, indices, root))
        batches = list(np.tile(np.arange(256), 3).reshape(6, 128))
        packed, _ = packing.sources(dataset, spec, root)
        seconds = {"unpacked": float("inf"), "packed": float("inf")}
        for _ in range(6):  # they take turns, so that a slow moment hits both
            for kind, source in (("unpacked", dataset.source), ("packed", packed)):
                load = loading.pixel_batches(source, batches, transforms.training(spec), 2)
                seconds[kind] = min(seconds[kind], best(partial(deque, load, maxlen=0), 1))
        images = sum(map(len, batches))
        rows = [row(f"{kind} 348-pixel JPEGs to crops", images, found) for kind, found in seconds.items()]
        rows[1] |= {"ratio": seconds["unpacked"] / seconds["packed"], "baseline": "unpacked"}
        return rows


def _steps() -> list[Row]:
    """One step on frozen features at the size of mini-iNat, and what the samplers add to it."""
    images, classes, batch, dim = 250_000, 5_000, 256, 2048
    labels = np.repeat(np.arange(classes), images // classes)
    supers = labels * 11 // classes
    generator = np.random.Generator(np.random.PCG64(0))
    rows_kept = generator.standard_normal((20_000, dim), dtype=np.float32)
    features = Features((rows_kept,), None)
    spec = RunSpec(dataset="inat", embedding_dim=512, batch_size=batch)
    model = build_model(spec, None, dim)
    loss = baselines.build("contrastive", num_classes=classes, embedding_dim=512)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    targets = torch.from_numpy(labels[:batch])

    def steps(count: int = 5) -> None:
        for _ in range(count):
            x = torch.from_numpy(features.rows(generator.integers(len(rows_kept), size=batch)))
            optimizer.zero_grad()
            loss(model.project(model(x)), targets).backward()
            optimizer.step()

    step = best(steps) / 5
    found = [row("step on frozen features, 2048 to 512, batch 256", batch, step)]
    for kind in ("shuffle", "balanced", "hierarchical"):
        drawn = samplers.batches(kind, labels, supers, batch, 4, generator)
        count = 3_000  # several arrangements of the whole set, so that their cost is shared out fairly
        seconds = best(partial(list, islice(drawn, count)), 1) / count
        found.append(row(f"{kind} sampler, a batch of {images:,} images", batch, seconds, seconds / step, "a step"))
    return found
