"""The Parquet schemas of runs and ledgers, and files of them that appear whole or not at all.

`store.py` decides which files there are; this says what is in one. Needs pyarrow only when a file is
touched.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.files import replacing
from benchmark.spec import FIELDS

if TYPE_CHECKING:
    import pyarrow as pa

# Raise it when a column changes its meaning. A new column needs none: older files are read without it.
VERSION = 1

RESULT_COLUMNS = {
    "run_id": "string",
    "status": "string",  # ok, diverged, error, out_of_memory, timeout
    "spec": "string",  # canonical JSON; its hash is the run_id
    "metrics": "metrics",  # at the chosen epoch, fractions: "test/R@1", "val/R@1", "rerank16/R@1", "diml100/R@1" …
    "score": "float",  # what tuning maximises
    "best_epoch": "int",
    "looks": "int",  # at how many epochs the score was taken, of which the best counts
    "curve": "string",  # JSON, one dict an evaluation
    "histograms": "string",  # JSON
    # JSON: queries [q], found [q][10] and cosine [q][10], nearest first, labels {index: [fine, coarse …]}; images by index
    "retrieved": "string",
    "error": "string",  # traceback or reason
    "seconds": "float",
    "preparation": "float",  # of those, before training: the first run draws data, computes features
    "peak_memory_mb": "float",
    "step_seconds": "float",  # median of a training step; on a CPU of processor time, which no neighbour changes
    "loss_parameters": "int",  # that the method learns beside the network
    "fingerprint": "string",  # of the data
    "versions": "string",  # JSON, name → version
    "commit": "string",
    "dirty": "bool",
    "cpu": "string",
    "gpu": "string",
    "device": "string",  # kind: cpu, cuda
    "precision_used": "string",  # what was in effect: on a CPU, amp is float32
    "deterministic": "bool",  # whether the same numbers can be had again on such a machine
    "finished": "string",  # UTC, ISO 8601
}
LEDGER_COLUMNS = {
    "study": "string",
    "scale": "string",
    "dataset": "string",
    "method": "string",
    "protocol": "string",
    "setting": "string",
    "phase": "string",  # tune, final
    "variation": "string",  # JSON of the study's [vary] keys
    "trial": "int",  # -1: a final run
    "seed": "int",
    "lr": "float",
    "params": "string",  # JSON
    "run_id": "string",
    "chosen": "bool",  # the trial that tuning chose; true for every final run
    "edge": "string",  # "", low, high: where the chosen rate lies in the range searched
    "extended": "bool",  # whether the range was extended, for every method alike
    "trials": "int",  # that the method was given; 0: not tuned
    "lr_low": "float",
    "lr_high": "float",
    "tuned": "string",  # JSON: the values of what was tuned beyond the learning rate
    "search": "string",  # JSON: what was tuned beyond the learning rate, name → values or range
    "ends": "string",  # JSON: of those, where the chosen value lies at an end, name → low or high
    "drawn_by": "string",  # tpe (half Sobol, half TPE), random, grid
    "tuned_at": "string",  # JSON: the variation whose trials chose the rate; "": not tuned
}


@cache
def schema(kind: str) -> "pa.Schema":
    """The explicit schema of a `run`, `ledger` or `gathered` file, with kind and version in its metadata."""
    import pyarrow as pa

    types = dict.fromkeys(("string", "str", "Mapping"), pa.string())
    types |= {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
    types |= {"tuple": pa.list_(pa.int64()), "metrics": pa.map_(pa.string(), pa.float64())}
    run = RESULT_COLUMNS | {name: getattr(f.type, "__name__", str(f.type)) for name, f in FIELDS.items()}
    gathered = run | {"size": "int", "modified": "int"}
    columns = {"run": run, "ledger": LEDGER_COLUMNS, "gathered": gathered}[kind]
    named = [pa.field(name, types[column]) for name, column in columns.items()]
    return pa.schema(named, metadata={"benchmark.kind": kind, "benchmark.version": str(VERSION)})


class Foreign(Exception):
    """The file is damaged, or it is not one of ours."""


def read_file(path: Path, kind: str, columns: list[str] | None = None) -> "pa.Table | None":
    """A file as a table, None if it is of the other kind; Foreign if it cannot be read.

    A column that is younger than the file has the default of its field of the spec, or no value.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            found = file.schema_arrow
            metadata = found.metadata or {}
            if b"benchmark.kind" not in metadata:
                raise Foreign("not written by this benchmark")
            if metadata[b"benchmark.kind"] != kind.encode():
                return None
            rows = file.metadata.num_rows  # which no checksum covers
            if rows != sum(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)):
                raise Foreign(f"has lost some of its rows, or says so ({rows})")
            if found.equals(schema(kind), check_metadata=True):
                whole = file.read(columns=columns, use_threads=False)
                return whole if columns is None else whole.select(columns)
            _check(found, kind)
            wanted = schema(kind) if columns is None else pa.schema([schema(kind).field(n) for n in columns])
            there = [name for name in wanted.names if name in found.names]
            table = file.read(columns=there, use_threads=False)
        filled = [table[field.name] if field.name in there else _missing(field, table.num_rows) for field in wanted]
        return pa.table(filled, schema=wanted)
    except (FileNotFoundError, PermissionError, Foreign):
        raise
    except Exception as problem:  # pyarrow raises anything over a damaged file, UnicodeDecodeError for one
        raise Foreign(f"cannot be read ({(str(problem) or repr(problem)).splitlines()[0]})") from problem


def _check(found: "pa.Schema", kind: str) -> None:
    """Whether every column of a file is one that this version knows."""
    known, version = schema(kind), found.metadata.get(b"benchmark.version", b"?").decode(errors="replace")
    if version != str(VERSION):
        raise Foreign(f"is of schema {version}, this version of the project reads {VERSION}")
    for field in found:
        if field.name not in known.names:
            raise Foreign(f"has a column {field.name!r}: a newer version of the project wrote it")
        if field.type != known.field(field.name).type:
            raise Foreign(f"holds {field.name!r} as {field.type}, not {known.field(field.name).type}")


def _missing(field: "pa.Field", rows: int) -> "pa.Array":
    import pyarrow as pa

    default = FIELDS[field.name].default if field.name in FIELDS else None
    if default is None or default is dataclasses.MISSING:
        return pa.nulls(rows, field.type)
    return pa.array([default] * rows, field.type)


def write_file(path: Path, rows: Iterable[Mapping[str, Any]], kind: str) -> None:
    import pyarrow as pa

    write_table(path, pa.Table.from_pylist(list(rows), schema=schema(kind)))


LARGE, DENSE = 500, 19  # rows of an archive, which is written once and committed: half the size for seconds of work


def write_table(path: Path, table: "pa.Table") -> None:
    import pyarrow.parquet as pq

    many = table.num_rows > 1  # dictionaries and statistics double size and reading time of a single row
    form = {"compression": "zstd" if many else "snappy", "use_dictionary": many, "write_statistics": many}
    level = DENSE if table.num_rows > LARGE else None
    with replacing(path) as temporary:
        pq.write_table(table, temporary, write_page_checksum=True, compression_level=level, **form)
