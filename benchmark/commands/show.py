"""Shows a data set: its counts, and a contact sheet of its classes as a picture, spoiled if asked.

python -m benchmark show glyphs
python -m benchmark show cub --data DIR --label-noise 0.1 --corrupted
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmark.commands import _options
from benchmark.datasets import open_dataset
from benchmark.datasets._dataset import ArraySource, Dataset, Source, ceiling
from benchmark.errors import UserError
from benchmark.spec import RunSpec

if TYPE_CHECKING:
    from benchmark.training.training_set import TrainingView

CELL, GAP, TITLE, CAPTION = 96, 6, 260, 14  # pixels of the contact sheet
WRONG_LABEL, WRONG_IMAGE = (200, 30, 30), (30, 80, 200)  # frames: with the true class below; a distractor


def configure(parser: argparse.ArgumentParser) -> None:
    _options.add(parser, "dataset", "--data")
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
    from benchmark.training import training_set as corruption

    if min(args.classes, args.images) < 1:
        raise UserError("--classes and --images must be above 0")
    dataset = open_dataset(args.dataset, args.data)
    damage = ("train_classes", "label_noise", "label_noise_excludes_true", "image_noise", "distractors", "seed")
    spec = RunSpec(dataset=args.dataset, **{name: getattr(args, name) for name in damage})
    view = corruption.training_view(dataset, spec, args.data)
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
    if args.side == "test":  # where nothing is changed
        classes, labels = np.unique(dataset.labels[dataset.test, 0], return_inverse=True)
        view = replace(view, indices=dataset.test, labels=labels, true_labels=labels, class_ids=classes)
        view = replace(view, replaced=np.full(len(labels), -1))
    source = corruption.training_source(dataset, view)
    rows = rows_of(dataset, view, source, args.classes, args.images)
    out = args.out or Path(f"{dataset.file_name}.png")
    heading = f"{dataset.name}, {args.side}: {' / '.join(dataset.levels)}"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draw(rows, heading).save(out)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {str(out)!r}: {error}; choose another --out, as sheet.png") from None
    print(f"wrote {out}")
    return 0


class Cell(NamedTuple):
    image: np.ndarray  # (h, w, c) uint8
    caption: str
    frame: tuple[int, int, int] | None


Row = tuple[list[str], list[Cell]]  # class and coarser levels, images


def rows_of(dataset: Dataset, view: "TrainingView", source: Source, classes: int, images: int) -> list[Row]:
    """A sample stands in the row of the class that it is called now."""
    now, true = view.class_ids[view.labels], view.class_ids[view.true_labels]
    spoiled = (true != now) | (view.replaced >= 0)
    rows = []
    for levels in _spread(dataset, view.class_ids, classes):
        members = np.flatnonzero(now == levels[0])
        cells = []
        for m in members[np.argsort(~spoiled[members], kind="stable")][:images]:  # what was changed comes first
            wrong = true[m] != now[m]
            frame = WRONG_LABEL if wrong else WRONG_IMAGE if spoiled[m] else None
            cells.append(Cell(source.read(int(view.indices[m])), dataset.names[0][true[m]] if wrong else "", frame))
        rows.append(([names[one] for names, one in zip(dataset.names, levels, strict=True)], cells))
    return rows


def draw(rows: list[Row], heading: str) -> Image.Image:
    across = max((len(cells) for _, cells in rows), default=1)
    height = CELL + CAPTION + GAP
    size = (TITLE + across * (CELL + GAP) + GAP, 30 + len(rows) * height + GAP)
    sheet = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(sheet)
    pen.text((GAP, 7), heading, fill="black", font=_font(13))
    for r, (title, cells) in enumerate(rows):
        top = 30 + r * height
        for line, text in enumerate(title):
            pen.text((GAP, top + 4 + 18 * line), _short(text, 34), "black" if line == 0 else "#666", _font(13))
        for c, cell in enumerate(cells):
            left = TITLE + c * (CELL + GAP)
            sheet.paste(_thumbnail(cell.image), (left, top))
            if cell.frame:
                pen.rectangle((left, top, left + CELL - 1, top + CELL - 1), outline=cell.frame, width=4)
            pen.text((left, top + CELL), _short(cell.caption, 16), cell.frame or "black", _font(10))
    return sheet


def _spread(dataset: Dataset, classes: np.ndarray, count: int) -> np.ndarray:
    """The labels of at most `count` classes, evenly over all, neighbours in the coarser levels next to each other."""
    fine, first = np.unique(dataset.labels[:, 0], return_index=True)
    levels = dataset.labels[first[np.searchsorted(fine, classes)]]
    ordered = levels[np.lexsort(levels.T)]
    return ordered[np.unique(np.linspace(0, len(ordered) - 1, min(count, len(ordered))).astype(int))]


def _thumbnail(image: np.ndarray) -> Image.Image:
    picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else np.ascontiguousarray(image)).convert("RGB")
    picture.thumbnail((CELL, CELL))
    cell = Image.new("RGB", (CELL, CELL), "#eee")
    cell.paste(picture, ((CELL - picture.width) // 2, (CELL - picture.height) // 2))
    return cell


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _font(size: int) -> ImageFont.FreeTypeFont:
    import matplotlib  # its typeface has the letters of every script that the embedded data set uses

    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf", size)
