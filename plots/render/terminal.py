"""Tables as aligned text, for the terminal; captions are in the files."""

import unicodedata
from collections.abc import Iterable, Sequence

from plots.tables._table import Column, Row, Table, shown

LEGEND = (
    "± half-width of the 95 % t-interval over seeds · * best mean · ≈ not separable from it · "
    "paper: published (ours − paper: = reproduced, ↑ above, ↓ below, ? one seed)"
)


def terminal(tables: Iterable[Table]) -> str:
    return "\n".join(_terminal(table) for table in tables)


def _terminal(table: Table) -> str:
    notes = table.footnotes()

    def marks(texts: Sequence[str]) -> str:
        return f" [{','.join(notes[text] for text in texts)}]" if texts else ""

    def cell_text(row: Row, column: Column) -> str:
        cell = table.cell(row, column)
        return ("*" if cell.best else "") + shown(cell, column) + marks(cell.notes)

    grid = [
        [row.title + marks(row.notes), *(cell_text(row, column) for column in table.columns)]
        for row in table.rows()
    ]
    titles = table.titles()
    widths = [max(_width(line[i]) for line in [titles, *grid]) for i in range(len(titles))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell + " " * (width - _width(cell))
            if i == 0 or table.columns[i - 1].text
            else " " * (width - _width(cell)) + cell
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    lines = [
        f"{table.name}: {table.part}".rstrip(": "),
        line(titles),
        "─" * (sum(widths) + 2 * len(widths) - 2),
    ]
    rows = iter(grid)
    for section in table.sections:
        if section.title and len(table.sections) > 1:
            lines.append(f"· {section.title}")
        lines += [line(next(rows)) for _ in section.rows]
    lines += [f"[{mark}] {note}" for note, mark in notes.items()]
    return "\n".join(lines) + "\n"


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
