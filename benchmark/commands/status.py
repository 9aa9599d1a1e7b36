"""Shows, per study and method, what is done, what failed and why, what is missing, and what it took; runs nothing.

python -m benchmark status main
python -m benchmark status all --scale laptop
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator

from benchmark.commands import _options
from benchmark.planning.estimate import in_words
from benchmark.planning.plan import united
from benchmark.planning.study import Study
from benchmark.results.store import Outcome, Store
from benchmark.spec import RunSpec, base_id


def configure(parser: argparse.ArgumentParser) -> None:
    _options.configure(parser)
    parser.add_argument("--tracebacks", action="store_true", help="all that failed runs said, not only the end")


def execute(args: argparse.Namespace) -> int:
    """3 if a run failed, as for `run`."""
    store = _options.store(args)
    outcomes, specs = store.outcomes(), store.specs()
    failed, studies = False, 0
    done: dict[str, Outcome] = {}  # of all studies together, which share runs
    for study, _, known in _options.planned(args, outcomes):
        planned, waiting = united(known)
        here = {run_id: outcomes[run_id] for run_id in planned if run_id in outcomes}
        failed |= _print(study, planned, len(waiting), store, outcomes, specs, args.tracebacks)
        print(f"  {_took(here)}")
        studies += 1
        done |= here
    if studies > 1:
        print(f"together {_took(done)}")
    if failed:
        print(f"more: {_options.command(args, 'status', '--tracebacks')}")
        print(f"once more: {_options.command(args, 'run', '--retry-failed')}")
    return 3 if failed else 0


def _took(done: dict[str, Outcome]) -> str:
    """How many runs, and how long one worker was at them; features and packing, made once for all, are not in it."""
    if not done:
        return "nothing is done yet"
    return f"{len(done)} runs, which took {in_words(sum(one.seconds for one in done.values()))} of one worker"


def _print(
    study: Study, planned: dict[str, RunSpec], waiting: int,
    store: Store, outcomes: dict[str, Outcome], specs: dict[str, str], all_: bool,
) -> bool:  # fmt: skip
    """Whether some run failed; of those, `all_` that they said."""
    states: dict[str, dict[str, str]] = {method: {} for method in study.methods}
    for run_id, spec in planned.items():
        states[spec.method][run_id] = outcomes[run_id].status if run_id in outcomes else "missing"
    width = max(map(len, states))
    more = f"; {waiting} more runs follow from tuning" if waiting else ""
    print(f"{study.name} at scale {study.scale}{more}")
    print(f"  {'method':{width}}  {'done':>5}  {'diverged':>8}  {'failed':>6}  {'missing':>7}")
    failed: list[str] = []
    for method, runs in states.items():
        count = Counter(runs.values())
        broken = [run_id for run_id, status in runs.items() if status not in ("ok", "diverged", "missing")]
        failed += broken
        counts = f"{count['ok']:>5}  {count['diverged']:>8}  {len(broken):>6}  {count['missing']:>7}"
        print(f"  {method:{width}}  {counts}")
    for method, others, why in _others(planned, specs):
        print(f"  {method}: {others} more runs of {why}; kept, and not counted with these")
    for run_id, row in store.rows(failed).items():
        lines = (row["error"] or row["status"]).strip().splitlines()
        print(f"  {row['method']} {run_id}: {row['status']}: {lines[-1]}")
        if all_ and len(lines) > 1:
            print("\n".join(f"    {line}" for line in lines))
    return bool(failed)


def _others(planned: dict[str, RunSpec], specs: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    """Stored runs of the same specs by other code or on other data: method, how many, and what they are of."""
    asked = {spec.base_id: spec for spec in planned.values()}
    counts: Counter[tuple[str, str]] = Counter()
    for run_id, text in specs.items():
        if run_id in planned or (spec := asked.get(base_id(text))) is None:
            continue
        code = json.loads(text).get("code", "")
        why = "code that was not recorded" if not code else "other code" if code != spec.code else "other data"
        counts[spec.method, why] += 1
    for (method, why), count in sorted(counts.items()):
        yield method, count, why
