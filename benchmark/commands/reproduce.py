"""Runs the spec of one stored row again and compares the two, cell by cell; stores nothing.

python -m benchmark reproduce 3f9a
"""

import argparse
import os
import sys
from pathlib import Path

from benchmark.commands import _options
from benchmark.errors import UserError
from benchmark.planning.identity import code_of
from benchmark.results.rerun import Comparison, compare
from benchmark.results.store import Store
from benchmark.running.worker import THREAD_LIMITS, Job, work
from benchmark.spec import RunSpec


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", help="as `plan --json` or a ledger shows it; its first characters will do")
    configure_again(parser)


def configure_again(parser: argparse.ArgumentParser) -> None:
    _options.data(parser)
    _options.executor(parser)
    _options.stored(parser)


def execute(args: argparse.Namespace) -> int:
    """0 if the numbers are the same, 1 if not."""
    store = _options.store(args)
    found = sorted(run_id for run_id in store.outcomes() if run_id.startswith(args.run_id))
    if len(found) != 1:
        listed = f"python -m benchmark plan main --json --results {args.results}"
        near = f": {', '.join(found[:5])}" if found else f" ({listed})"
        raise UserError(f"{len(found)} stored runs begin with {args.run_id!r} in {args.results}{near}")
    comparison = again(store, found[0], args.data, args.executor)
    show(comparison)
    return 1 if comparison.differences else 0


def again(store: Store, run_id: str, data: Path, executor: str) -> Comparison:
    """Does a stored run once more, in this process, and compares."""
    os.environ.update(THREAD_LIMITS)
    stored = store.rows([run_id])[run_id]
    spec = RunSpec.from_json(stored["spec"])
    if spec.run_id != run_id:
        raise UserError(
            f"run {run_id} was made from a spec that this version reads differently "
            f"(recipe {stored['recipe']}); use its commit {stored['commit'] or '(not recorded)'}"
        )
    if spec.code and spec.code != code_of(spec.method, executor):
        print(f"{run_id}: made by other code of {spec.method} ({spec.code}) than is here now")
    now = work(spec, Job(data=data.absolute(), checkpoints=None, executor=executor, same_code=False))
    return compare(stored, now)


def show(comparison: Comparison) -> None:
    wrong = comparison.differences
    verdict = f"{len(wrong)} of {comparison.cells} cells differ" if wrong else f"all {comparison.cells} cells agree"
    print(f"{comparison.run_id}: {verdict}, {comparison.rule}")
    for difference in wrong[:20]:
        print(f"  {difference.cell}: stored {difference.stored!r}, now {difference.now!r}")
    if len(wrong) > 20:
        print(f"  … and {len(wrong) - 20} more")
    sys.stdout.flush()
