"""Packs a data set: decodes and resizes its images once into memory-mapped files that training then reads.

python -m benchmark pack cub --data DIR
python -m benchmark pack cub --data DIR --check
"""

import argparse

from benchmark.commands import _options
from benchmark.datasets import open_dataset, parse
from benchmark.errors import UserError
from benchmark.planning import settings
from benchmark.spec import RunSpec


def configure(parser: argparse.ArgumentParser) -> None:
    _options.add(parser, "dataset", "--data")
    parser.add_argument("--setting", default="", help="whose sizes are packed (default: 224, else 256)")
    side = "shorter side instead, for train_resize = N and resize = N"
    parser.add_argument("--side", type=int, metavar="N", help=side)
    parser.add_argument("--workers", type=int, default=2, help="threads that decode (default: 2)")
    parser.add_argument("--check", action="store_true", help="only compare packs with their checksums")


def execute(args: argparse.Namespace) -> int:
    import numpy as np

    from benchmark.datasets._dataset import ArraySource
    from benchmark.images import packing
    from benchmark.images.transforms import FirstStep
    from benchmark.running.progress import Images

    dataset = open_dataset(args.dataset, args.data)
    if isinstance(dataset.source, ArraySource):
        print(f"{dataset.name} is one array already; there is nothing to pack")
        return 0
    if args.side is not None and args.side < 1:
        raise UserError(f"--side {args.side} must be above 0")
    plain, _ = parse(args.dataset)
    published = plain in settings.MAIN_BY_DATASET or plain not in settings.PAPER_DATASETS
    fields = settings.setting(args.setting or ("224" if published else "256"), args.dataset)
    steps = packing.needed(RunSpec(dataset=args.dataset).replace(**fields), dataset)
    if args.side:
        steps = [(FirstStep(args.side), np.arange(len(dataset)))]
    for step, indices in steps:
        folder = packing.pack_folder(dataset, step, args.data)
        if args.check:
            found = packing.packed(dataset, step, args.data)
            if found is None:
                raise UserError(f"{dataset.name} has no finished pack {step.name}; leave out --check to make it")
            if damaged := found.damaged():
                raise UserError(
                    f"{len(damaged)} images of {str(folder)!r} do not have their checksum; delete it and pack again"
                )
            print(f"{folder}: {len(indices):,} images, all as written")
            continue
        pack = packing.pack(dataset, step, indices, args.data, max(1, args.workers))
        with Images(f"{dataset.name} {step.name}", len(indices), next(pack)) as images:
            for done in pack:
                images.reach(done)
        size = (folder / "images.bin").stat().st_size
        print(f"{folder}: {len(indices):,} images, {size / 1e9:.2f} GB")
    return 0
