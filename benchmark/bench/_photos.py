"""Speed of photos on a CPU: features against the plain way of computing them, a step on the last stage against whole steps.

A part of the area `data`. Each way has processes of its own, since whether a process keeps its memory is half of the matter.
Seconds are processor time of the slowest one: on idle cores the time that passes, on busy ones still a fair ratio.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import baselines
from benchmark.bench import Row, photos, row
from benchmark.datasets._own import open_folder
from benchmark.images import loading, transforms
from benchmark.running import process
from benchmark.spec import RunSpec
from benchmark.training.features import Features, _images, _network, parts
from benchmark.training.inputs import FeatureInputs
from benchmark.training.model import POOLS, EmbeddingModel, build_model, build_seeded_backbone
from benchmark.training.training_set import TrainingView

IMAGES = 128
WORKERS = 2
PLAIN_BATCH = 64
SPEC = RunSpec(dataset="photos", image_size=224, resize=256, augmentation="crop", pooling="average", lane="frozen")
STAGE = SPEC.replace(
    lane="stage", trainable="layer4", backbone="resnet50_caffe", image_size=128, resize=146, batch_norm="frozen",
    views=2, batch_size=64, embedding_dim=512, method="contrastive",
)  # fmt: skip


def run() -> Iterator[Row]:
    with photos(IMAGES, 500, 375) as root:  # as large as CUB's
        yield from _features(root, "efficientnet_lite0", 6)
        yield from _features(root, "resnet50", 3)
        yield from _stage(root)


def _features(root: Path, backbone: str, goal: float) -> list[Row]:
    spec = SPEC.replace(backbone=backbone)
    plain = _timed(_plain_features, spec, root, 1)
    now = min(_timed(_chunked_features, spec, root, WORKERS) for _ in range(2))
    return [
        row(f"{backbone}: plain features, one worker", IMAGES, plain),
        row(f"{backbone}: features in chunks, {WORKERS} workers", IMAGES, now, plain / now, f"plain (goal {goal:g})"),
    ]


def _plain_features(spec: RunSpec, root: Path, mine: np.ndarray) -> Callable[[], None]:
    """As it was done first: batches of 64, layer by layer, memory handed back to the system."""
    source = open_folder(root / "photos").source
    backbone = build_seeded_backbone(spec)
    backbone.module.eval()

    def work(indices: np.ndarray = mine) -> None:
        batches = list(indices.reshape(-1, min(len(indices), PLAIN_BATCH)))
        with torch.inference_mode():
            for x in loading.batches(source, batches, transforms.evaluation(spec)):
                POOLS[spec.pooling](backbone.module(backbone.normalised(x)))

    work(mine[:8])
    return work


def _chunked_features(spec: RunSpec, root: Path, mine: np.ndarray) -> Callable[[], None]:
    [part] = parts(open_folder(root / "photos"), spec, root)
    network = _network(spec, root, "cpu")

    def work(indices: np.ndarray = mine) -> None:
        for x in _images(spec, part, 0, indices, "cpu"):
            network(x)

    work(mine[:16])
    return work


def _stage(root: Path) -> list[Row]:
    whole, alone, step = (_timed(way, STAGE, root, 1) for way in (_whole_step, _stage_alone, _stage_step))
    short = _timed(_stage_step, STAGE.replace(precision="bfloat16"), root, 1)
    n = STAGE.batch_size
    return [
        row("end-to-end step, ResNet-50 at 128 pixels", n, whole),
        row("forward and backward through layer4 alone", n, alone),
        row("step of the stage lane", n, step, step / alone, "layer4 alone (goal 1.3)"),
        row("step of the stage lane", n, step, step / whole, "the end-to-end step"),
        row("step of the stage lane in bfloat16", n, short, short / step, "the step in float32"),
    ]


def _step(model: EmbeddingModel, batch: Callable[[], torch.Tensor]) -> Callable[[], None]:
    loss = baselines.build("contrastive", num_classes=16, embedding_dim=model.out_dim)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=True)
    labels = torch.arange(STAGE.batch_size) % 16
    model.train()

    def work() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss(model.head(model.features(batch())), labels).backward()
        optimizer.step()

    work()
    return work


def _stage_model(spec: RunSpec) -> EmbeddingModel:
    _, stage = build_seeded_backbone(spec).cut(spec.trainable)
    return build_model(spec, stage, stage.out_features).to(memory_format=torch.channels_last)


def _stage_step(spec: RunSpec, root: Path, mine: np.ndarray) -> Callable[[], None]:
    generator = np.random.Generator(np.random.PCG64(0))
    views = []
    for view in range(2):  # read from the disk, as they are in a run
        np.save(root / f"{view}.npy", generator.random((512, 8, 8, 1024), dtype=np.float32).astype(np.float16))
        views.append(np.load(root / f"{view}.npy", mmap_mode="r"))
    samples = np.arange(512)
    seen = TrainingView(samples, samples % 16, samples % 16, np.arange(16), samples[:, None], np.full(512, -1))
    inputs = FeatureInputs(spec, seen, Features(tuple(views), None), torch.device("cpu"))
    drawn = inputs.train(1, [generator.integers(512, size=spec.batch_size) for _ in range(64)])
    return _step(_stage_model(spec), lambda: next(drawn))


def _stage_alone(spec: RunSpec, root: Path, mine: np.ndarray) -> Callable[[], None]:
    model = _stage_model(spec)
    model.train()
    maps = torch.rand(spec.batch_size, 1024, 8, 8).contiguous(memory_format=torch.channels_last)

    def work() -> None:
        model.zero_grad(set_to_none=True)
        model.backbone(maps).mean().backward()

    work()
    return work


def _whole_step(spec: RunSpec, root: Path, mine: np.ndarray) -> Callable[[], None]:
    backbone = build_seeded_backbone(spec)
    model = build_model(spec, backbone, backbone.out_features).to(memory_format=torch.channels_last)
    source = open_folder(root / "photos").source
    batches = [np.arange(spec.batch_size)] * 16
    drawn = (backbone.normalised(x) for x in loading.batches(source, batches, transforms.training(spec)))
    return _step(model, lambda: next(drawn))


def _timed(way: Callable[..., Callable[[], None]], spec: RunSpec, root: Path, workers: int) -> float:
    """Seconds until every one of `workers` processes has done its share of the images; the better of two rounds."""
    context = multiprocessing.get_context("spawn")
    ready, times = context.Barrier(workers), context.Queue()
    shares = [np.arange(IMAGES)[number::workers] for number in range(workers)]
    processes = [context.Process(target=_timed_here, args=(way, spec, root, mine, ready, times)) for mine in shares]
    for one in processes:
        one.start()
    found = [times.get() for _ in processes]
    for one in processes:
        one.join()
    return min(max(rounds) for rounds in zip(*found, strict=True))


def _timed_here(way: Callable, spec: RunSpec, root: Path, mine: np.ndarray, ready: Any, times: Any) -> None:
    if way is not _plain_features:
        process.keep_memory()
    torch.set_num_threads(1)
    work = way(spec, root, mine)
    found = []
    for _ in range(2):
        ready.wait()  # until all are
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    times.put(found)
