"""What has to be there before runs: their data, and the features of a frozen backbone, which all workers compute in sight.

Runs would make features too, but silently, and their time would count as training. `python -m benchmark features DATASET`
"""

import sys
import time
from collections.abc import Collection, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.datasets import at_hand, weights_file
from benchmark.errors import UserError
from benchmark.planning.estimate import in_words
from benchmark.planning.study import Study
from benchmark.running import process, provenance
from benchmark.running.pools import Pool
from benchmark.running.progress import Images
from benchmark.spec import RunSpec

if TYPE_CHECKING:
    from benchmark.images.chunked import ChunkedArray

LOOK = 1.0  # seconds between looks at what is done


def lacking(spec: RunSpec, data: Path) -> list[str]:
    """What a run needs and is not here; looks where it would lie, and opens and fetches nothing."""
    foreign = [spec.distractors] if spec.image_noise and spec.distractors else []
    names = [spec.dataset, *(one.dataset for one in spec.elsewhere()), *foreign]
    absent = [name for name in names if not at_hand(name, data)]
    try:
        weights_file(spec.weights, data)
    except UserError:
        absent.append(spec.weights.partition("@")[0])
    return absent


def checked(studies: Collection[Study], specs: Iterable[RunSpec], data: Path) -> list[str]:
    """What runs are made on, a line for each data set; raises what no run could do without, before the first one."""
    import numpy as np
    import torch

    from benchmark.datasets import open_dataset
    from benchmark.seeds import numpy_generator
    from benchmark.training.sampling import batches
    from benchmark.training.training_set import test_indices, training_view, validation_indices

    fields = ("dataset", "judged_on", "train_classes", "test_classes", "protocol", "validation_share", "distractors",
              "sampler", "batch_size", "per_class", "precision")  # fmt: skip
    distinct = {(*(getattr(s, f) for f in fields), s.image_noise > 0): s for s in specs}
    opened = {name: open_dataset(name, data) for name in sorted({spec.dataset for spec in distinct.values()})}
    lines: dict[str, list[str]] = {}
    for spec in distinct.values():
        dataset = opened[spec.dataset]
        view = training_view(dataset, spec, data)
        validation_indices(dataset, spec)
        judged = open_dataset(spec.judged_on, data) if spec.judged_on else dataset
        query, _ = test_indices(judged, spec)
        if spec.sampler == "hierarchical":
            supers = view.levels[:, dataset.super_level] if len(dataset.levels) > 1 else None
            generator = numpy_generator("check")
            next(batches("hierarchical", view.labels, supers, spec.batch_size, spec.per_class, generator))
        settings = {study.setting for study in studies if spec.dataset in study.datasets} or {"?"}
        about = f"{dataset.summary()}; setting {', '.join(sorted(settings))}"
        told = lines.setdefault(spec.dataset, [about, *dataset.notes])
        if spec.train_classes or spec.test_classes:
            tested = len(np.unique(judged.labels[query, 0]))
            told.append(f"of these classes {view.classes} are trained on and {tested} are tested on")
        if spec.precision == "bfloat16" and "bf16" not in provenance.cpu() and not torch.cuda.is_available():
            told.append("warning: this processor names no instructions for bfloat16, without which steps are slow; "
                        "--set precision=float32 makes other runs, which are not")  # fmt: skip
    return [line for told in lines.values() for line in dict.fromkeys(told)]


def prepare(specs: Iterable[RunSpec], data: Path, pool: Pool) -> None:
    """Returns when every spec of the frozen or stage lane has what it trains on."""
    from benchmark.datasets import open_dataset
    from benchmark.training.features import parts, room, signature

    needed = [seen for spec in specs if spec.lane != "end_to_end" for seen in (spec, *spec.elsewhere())]
    for spec in {signature(spec): spec for spec in needed}.values():
        found = parts(open_dataset(spec.dataset, data), spec, data)
        kept = [part.kept for part in found]
        if not all(one.path.exists() for one in kept):
            _watched(spec, data, pool, kept, room(found, spec, data))


def _watched(spec: RunSpec, data: Path, pool: Pool, kept: "list[ChunkedArray]", needed: int) -> None:
    """Sets all workers to work and shows how far they are."""
    total, before = sum(len(one.indices) for one in kept), sum(one.done() for one in kept)
    devices = pool.devices or [None]
    started = time.monotonic()
    slots = max(1, pool.slots())
    what = f"features of {spec.dataset} by {spec.backbone}"
    say(f"{what}: {total - before:,} images to do, {before:,} are there, {slots} workers, {needed / 1e9:.1f} GB")
    futures = [pool.submit(compute, spec, data, devices[i % len(devices)]) for i in range(slots)]
    with Images(what, total, before) as images:
        while _open(futures, pool):
            images.reach(sum(one.done() for one in kept))
        images.reach(total)
    seconds = time.monotonic() - started
    say(f"{what}: {total - before:,} images in {in_words(seconds)}, {(total - before) / seconds:.1f} a second")


def _open(futures: list[Future], pool: Pool) -> bool:
    """Whether some are still at work, after a moment; raises what went wrong."""
    ended, open_ = wait(futures, timeout=LOOK, return_when=FIRST_EXCEPTION)
    for future in ended:
        if death := pool.death(future):
            raise UserError(
                f"a worker ended while it computed features ({death.reason}); what is finished is kept: "
                "type the same command again"
            )
        future.result()
    return bool(open_)


def compute(spec: RunSpec, data: Path, device: str | None) -> None:
    """A worker's part: takes chunks until none are left."""
    process.keep_memory()
    import torch

    from benchmark.datasets import open_dataset
    from benchmark.training.features import make, parts

    torch.set_num_threads(1)
    kind = device or ("cuda" if torch.cuda.is_available() else "cpu")
    make(parts(open_dataset(spec.dataset, data), spec, data), spec, data, kind)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
