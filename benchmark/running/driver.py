"""A session of the runner: says what it will do, does it, keeps ledgers up to date, says what came of it.

`python -m benchmark run` is this with options read from the command line.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.datasets import at_hand
from benchmark.errors import UserError
from benchmark.planning import plan as planner
from benchmark.planning import tuning
from benchmark.planning.estimate import Estimate, in_words
from benchmark.planning.identity import EXECUTOR, Identity, seen, with_data
from benchmark.planning.plan import Family, Known, united
from benchmark.planning.study import Study
from benchmark.results import tuning_summary
from benchmark.results.store import Outcome, Store
from benchmark.running import provenance
from benchmark.running.pools import Pool, exposed, open_pool
from benchmark.running.preparation import checked, prepare, say
from benchmark.running.progress import Progress
from benchmark.running.scheduler import Scheduler, Shard
from benchmark.running.worker import Job, resolved


@dataclass(frozen=True)
class Options:
    data: Path = Path("data")
    backend: str = "loky"
    jobs: int | None = None
    scheduler: str | None = None  # the address of Dask's
    shard: str = "1/1"
    retry_failed: bool = False
    executor: str = EXECUTOR
    time_limit: float | None = None  # seconds for a run


class Session:
    def __init__(self, studies: list[Study], store: Store, options: Options) -> None:
        self.studies, self.store, self.options = studies, store, options
        self.shard = parse_shard(options.shard)
        if options.executor != EXECUTOR:
            resolved(options.executor)
        self.families: dict[str, list[Family]] = {}
        self.known: dict[int, Known] = {}  # by identity of the family
        self.pool: Pool | None = None
        self.scheduler: Scheduler | None = None

    def run(self) -> int:
        """0 if everything is done, 3 if some runs failed."""
        self.store.check_writable()
        outcomes = self.store.outcomes(repair=True)
        tuning.recall(self.store.results)
        fetch = self.options.backend != "dask"  # else the data may be where the workers are
        made_of = Identity(self.options.data, self.options.executor, seen(outcomes.values()), fetch)
        self.studies, absent = with_data(self.studies, made_of)
        if absent:
            say(f"not found below {self.options.data}, so left out: {', '.join(absent)} (python -m benchmark doctor)")
        if not self.studies:
            raise UserError(f"no photos were found below {str(self.options.data)!r}; name their folder with --data")
        self.families = {study.name: planner.families(study, made_of) for study in self.studies}
        if fetch:
            self._leave_out(outcomes)
        again = {i for i, outcome in outcomes.items() if self.options.retry_failed and not outcome.finished}
        stored = {i: outcome for i, outcome in outcomes.items() if i not in again}
        known = [family.known(stored) for family in self._all()]
        every, waiting = united(known)
        todo = [spec for i, spec in every.items() if i not in stored and self.shard.has(i)]
        ahead = [*todo, *(spec for one in known for spec in one.coming)]  # what is tuned changes no data
        if todo or waiting:
            here = fetch and self.options.executor == EXECUTOR  # the data are
            folder, data = self.store.results.absolute(), self.options.data.absolute()
            if here:
                for line in checked(self.studies, ahead, self.options.data):
                    say(line)
            self.pool = open_pool(self.options.backend, self.options.jobs, self.options.scheduler)
            estimate = Estimate(outcomes.values())
            seconds = estimate.total(todo, len(waiting), self.pool.slots())
            self._announce(len(todo), len(waiting), self.pool.slots(), seconds)
            if here:
                prepare(ahead, data, self.pool)
            commit, dirty = provenance.commit()
            crashes = folder / "crashes" if self.options.backend != "sequential" else None
            job = Job(data, folder / "checkpoints", self.options.executor, None, commit, dirty,
                      time_limit=self.options.time_limit, crashes=crashes)  # fmt: skip
            progress = Progress(estimate=estimate)
            self.scheduler = Scheduler(self.store, self.pool, job, progress, stored, again, self.shard, self._advanced)
            self.scheduler.run(self._all())
            outcomes = self.scheduler.outcomes
            self.stop(kill=False)
        else:
            for family in self._all():
                self._advanced(family, family.known(outcomes))
        tuning.remember(self.store.results)
        self._export(outcomes)
        self.store.gather()
        return self._report(outcomes)

    def stop(self, kill: bool = True) -> None:
        """Ends the workers; after an interruption at once, and what they were doing is done again later."""
        pool, self.pool = self.pool, None
        if pool is not None:
            pool.close(kill)

    def _leave_out(self, outcomes: dict[str, Outcome]) -> None:
        """At scale photos, studies whose data are not here and whose runs are not all stored: what is stored is drawn."""
        left = {}
        for study in (study for study in self.studies if study.scale == "photos"):
            found = self.families[study.name]
            finals = [spec for family in found for group in family.groups for _, spec in group.finals]
            names = {seen.dataset for spec in finals for seen in (spec, *spec.elsewhere())}
            absent = [name for name in sorted(names) if not at_hand(name, self.options.data)]
            every, waiting = united(family.known(outcomes) for family in found)
            if absent and (waiting or not every.keys() <= outcomes.keys()):
                left[study.name] = absent
        self.studies = [study for study in self.studies if study.name not in left]
        self.families = {study.name: self.families[study.name] for study in self.studies}
        if left:
            data = ", ".join(sorted({name for absent in left.values() for name in absent}))
            say(f"without {data} below {self.options.data}, no more than what is stored is shown of {', '.join(left)}")

    def _all(self) -> Iterator[Family]:
        return itertools.chain(*self.families.values())

    def _announce(self, todo: int, waiting: int, slots: int, seconds: float | None) -> None:
        names = ", ".join(study.name for study in self.studies)
        if len(self.studies) > 4:
            names = f"{len(self.studies)} studies"
        then = f", then {waiting} more once tuning has chosen" if waiting else ""
        at_a_time = f"{slots} at a time" if slots else "no worker yet"
        if self.options.backend == "dask" and exposed(self.options.scheduler or ""):
            say(
                f"warning: {self.options.scheduler} is neither on this machine nor encrypted: whoever reaches that "
                "scheduler can run code on its workers; keep it to a private network, or use tls:// (docs/CLUSTER.md)"
            )
        what = f"{names} at scale {self.studies[0].scale}: {todo} runs now{then}"
        say(f"{what}, {at_a_time}; time: {in_words(seconds)}")

    def _advanced(self, family: Family, known: Known) -> None:
        """Writes the ledger of a study when one of its families has moved on."""
        self.known[id(family)] = known
        name = family.groups[0].study.name
        found = self.families[name]
        if all(id(one) in self.known for one in found):
            rows = [task.ledger_row() for one in found for task in self.known[id(one)].tasks]
            waiting = {(spec.dataset, spec.method) for one in found for spec in self.known[id(one)].coming}
            self.store.write_ledger(name, family.groups[0].study.scale, rows, waiting)

    def _export(self, outcomes: dict[str, Outcome]) -> None:
        for study in self.studies:
            path = self.store.results / "optuna" / f"{study.name}-{study.scale}.log"
            if study.tuning and (self.scheduler is not None or not path.exists()):
                tuning_summary.export(path, self.store.ledger_rows(study.name, study.scale), outcomes)

    def _report(self, outcomes: dict[str, Outcome]) -> int:
        planned = {task.spec.run_id for known in self.known.values() for task in known.tasks}
        stored = [outcomes[run_id] for run_id in planned if run_id in outcomes]
        failed = sum(not outcome.finished for outcome in stored)
        diverged = sum(outcome.status == "diverged" for outcome in stored)
        did = len(self.scheduler.done) if self.scheduler else 0
        say(f"{did} runs done now, {len(planned)} in all, {diverged} diverged, {failed} failed")
        if self.scheduler and (elsewhere := self.scheduler.elsewhere()):
            say(f"{elsewhere} runs belong to other shards; type this again when they are done")
        made_on = {(outcome.kind[0], outcome.fingerprint) for outcome in stored if outcome.fingerprint}
        for name, versions in sorted(Counter(name for name, _ in made_on).items()):
            if versions > 1:
                say(f"warning: runs on {name} were made from {versions} versions of the data")
        for known in self.known.values():
            for method in known.blocked:
                say(f"{method}: every tuning trial failed, so it has no final runs")
        return 3 if failed else 0


def parse_shard(text: str) -> Shard:
    index, _, count = text.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise UserError(f"--shard {text!r} must read I/N, for instance 3/40 for the third of forty")
    return Shard(int(index) - 1, int(count))
