"""A table as an object: columns, sections of rows, cells that know their runs, and a caption made from the
same objects.

Modules of `plots/tables/` build one, `plots/render.py` writes it as Markdown, LaTeX, CSV and terminal text, and the
report page shows it (`plots/report/page.py`). A cell never holds text that was typed: numbers, marks and footnotes are
its fields.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

VERDICTS = {
    "reproduced": "=",
    "above": "↑",
    "below": "↓",
    "undecided": "?",
    "not run": "",
}  # on a published number → mark


@dataclass(frozen=True)
class Column:
    key: str
    title: str
    group: str = ""  # printed above neighbouring columns that share it
    digits: int = 1
    shaded: bool = False
    text: bool = False  # left-aligned words instead of numbers


@dataclass(frozen=True)
class Cell:
    value: float | None = None  # in the unit that is printed (percent)
    half: float | None = None  # half-width of the 95 % interval
    n: int = 0  # seeds behind the value
    text: str = ""  # instead of a number
    best: bool = False  # the best mean of its column and section
    tied: bool = False  # not separable from the best
    spread: float | None = None  # published values: the paper's ±, a standard deviation; not printed
    change: float | None = None  # against another column of the row, coloured
    difference: float | None = None  # published values: ours minus the paper's
    verdict: str = ""  # published values: one of VERDICTS
    seeds: int | None = None  # undecided: how many would decide
    missing: bool = False  # there should be a value: a dash, with a footnote that says why there is none
    notes: tuple[str, ...] = ()  # footnotes
    run_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    title: str
    cells: Mapping[str, Cell]  # column key → cell; none: nothing belongs there
    keys: Mapping[str, str] = field(default_factory=dict)  # dataset, protocol, scale, method, variant
    notes: tuple[str, ...] = ()

    def with_shared_notes(self) -> "Row":
        """A footnote that several cells share stands once, at the title of the row."""
        every = [note for cell in self.cells.values() for note in dict.fromkeys(cell.notes)]
        shared = [note for note in dict.fromkeys(every) if every.count(note) > 1]
        cells = {
            key: dataclasses.replace(cell, notes=tuple(note for note in cell.notes if note not in shared))
            for key, cell in self.cells.items()
        }
        return dataclasses.replace(self, cells=cells, notes=(*self.notes, *shared))


@dataclass(frozen=True)
class Section:
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    name: str  # of the file and the study
    part: str  # what sets it apart from the other tables of the same file: usually the data set
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    caption: tuple[str, ...]  # sentences
    stub: str = "Method"  # the title of the first column
    lead: int = 1  # sentences that say what it shows and found; the others, how to read it and how it was made

    def rows(self) -> list[Row]:
        return [row for section in self.sections for row in section.rows]

    def cell(self, row: Row, column: Column) -> Cell:
        return row.cells.get(column.key, Cell())

    def titles(self) -> list[str]:
        return [self.stub, *(f"{c.group} {c.title}".strip() for c in self.columns)]

    @property
    def ran(self) -> bool:
        """Whether any number of ours is in it."""
        return any(cell.run_ids for row in self.rows() for cell in row.cells.values())

    def footnotes(self) -> dict[str, str]:
        """Text of each footnote → its mark (a, b, … z, aa …), in reading order."""
        texts: list[str] = []
        for row in self.rows():
            texts += row.notes
            for column in self.columns:
                texts += self.cell(row, column).notes
        return {text: _letters(i) for i, text in enumerate(dict.fromkeys(texts))}

    def verdicts(self) -> dict[str, int]:
        found = [self.cell(row, column).verdict for row in self.rows() for column in self.columns]
        return {verdict: found.count(verdict) for verdict in VERDICTS}


def shown(cell: Cell, column: Column) -> str:
    """The cell as plain text, without footnote marks."""
    if cell.text:
        return cell.text
    if cell.value is None:
        return "–" if cell.missing else ""
    text = number(cell.value, column.digits)
    if cell.half is not None:
        text += f" ± {number(cell.half, column.digits)}"
    if cell.change is not None:
        text += f" ({signed(cell.change, column.digits)})"
    if cell.difference is not None:
        text += f" ({judgement(cell, column)})"
    return text + (" ≈" if cell.tied else "")


def judgement(cell: Cell, column: Column) -> str:
    """Ours minus the paper's, the mark of the verdict and, where it is open, the seeds that would close it."""
    told = f"{signed(cell.difference or 0.0, column.digits)} {VERDICTS.get(cell.verdict, '')}".strip()
    return told + (f" {cell.seeds} seeds" if cell.seeds else "")


def number(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float, digits: int) -> str:
    text = number(value, digits)
    return text if text.startswith("−") or text == "–" else f"+{text}"


def _letters(index: int) -> str:
    text = ""
    while index >= 0:
        text = chr(ord("a") + index % 26) + text
        index = index // 26 - 1
    return text
