"""Prints what studies expand to: runs in all, done, failed, to do, and how long that takes; runs nothing.

python -m benchmark plan main --scale laptop
python -m benchmark plan all --json
"""

import argparse
import json

from benchmark.commands import _options
from benchmark.errors import UserError
from benchmark.planning import plan as planner
from benchmark.planning import tuning
from benchmark.planning.estimate import Estimate, in_words
from benchmark.planning.plan import Family, Known
from benchmark.planning.study import Study
from benchmark.results.store import Outcome


def configure(parser: argparse.ArgumentParser) -> None:
    _options.configure(parser)
    jobs = "workers to estimate the time for (default: 1)"
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help=jobs)
    parser.add_argument("--json", action="store_true", help="every run with its role, one JSON object a line")


def execute(args: argparse.Namespace) -> int:
    if args.jobs < 1:
        raise UserError(f"--jobs {args.jobs} must be 1 or more")
    store = _options.store(args)
    outcomes = store.outcomes()
    studies, identity = _options.with_identity(args, outcomes)
    tuning.recall(tuning.memory(store.results))
    if args.json:
        for study in studies:
            for family in planner.families(study, identity):
                for task in family.known(outcomes).tasks:
                    outcome = outcomes.get(task.spec.run_id)
                    print(json.dumps({**task.ledger_row(), "status": outcome.status if outcome else "missing"}))
        return 0
    estimate, all_known = Estimate(outcomes.values()), []
    for study in studies:
        families = planner.families(study, identity)
        known = [family.known(outcomes) for family in families]
        all_known += known
        print("\n".join(summary(study, families, known, outcomes, estimate, args.jobs)))
    if len(studies) > 1:  # studies share runs
        every, waiting = planner.united(all_known)
        missing = [spec for run_id, spec in every.items() if run_id not in outcomes]
        seconds = in_words(estimate.total(missing, len(waiting), args.jobs))
        total, to_do = len(every) + len(waiting), len(missing) + len(waiting)
        print(f"together {total} different runs, {to_do} to do; time: {seconds}")
    tuning.remember(tuning.memory(store.results))
    return 0


def summary(
    study: Study,
    families: list[Family],
    known: list[Known],
    outcomes: dict[str, Outcome],
    estimate: Estimate,
    jobs: int,
) -> list[str]:
    """A study in a few lines."""
    specs, follow = planner.united(known)
    waiting = len(follow)
    stored = [outcomes[run_id] for run_id in specs if run_id in outcomes]
    failed = sum(not outcome.finished for outcome in stored)
    missing = [spec for run_id, spec in specs.items() if run_id not in outcomes]
    seconds = estimate.total(missing, waiting, jobs)
    lines = [
        f"{study.name} at scale {study.scale}: {study.title}",
        f"  {len(study.methods)} methods × {len(study.datasets)} data sets × {len(study.protocols)} protocols"
        f" × {study.seeds} seeds" + "".join(f" × {len(values)} {key}" for key, values in study.vary.items()),
    ]
    if study.tuning:
        low, high = study.tuning.lr
        trials = f"{study.tuning.trials} trials a method ({study.tuning.sampler})"
        given = f"{trials}, lr {low:g} … {high:g}, {study.tuning.seeds} seed a trial"
        lines.append(f"  tuning: {given}{_beyond(families)}")
    later = f" ({waiting} of them once tuning has chosen)" if waiting else ""
    done = f"{len(stored) - failed} done, {failed} failed, {len(missing) + waiting} to do{later}"
    lines.append(f"  {len(specs) + waiting} runs: {done}")
    lines.append(f"  time with {jobs} worker{'s' * (jobs > 1)}: {in_words(seconds)}")
    return lines


def _beyond(families: list[Family]) -> str:
    searches = {g.method: g.search.extra for family in families for g in family.groups if g.search and g.search.extra}
    if not searches:
        return ""
    shown = "; ".join(f"{method} also {', '.join(extra)}" for method, extra in searches.items())
    return f"; out of the same trials, {shown}"
