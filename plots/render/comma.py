"""Tables as CSV, for further work: one line a row, every number in full precision."""

import csv
import io
from collections.abc import Iterable

from plots.tables._table import Cell, Column, Table

KEYS = ("dataset", "protocol", "scale", "method", "variant")


def as_csv(tables: Iterable[Table]) -> str:
    """Wide, one line a row of the table, numbers in full precision; columns are those of all the tables."""
    tables = list(tables)
    records, fields = [], ["table", "part", "section", *KEYS, "row"]
    for table in tables:
        for section in table.sections:
            for row in section.rows:
                record: dict[str, object] = {
                    "table": table.name,
                    "part": table.part,
                    "section": section.title,
                }
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
    named |= {" difference": cell.difference, " verdict": cell.verdict or None}
    return {column.key + name: value for name, value in named.items() if value is not None}
