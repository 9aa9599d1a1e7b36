"""Computes the features that runs with a frozen backbone train on, ahead of them and with all cores; goes on after a stop.

python -m benchmark features cub --data DIR
python -m benchmark features cub --data DIR --clean
"""

import argparse
import os
import shutil

from benchmark.commands import _options
from benchmark.datasets import open_dataset
from benchmark.errors import UserError
from benchmark.planning import settings, study
from benchmark.running.pools import open_pool
from benchmark.running.preparation import prepare
from benchmark.running.process import THREAD_LIMITS
from benchmark.spec import RunSpec


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", nargs="?", **_options.SHARED["dataset"])
    _options.add(parser, "--data")
    parser.add_argument("--setting", default="photos", help="whose backbone and views (default: photos)")
    parser.add_argument("--backbone", default="", help="instead of the setting's")
    override = "a field of the runs that is not the setting's: views=4, image_size=160"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help=override)
    parser.add_argument("--jobs", type=int, metavar="N", help="workers (default: one per card, or core)")
    parser.add_argument("--clean", action="store_true", help="remove what is stored, of DATASET or of all data sets")


def execute(args: argparse.Namespace) -> int:
    os.environ.update(THREAD_LIMITS)
    from benchmark.training.features import folder, parts

    if args.clean:
        place = args.data / "features"
        if args.dataset:
            place = folder(open_dataset(args.dataset, args.data), args.data)
        freed = _options.used(place)
        shutil.rmtree(place, ignore_errors=True)
        print(f"removed {place}: {freed / 1e9:.2f} GB")
        return 0
    if not args.dataset:
        raise UserError("which DATASET? (python -m benchmark list)")
    fields = settings.setting(args.setting, args.dataset)
    for text in args.overrides:
        fields |= study.override(text).get("fields", {})
    if args.backbone:
        fields |= {"backbone": args.backbone, "weights": ""}
    spec = RunSpec(dataset=args.dataset).replace(**fields)
    if spec.lane == "end_to_end":
        raise UserError(f"setting {args.setting!r} trains the whole backbone, so it has no features; try photos")
    pool = open_pool("loky", args.jobs, None)
    try:
        prepare([spec], args.data.absolute(), pool)
    except KeyboardInterrupt:
        print("stopped; finished chunks are kept: the same command goes on")
        return 130
    finally:
        pool.close(kill=True)
    for part in parts(open_dataset(args.dataset, args.data), spec, args.data):
        shape = " × ".join(map(str, part.kept.array().shape))
        print(f"{'view ' + str(part.view) if part.view else 'plain'}: {part.kept.path}, {shape}")
    return 0
