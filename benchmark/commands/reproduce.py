"""Runs the spec of one stored row again and compares the two, cell by cell; stores nothing.

python -m benchmark reproduce 3f9a
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.commands import _options
from benchmark.errors import UserError
from benchmark.planning.identity import EXECUTOR, code_of
from benchmark.results.store import Store
from benchmark.running.pools import open_pool
from benchmark.running.preparation import lacking, prepare
from benchmark.running.process import THREAD_LIMITS
from benchmark.running.worker import Job, work
from benchmark.spec import RunSpec

# On the platform that made a row every number has to be the same; other kernels round differently, and training carries that on.
TOLERANCE = 0.02  # absolute, on fractions
PLATFORM = ("cpu", "gpu", "versions")
NEEDS = ("dataset", "judged_on", "gallery_distractors", "distractors", "image_noise", "weights")


class Comparison(NamedTuple):
    run_id: str
    same_platform: bool
    cells: int
    differences: list[tuple[str, Any, Any]]  # cell, stored, now: beyond what the platform allows

    @property
    def rule(self) -> str:
        return "exact" if self.same_platform else f"within {TOLERANCE} (another platform)"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", help="as `plan --json` or a ledger shows it; its first characters will do")
    _options.add(parser, "--data", "--executor", "--results", "--no-reference")


def execute(args: argparse.Namespace) -> int:
    """0 if the numbers are the same, 1 if not."""
    store = _options.store(args)
    found = sorted(run_id for run_id in store.outcomes() if run_id.startswith(args.run_id))
    if len(found) != 1:
        listed = f"python -m benchmark plan main --json --results {args.results}"
        near = f": {', '.join(found[:5])}" if found else f" ({listed})"
        raise UserError(f"{len(found)} stored runs begin with {args.run_id!r} in {args.results}{near}")
    prepared({found[0]: store.specs()[found[0]]}, args)
    comparison = again(store, found[0], args.data, args.executor)
    show(comparison)
    return 1 if comparison.differences else 0


def missing(specs: dict[str, str], args: argparse.Namespace) -> dict[str, list[str]]:
    """run_id → what it needs, of the runs whose data are not here; an executor of somebody's own sees to that itself."""
    needs: dict[tuple, list[str]] = {}  # thousands of runs need a dozen things
    found = {}
    for run_id, text in specs.items() if args.executor == EXECUTOR else ():
        spec = RunSpec.from_json(text)
        key = tuple(getattr(spec, name) for name in NEEDS)
        if key not in needs:
            needs[key] = lacking(spec, args.data)
        if needs[key]:
            found[run_id] = needs[key]
    return found


def prepared(specs: dict[str, str], args: argparse.Namespace) -> None:
    """Raises if a run lacks something; computes in sight, with all cores, the features that runs train on."""
    for run_id, absent in missing(specs, args).items():
        raise UserError(
            f"run {run_id} needs {', '.join(absent)}, not found below {str(args.data)!r} (python -m benchmark doctor)"
        )
    if args.executor == EXECUTOR:
        pool = open_pool("loky", None, None)
        try:
            prepare(map(RunSpec.from_json, specs.values()), args.data.absolute(), pool)
        finally:
            pool.close(kill=True)  # after an interruption too


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
    if spec.code and spec.code != code_of(spec.method, spec.params, executor):
        print(f"{run_id}: made by other code of {spec.method} ({spec.code}) than is here now")
    now = work(spec, Job(data=data.absolute(), checkpoints=None, executor=executor, same_code=False))
    return compare(stored, now)


def show(comparison: Comparison) -> None:
    wrong = comparison.differences
    verdict = f"{len(wrong)} of {comparison.cells} cells differ" if wrong else f"all {comparison.cells} cells agree"
    print(f"{comparison.run_id}: {verdict}, {comparison.rule}")
    for cell, stored, now in wrong[:20]:
        print(f"  {cell}: stored {stored!r}, now {now!r}")
    if len(wrong) > 20:
        print(f"  … and {len(wrong) - 20} more")
    sys.stdout.flush()


def compare(stored: dict[str, Any], now: dict[str, Any]) -> Comparison:
    same = all(stored[name] == now[name] for name in PLATFORM)
    before, after = _cells(stored, exact=same), _cells(now, exact=same)
    if "retrieved" not in before:
        after.pop("retrieved", None)  # not kept by older versions
    names = sorted(before.keys() | after.keys())
    differences = [
        (name, before.get(name), after.get(name))
        for name in names
        if not _equal(before.get(name), after.get(name), 0.0 if same else TOLERANCE)
    ]
    return Comparison(stored["run_id"], same, len(names), differences)


def _cells(row: dict[str, Any], exact: bool) -> dict[str, Any]:
    """What two rows of a spec must agree on: status, data, metrics; on the same platform all of the curve."""
    cells = {name: row[name] for name in ("status", "fingerprint")}
    no_fractions = () if exact else ("loss", "health")  # for which the tolerance makes no sense
    metrics = {name: value for name, value in dict(row["metrics"]).items() if not name.startswith(no_fractions)}
    cells |= {f"metrics/{name}": value for name, value in metrics.items()}
    if exact:
        cells |= {name: row[name] for name in ("score", "best_epoch")}
        for point in json.loads(row["curve"]):
            cells |= {f"curve/{point.get('epoch')}/{name}": value for name, value in point.items()}
        cells["histograms"] = json.loads(row["histograms"])
        if row.get("retrieved"):
            cells["retrieved"] = json.loads(row["retrieved"])
    if row["phase"] == "tune":  # a trial is judged by its score alone; older ones looked at more
        beyond = ("/train/", "curve/0/", "/mean cosine")
        cells = {name: value for name, value in cells.items() if not any(part in name for part in beyond)}
    return cells


def _equal(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance
    return a == b
