"""Runs a random sample of stored runs again and compares each with its row, cell by cell; stores nothing.

    python -m benchmark verify                            five of results/ and results/reference/
    python -m benchmark verify results/reference --sample 20 --seed 1

Exact on the platform that made a row, within a stated tolerance on another one. Runs on data that are not here are left out.
"""

import argparse
from pathlib import Path

from benchmark.commands import _options, reproduce
from benchmark.errors import UserError
from benchmark.results.store import Store


def configure(parser: argparse.ArgumentParser) -> None:
    told = "of Parquet files (default: all results)"
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help=told)
    parser.add_argument("--sample", type=int, default=5, metavar="N", help="how many runs (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    _options.add(parser, "--data", "--executor", "--results", "--no-reference")


def execute(args: argparse.Namespace) -> int:
    """0 if every sampled run gives its numbers again, 1 if not."""
    from benchmark.seeds import numpy_generator

    if args.sample < 1:
        raise UserError(f"--sample {args.sample} must be 1 or more")
    store = _options.store(args) if args.folder is None else Store.of_folder(args.folder)
    finished = sorted(run_id for run_id, outcome in store.outcomes().items() if outcome.finished)
    if not finished:
        folder = args.folder or args.results
        raise UserError(f"no finished runs in {folder} (python -m benchmark run main --results {args.results})")
    stored = store.specs()
    absent = reproduce.missing({run_id: stored[run_id] for run_id in finished}, args)
    if absent:
        needed = ", ".join(sorted({name for names in absent.values() for name in names}))
        print(f"{len(absent)} of {len(finished)} runs need {needed}, not found below {str(args.data)!r} (--data DIR)")
        finished = [run_id for run_id in finished if run_id not in absent]
    if not finished:
        raise UserError("none of the runs can be done here (python -m benchmark doctor says where data come from)")
    count = min(args.sample, len(finished))
    chosen = numpy_generator("verify", args.seed).choice(len(finished), count, replace=False)
    wrong = 0
    sample = [finished[index] for index in sorted(chosen)]
    reproduce.prepared({run_id: stored[run_id] for run_id in sample}, args)
    for run_id in sample:
        comparison = reproduce.again(store, run_id, args.data, args.executor)
        reproduce.show(comparison)
        wrong += bool(comparison.differences)
    print(f"{count - wrong} of {count} runs reproduced, sampled from {len(finished)}")
    return 1 if wrong else 0
