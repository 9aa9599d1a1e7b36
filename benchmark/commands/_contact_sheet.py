"""A contact sheet: what a data set looks like, class by class, with coarser levels and damage marked.

`python -m benchmark show DATASET` writes one. Red frame: wrong label, with the true class below; blue
frame: a distractor in place of the image.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmark.datasets._dataset import Dataset, Source
from benchmark.training.training_set import TrainingView

CELL, GAP, TITLE, CAPTION = 96, 6, 260, 14  # pixels
WRONG_LABEL, WRONG_IMAGE = (200, 30, 30), (30, 80, 200)


@dataclass(frozen=True)
class Cell:
    image: np.ndarray  # (h, w, c) uint8
    caption: str = ""
    frame: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Row:
    title: tuple[str, ...]  # class, then coarser levels
    cells: list[Cell]


def training_rows(dataset: Dataset, view: TrainingView, source: Source, classes: int, images: int) -> list[Row]:
    """Rows of spoiled training data: a sample stands in the row of the class that it is called now."""
    rows = []
    for label in _spread(dataset, view.class_ids, classes):
        position = int(np.searchsorted(view.class_ids, label))
        members = np.flatnonzero(view.labels == position)
        spoiled = (view.true_labels != view.labels) | (view.replaced >= 0)
        members = members[np.argsort(~spoiled[members], kind="stable")][:images]  # what was changed comes first
        cells = []
        for m in members.tolist():
            wrong = view.true_labels[m] != view.labels[m]
            true = dataset.names[0][view.class_ids[view.true_labels[m]]] if wrong else ""
            frame = WRONG_LABEL if wrong else WRONG_IMAGE if view.replaced[m] >= 0 else None
            cells.append(Cell(source.read(int(view.indices[m])), true, frame))
        rows.append(Row(_title(dataset, label), cells))
    return rows


def plain_rows(dataset: Dataset, indices: np.ndarray, classes: int, images: int) -> list[Row]:
    fine = dataset.labels[indices, 0]
    rows = []
    for label in _spread(dataset, np.unique(fine), classes):
        members = indices[fine == label][:images]
        rows.append(Row(_title(dataset, label), [Cell(dataset.source.read(int(i))) for i in members]))
    return rows


def draw(rows: list[Row], heading: str) -> Image.Image:
    across = max((len(row.cells) for row in rows), default=1)
    height = CELL + CAPTION + GAP
    size = (TITLE + across * (CELL + GAP) + GAP, 30 + len(rows) * height + GAP)
    sheet = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(sheet)
    pen.text((GAP, 7), heading, fill="black", font=_font(13))
    for r, row in enumerate(rows):
        top = 30 + r * height
        for line, text in enumerate(row.title):
            pen.text((GAP, top + 4 + 18 * line), _short(text, 34), "black" if line == 0 else "#666", _font(13))
        for c, cell in enumerate(row.cells):
            left = TITLE + c * (CELL + GAP)
            sheet.paste(_thumbnail(cell.image), (left, top))
            if cell.frame:
                pen.rectangle((left, top, left + CELL - 1, top + CELL - 1), outline=cell.frame, width=4)
            pen.text((left, top + CELL), _short(cell.caption, 16), cell.frame or "black", _font(10))
    return sheet


def _spread(dataset: Dataset, classes: np.ndarray, count: int) -> list[int]:
    """At most `count` classes, evenly over all, neighbours in the coarser levels next to each other."""
    first = {int(c): i for i, c in reversed(list(enumerate(dataset.labels[:, 0])))}
    ordered = sorted(map(int, classes), key=lambda c: tuple(dataset.labels[first[c]][::-1]))
    return [ordered[i] for i in np.unique(np.linspace(0, len(ordered) - 1, min(count, len(ordered))).astype(int))]


def _title(dataset: Dataset, label: int) -> tuple[str, ...]:
    sample = dataset.labels[np.flatnonzero(dataset.labels[:, 0] == label)[0]]
    return tuple(dataset.names[level][sample[level]] for level in range(len(dataset.levels)))


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
