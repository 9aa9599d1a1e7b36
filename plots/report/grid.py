"""A `Table` as the template prints it: header groups, rows with what filters look at, cells with their runs."""

from typing import Any

from plots import render
from plots.report.runs import Groups
from plots.tables._table import MARKS, Cell, Column, Table, number, signed

KEYS = ("dataset", "method", "protocol", "scale")  # what can be filtered


def grid(table: Table, groups: Groups, scale: str) -> dict[str, Any]:
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
                        "cells": [
                            cell(table.cell(row, column), column, notes, groups) for column in table.columns
                        ],
                    }
                    for row in section.rows
                ],
            }
            for section in table.sections
        ],
    }


def sources(table: Table) -> dict[str, str]:
    """What can be copied."""
    return {"csv": render.as_csv([table]), "latex": render.latex([table])}


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
        told["difference"] = f"{signed(cell.difference, column.digits)} {MARKS[cell.verdict]}".strip()
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
