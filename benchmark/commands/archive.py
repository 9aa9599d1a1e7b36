"""Gathers the runs of all studies at a scale, with ledgers, tables and figures, into results/reference, to be committed.

    python -m benchmark archive --scale laptop

What lies there counts as done for `run` and is read by tables and figures, so a clone needs no training.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark import synthetic
from benchmark.commands import _options
from benchmark.errors import UserError, unknown
from benchmark.planning.study import SCALES

if TYPE_CHECKING:
    import pyarrow as pa

PICTURES = ("neighbours", "confused_classes")  # photos belong to their authors, and are not handed on
SCALELESS = (*synthetic.VERSIONS, "scaling")  # figures that are the same at every scale lie with the letters


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", default="laptop", help=f"{', '.join(SCALES)} (default: laptop)")
    _options.add(parser, "--data", "--results")


def execute(args: argparse.Namespace) -> int:
    import pyarrow as pa

    from benchmark.results.schema import read_file, schema, write_file, write_table
    from benchmark.results.store import Store

    if args.scale not in SCALES:
        raise unknown("scale", args.scale, SCALES)
    store = Store(args.results, reference=False)
    target = args.results / "reference"
    path = target / f"{args.scale}.parquet"
    made = sorted((args.results / "studies" / args.scale).glob("*.parquet"))
    for ledger in made:  # of a study that was not run here, what lies there already stays
        write_file(target / "studies" / args.scale / ledger.name, store.ledger_rows(ledger.stem, args.scale), "ledger")
    committed = Store(target, reference=False)
    ledgers = sorted((target / "studies" / args.scale).glob("*.parquet"))
    wanted = {row["run_id"] for ledger in ledgers for row in committed.ledger_rows(ledger.stem, args.scale)}
    gone: set[str] = set()  # runs of the file that no ledger names any more
    tables = [read_file(store.path(run_id), "run") for run_id in sorted(wanted) if store.path(run_id).exists()]
    rows = pa.concat_tables([schema("run").empty_table(), *(table for table in tables if table is not None)])
    if path.exists() and (before := read_file(path, "run")) is not None:
        here = set(rows["run_id"].to_pylist())
        gone = set(before["run_id"].to_pylist()) - wanted
        kept = [run_id in wanted - here for run_id in before["run_id"].to_pylist()]
        rows = pa.concat_tables([rows, before.filter(pa.array(kept, pa.bool_()))]).sort_by("run_id")
    if not rows.num_rows:
        typed = f"python -m benchmark run all --scale {args.scale} --results {args.results}"
        raise UserError(f"{str(args.results)!r} holds no run of scale {args.scale!r} ({typed})")
    write_table(path, rows)
    _name_classes(target, rows, args.data)
    left = {"not_made"}
    if args.scale not in ("quick", "laptop"):
        left |= {*PICTURES, *SCALELESS}
    for kind, suffix in (("tables", "md"), ("figures", "png")):  # as they were made last; what was not made stays
        for file in sorted((args.results / kind / args.scale).glob(f"*.{suffix}")):
            if file.stem not in left:
                (target / kind / args.scale).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target / kind / args.scale / file.name)
    print(f"{path}: {rows.num_rows} runs of {len(ledgers)} studies, {path.stat().st_size / 1e6:.1f} MB")
    typed = f"python -m benchmark status all --scale {args.scale} --results {args.results}"
    if missing := len(wanted - set(rows["run_id"].to_pylist())):
        print(f"warning: {missing} runs that its ledgers name are not there ({typed})")
    if gone:
        print(f"warning: {len(gone)} runs that it held are left out, since no ledger names them any more ({typed})")
    return 0


def _name_classes(target: Path, rows: "pa.Table", data: Path) -> None:
    """For data sets whose retrieved images are kept and which do not come with the project, as far as they are at hand."""
    from benchmark import datasets
    from benchmark.results import class_names

    told = rows.select(["spec", "fingerprint", "retrieved"]).to_pylist()
    kept = {(json.loads(row["spec"])["dataset"], row["fingerprint"]) for row in told if len(row["retrieved"] or "") > 2}
    for name, fingerprint in sorted(kept):
        if not datasets.embedded(name) and datasets.at_hand(name, data):
            found = datasets.open_dataset(name, data)
            if found.fingerprint == fingerprint:
                class_names.write(target, fingerprint, found.names)
