"""What the templates print: every text escaped by Jinja2, data as JSON that cannot end its script element, and tables
as grids of cells that know their runs.
"""

import base64
import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from plots import style
from plots.report.runs import Groups
from plots.tables._table import Cell, Column, Table, judgement, number, signed

FOLDER = Path(__file__).parent / "templates"
SCRIPTS = ("charts.js", "runs.js", "tables.js", "retrieval.js", "filters.js", "page.js")
KEYS = ("dataset", "method", "protocol", "scale")  # what can be filtered


def render(**content: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"slug": slug, "place": style.place}
    environment.tests["match"] = lambda text, pattern: re.match(pattern, text) is not None
    own = {
        "style": Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
        "script": Markup("\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)),
        "json": as_json,
    }
    return environment.get_template("page.html").render(**own, **content)


def as_json(value: Any) -> Markup:
    """JSON for a script element: with no < in it, no text can close the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def slug(text: str) -> str:
    """A part of an id or file name, whatever the text is."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-").lower() or "x"


def grid(table: Table, groups: Groups, scale: str) -> dict[str, Any]:
    """The fields of a table, with titles over its columns, rows with what filters look at, cells with their runs."""
    notes = table.footnotes()
    # A column without a group has no title over it, whatever its neighbours have.
    spans = [list(span) for _, span in groupby(table.columns, lambda column: column.group or column)]
    heads = [{"title": span[0].group, "span": len(span)} for span in spans]
    return vars(table) | {
        "scale": scale,
        "heads": heads if any(head["title"] for head in heads) else [],
        "notes": [(mark, text) for text, mark in notes.items()],
        "ran": table.ran,
        "sections": [
            {
                "title": section.title if len(table.sections) > 1 else "",
                "rows": [
                    {
                        "title": row.title,
                        "keys": {key: row.keys[key] for key in KEYS if row.keys.get(key)},
                        "marks": [notes[note] for note in row.notes],
                        "cells": [cell(table.cell(row, column), column, notes, groups) for column in table.columns],
                    }
                    for row in section.rows
                ],
            }
            for section in table.sections
        ],
    }


def cell(cell: Cell, column: Column, notes: dict[str, str], groups: Groups) -> dict[str, Any]:
    """The parts that `plots.tables._table.shown` joins into one text, apart, so that each can have its look."""
    told: dict[str, Any] = {
        "marks": [notes[note] for note in cell.notes],
        "group": groups.number(cell.run_ids),
        "sort": cell.text if column.text or cell.value is None else repr(cell.value),
    }
    if cell.text or cell.value is None:
        return told | {"text": cell.text or ("–" if cell.missing else "")}
    told |= {"text": number(cell.value, column.digits), "best": cell.best, "tied": cell.tied}
    if cell.half is not None:
        told["half"] = number(cell.half, column.digits)
    if cell.change is not None:
        told |= {"change": signed(cell.change, column.digits), "sign": "up" if cell.change >= 0 else "down"}
    if cell.difference is not None:
        told |= {"difference": judgement(cell, column), "verdict": cell.verdict}
    return told
