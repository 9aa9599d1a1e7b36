"""Gathers the runs of all studies at a scale, with their ledgers, into results/reference, to be committed or sent.

    python -m benchmark archive --scale laptop

What lies there counts as done for `run` and is read by tables and figures, so a clone needs no training.
"""

import argparse
from pathlib import Path

from benchmark.errors import UserError, unknown
from benchmark.study import SCALES


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", default="laptop", help=f"{', '.join(SCALES)} (default: laptop)")
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )


def execute(args: argparse.Namespace) -> int:
    import pyarrow as pa

    from benchmark.schema import read_file, schema, write_file, write_table
    from benchmark.store import Store

    if args.scale not in SCALES:
        raise unknown("scale", args.scale, SCALES)
    store = Store(args.results, reference=False)
    ledgers = sorted((args.results / "studies" / args.scale).glob("*.parquet"))
    target = args.results / "reference"
    wanted: set[str] = set()
    for path in ledgers:
        rows = store.ledger_rows(path.stem, args.scale)
        wanted |= {row["run_id"] for row in rows if store.path(row["run_id"]).exists()}
        write_file(target / "studies" / args.scale / path.name, rows, "ledger")
    if not wanted:
        raise UserError(
            f"{str(args.results)!r} holds no run of scale {args.scale!r} (python -m benchmark run all --scale {args.scale})"
        )
    tables = [read_file(store.path(run_id), "run") for run_id in sorted(wanted)]
    path = target / f"{args.scale}.parquet"
    write_table(path, pa.concat_tables([schema("run").empty_table(), *(t for t in tables if t is not None)]))
    print(f"{path}: {len(wanted)} runs of {len(ledgers)} studies, {path.stat().st_size / 1e6:.1f} MB")
    return 0
