"""What the templates print: every text escaped by Jinja2, data as JSON that cannot end its script element, and tables
as grids of cells that know their runs.
"""

import json
import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from plots import render as text_of
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


def slug(text: str) -> str:
    """A part of an id or file name, whatever the text is."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-").lower() or "x"


def grid(table: Table, groups: Groups, scale: str) -> dict[str, Any]:
    """A table: header groups, rows with what filters look at, cells with their runs."""
    notes = table.footnotes()
    return {
        "name": table.name,
        "part": table.part,
        "scale": scale,
        "stub": table.stub,
        "heads": _heads(table),
        "columns": table.columns,
        "caption": table.caption,
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


def sources(table: Table) -> dict[str, str]:
    """What can be copied."""
    return {"csv": text_of.as_csv([table]), "latex": text_of.latex([table])}


def cell(cell: Cell, column: Column, notes: dict[str, str], groups: Groups) -> dict[str, Any]:
    """The parts that `plots.tables._table.shown` joins into one text, apart, so that each can have its look."""
    told: dict[str, Any] = {"marks": [notes[note] for note in cell.notes]}
    told["group"] = groups.number(cell.run_ids)
    told["sort"] = cell.text if column.text or cell.value is None else repr(cell.value)
    if cell.text or cell.value is None:
        return told | {"text": cell.text or ("–" if cell.missing else "")}
    told |= {"text": number(cell.value, column.digits), "best": cell.best, "tied": cell.tied}
    if cell.half is not None:
        told["half"] = number(cell.half, column.digits)
    if cell.change is not None:
        told |= {"change": signed(cell.change, column.digits), "sign": "up" if cell.change >= 0 else "down"}
    if cell.difference is not None:
        told["difference"] = judgement(cell, column)
        told["verdict"] = cell.verdict
    return told


def _heads(table: Table) -> list[dict[str, Any]]:
    """The line of titles over several columns: title and how many; none where no column has one."""
    if not any(column.group for column in table.columns):
        return []
    spans: list[dict[str, Any]] = []
    for column in table.columns:
        if spans and column.group and spans[-1]["title"] == column.group:
            spans[-1]["span"] += 1
        else:
            spans.append({"title": column.group, "span": 1})
    return spans
