"""Shows a data set: its counts, and a contact sheet of its classes as a picture, spoiled if asked.

python -m benchmark show glyphs
python -m benchmark show cub --data DIR --label-noise 0.1 --corrupted
"""

import argparse
import re
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", help="a name, or the path of a CSV, Parquet file or folder")
    parser.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="default: data")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: DATASET.png")
    parser.add_argument("--side", choices=("train", "test"), default="train", help="default: train")
    parser.add_argument("--classes", type=int, default=12, help="rows of the sheet (default: 12)")
    parser.add_argument("--images", type=int, default=8, help="images of a class (default: 8)")
    parser.add_argument("--label-noise", type=float, default=0.0, metavar="SHARE")
    parser.add_argument("--label-noise-excludes-true", action="store_true")
    parser.add_argument("--image-noise", type=float, default=0.0, metavar="SHARE")
    parser.add_argument("--distractors", default="", metavar="DIR", help="images for --image-noise")
    parser.add_argument("--train-classes", type=float, default=0.0, metavar="N", help="only the first so many")
    parser.add_argument("--seed", type=int, default=0, help="of the damage (default: 0)")
    parser.add_argument("--corrupted", action="store_true", help="also list every sample that was changed")


def execute(args: argparse.Namespace) -> int:
    from benchmark.commands import _contact_sheet as contact_sheet
    from benchmark.datasets import open_dataset
    from benchmark.datasets._dataset import ArraySource, ceiling
    from benchmark.errors import UserError
    from benchmark.spec import RunSpec
    from benchmark.training import training_set as corruption

    if min(args.classes, args.images) < 1:
        raise UserError("--classes and --images must be above 0")
    dataset = open_dataset(args.dataset, args.data)
    spec = RunSpec(
        dataset=args.dataset,
        train_classes=args.train_classes,
        label_noise=args.label_noise,
        label_noise_excludes_true=args.label_noise_excludes_true,
        image_noise=args.image_noise,
        distractors=args.distractors,
        seed=args.seed,
    )
    view = corruption.training_view(dataset, spec)
    print("\n".join([dataset.summary(), *dataset.notes]))
    if isinstance(dataset.source, ArraySource) and dataset.gallery is None:
        highest = ceiling(dataset.source.array[dataset.query], dataset.labels[dataset.query, 0])
        print(f"highest R@1 that pixel-identical test images of different classes allow: {100 * highest:.1f}")
    changed = corruption.changes(dataset, view)
    if changed or args.corrupted:
        print(f"{len(changed)} of {len(view.indices)} training samples are changed (seed {args.seed})")
    if args.corrupted:
        for change in changed:
            print(f"{change.index}\t{change.kind}\t{change.true}\t{change.now}")
    if args.side == "train":
        source = corruption.training_source(dataset, spec, view)
        rows = contact_sheet.training_rows(dataset, view, source, args.classes, args.images)
    else:
        rows = contact_sheet.plain_rows(dataset, dataset.test, args.classes, args.images)
    out = args.out or Path(re.sub(r"[^\w.-]+", "_", dataset.name) + ".png")
    heading = f"{dataset.name}, {args.side}: {' / '.join(dataset.levels)}"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        contact_sheet.draw(rows, heading).save(out)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {str(out)!r}: {error}; choose another --out, as sheet.png") from None
    print(f"wrote {out}")
    return 0
