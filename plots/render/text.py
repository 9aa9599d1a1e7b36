"""Tables as Markdown for reading, as aligned text for the terminal, and as CSV in full precision for further work."""

import csv
import io
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from plots.tables._table import Cell, Column, Table, shown

LEGEND = (
    "± half-width of the 95 % t-interval over seeds · * best mean · ≈ not separable from it · "
    "paper: published (ours − paper: = reproduced, ↑ above, ↓ below, ? undecided, with the seeds that would decide)"
)
KEYS = ("dataset", "protocol", "scale", "method", "variant")


def _grid(table: Table, plain: Callable[[str], str], best: str, mark: Callable[[str], str]) -> list[list[str]]:
    """Every row as texts: its title and its cells, the best marked, with the marks of their footnotes."""
    notes = table.footnotes()

    def marks(texts: Sequence[str]) -> str:
        return mark(",".join(notes[text] for text in texts)) if texts else ""

    def text(cell: Cell, column: Column) -> str:
        told = plain(shown(cell, column))
        return (best.format(told) if cell.best else told) + marks(cell.notes)

    return [
        [plain(row.title) + marks(row.notes), *(text(table.cell(row, c), c) for c in table.columns)]
        for row in table.rows()
    ]


def markdown(tables: Iterable[Table]) -> str:
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    rows = iter(_grid(table, _escape_markdown, "**{}**", "<sup>{}</sup>".format))
    titles = [_escape_markdown(title) for title in table.titles()]
    align = [":--", *(":--" if c.text else "--:" for c in table.columns)]
    lines = [f"### {table.name}: {table.part}" if table.part else f"### {table.name}", ""]
    lines += [_escape_markdown(" ".join(table.caption)), ""]
    lines += ["| " + " | ".join(titles) + " |", "| " + " | ".join(align) + " |"]
    for section in table.sections:
        if section.title and len(table.sections) > 1:
            lines.append(f"| *{_escape_markdown(section.title)}* |" + " |" * len(table.columns))
        lines += ["| " + " | ".join(next(rows)) + " |" for _ in section.rows]
    notes = table.footnotes()
    lines += [""] + [f"<sup>{mark}</sup> {_escape_markdown(text)}  " for text, mark in notes.items()]
    return "\n".join(lines).rstrip() + "\n"


def _escape_markdown(text: str) -> str:
    for character in "\\|*_`<":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")


def terminal(tables: Iterable[Table]) -> str:
    """Without captions: those are in the files."""
    return "\n".join(_terminal(table) for table in tables)


def _terminal(table: Table) -> str:
    grid = _grid(table, str, "*{}", " [{}]".format)
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

    lines = [f"{table.name}: {table.part}".rstrip(": "), line(titles), "─" * (sum(widths) + 2 * len(widths) - 2)]
    rows = iter(grid)
    for section in table.sections:
        if section.title and len(table.sections) > 1:
            lines.append(f"· {section.title}")
        lines += [line(next(rows)) for _ in section.rows]
    lines += [f"[{mark}] {note}" for note, mark in table.footnotes().items()]
    return "\n".join(lines) + "\n"


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def as_csv(tables: Iterable[Table]) -> str:
    """Wide, one line a row of the table, numbers in full precision; columns are those of all the tables."""
    tables = list(tables)
    records, fields = [], ["table", "part", "section", *KEYS, "row"]
    for table in tables:
        for section in table.sections:
            for row in section.rows:
                record: dict[str, object] = {"table": table.name, "part": table.part, "section": section.title}
                record |= {key: row.keys.get(key, "") for key in KEYS} | {"row": row.title}
                notes = list(row.notes)
                for column in table.columns:
                    cell = table.cell(row, column)
                    record |= _csv_cell(cell, column)
                    notes += cell.notes
                records.append(record | {"notes": "; ".join(dict.fromkeys(notes))})
    for record in records:
        fields += [name for name in record if name not in fields and name != "notes"]
    out = io.StringIO()
    writer = csv.DictWriter(out, [*fields, "notes"], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def _csv_cell(cell: Cell, column: Column) -> dict[str, object]:
    if column.text or cell.text:
        return {column.key: cell.text}
    named: dict[str, object] = {
        "": cell.value,
        " ±": cell.half,
        " n": cell.n or None,
        " spread": cell.spread,
        " change": cell.change,
    }
    named |= {" difference": cell.difference, " verdict": cell.verdict or None, " seeds": cell.seeds}
    return {column.key + name: value for name, value in named.items() if value is not None}
