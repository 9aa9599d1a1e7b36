"""Tables as Markdown, for the README and for reading on GitHub."""

from collections.abc import Iterable, Sequence

from plots.tables._table import Column, Row, Table, shown


def markdown(tables: Iterable[Table]) -> str:
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    notes = table.footnotes()

    def marks(texts: Sequence[str]) -> str:
        return f"<sup>{','.join(notes[text] for text in texts)}</sup>" if texts else ""

    def text(row: Row, column: Column) -> str:
        cell = table.cell(row, column)
        plain = _escape_markdown(shown(cell, column))
        return (f"**{plain}**" if cell.best else plain) + marks(cell.notes)

    rows = iter(
        [_escape_markdown(row.title) + marks(row.notes), *(text(row, column) for column in table.columns)]
        for row in table.rows()
    )
    titles = [_escape_markdown(title) for title in table.titles()]
    align = [":--", *(":--" if c.text else "--:" for c in table.columns)]
    lines = [f"### {table.name}: {table.part}" if table.part else f"### {table.name}", ""]
    lines += [_escape_markdown(" ".join(table.caption)), ""]
    lines += ["| " + " | ".join(titles) + " |", "| " + " | ".join(align) + " |"]
    for section in table.sections:
        if section.title and len(table.sections) > 1:
            lines.append(f"| *{_escape_markdown(section.title)}* |" + " |" * len(table.columns))
        lines += ["| " + " | ".join(next(rows)) + " |" for _ in section.rows]
    lines += [""] + [f"<sup>{mark}</sup> {_escape_markdown(text)}  " for text, mark in notes.items()]
    return "\n".join(lines).rstrip() + "\n"


def _escape_markdown(text: str) -> str:
    for character in "\\|*_`<":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
