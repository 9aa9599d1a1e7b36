"""Prints what studies expand to: runs in all, done, failed, to do, and how long that takes; runs nothing.

python -m benchmark plan main --scale laptop
python -m benchmark plan all --json
"""

import argparse
import json
from collections.abc import Iterator

from benchmark.commands import _options
from benchmark.errors import UserError
from benchmark.planning import plan as planner
from benchmark.planning import tuning
from benchmark.planning.estimate import Estimate, in_words
from benchmark.planning.plan import Family, Known
from benchmark.planning.study import Study
from benchmark.results.store import Outcome
from benchmark.spec import RunSpec


def configure(parser: argparse.ArgumentParser) -> None:
    _options.configure(parser)
    jobs = "workers to estimate the time for (default: 1)"
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help=jobs)
    parser.add_argument("--json", action="store_true", help="every run with its role, one JSON object a line")


def execute(args: argparse.Namespace) -> int:
    if args.jobs < 1:
        raise UserError(f"--jobs {args.jobs} must be 1 or more")
    outcomes = _options.store(args).outcomes()
    if args.json:
        for _, _, known in _options.planned(args, outcomes):
            for task in (task for one in known for task in one.tasks):
                outcome = outcomes.get(task.spec.run_id)
                print(json.dumps({**task.ledger_row(), "status": outcome.status if outcome else "missing"}))
        return 0
    estimate, all_known, studies = Estimate(outcomes.values()), [], 0
    for study, families, known in _options.planned(args, outcomes):
        all_known += known
        studies += 1
        specs, to_do, waiting, time = _left(known, outcomes, estimate, args.jobs)
        failed = sum(not outcomes[run_id].finished for run_id in specs if run_id in outcomes)
        done = len(specs) + waiting - to_do - failed
        later = f" ({waiting} of them once tuning has chosen)" if waiting else ""
        print("\n".join(_about(study, families)))
        print(f"  {len(specs) + waiting} runs: {done} done, {failed} failed, {to_do} to do{later}")
        print(f"  time with {args.jobs} worker{'s' * (args.jobs > 1)}: {time}")
    if studies > 1:  # they share runs
        specs, to_do, waiting, time = _left(all_known, outcomes, estimate, args.jobs)
        print(f"together {len(specs) + waiting} different runs, {to_do} to do; time: {time}")
    tuning.remember(args.results)
    return 0


def _left(
    known: list[Known], outcomes: dict[str, Outcome], estimate: Estimate, jobs: int
) -> tuple[dict[str, RunSpec], int, int, str]:
    """The runs that are known, how many are to do, how many of those wait for tuning, and how long it takes."""
    specs, waiting = planner.united(known)
    missing = [spec for run_id, spec in specs.items() if run_id not in outcomes]
    seconds = estimate.total(missing, len(waiting), jobs)
    return specs, len(missing) + len(waiting), len(waiting), in_words(seconds)


def _about(study: Study, families: list[Family]) -> Iterator[str]:
    """What a study compares, and what is tuned for it."""
    yield f"{study.name} at scale {study.scale}: {study.title}"
    sizes = {"methods": study.methods, "data sets": study.datasets, "protocols": study.protocols}
    varied = "".join(f" × {len(values)} {key}" for key, values in study.vary.items())
    compared = " × ".join(f"{len(values)} {name}" for name, values in sizes.items())
    yield f"  {compared} × {study.seeds} seeds{varied}"
    if study.tuning:
        low, high = study.tuning.lr
        trials = f"{study.tuning.trials} trials a method ({study.tuning.sampler})"
        given = f"{trials}, lr {low:g} … {high:g}, {study.tuning.seeds} seed a trial"
        tuned = {g.method: g.search.extra for family in families for g in family.groups if g.search and g.search.extra}
        beyond = "; ".join(f"{method} also {', '.join(extra)}" for method, extra in tuned.items())
        yield f"  tuning: {given}" + (f"; out of the same trials, {beyond}" if beyond else "")
