"""How long runs will take, from what runs of the same kind took: used by `plan` and at the start of `run`."""

from collections.abc import Collection, Iterable
from statistics import median

from benchmark.results.store import KIND, Outcome
from benchmark.spec import RunSpec


class Estimate:
    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.seconds: dict[tuple, list[float]] = {}  # of runs of the same kind and length, and coarser
        self.pace: dict[tuple, list[float]] = {}  # seconds for a batch
        self.preparations: dict[tuple, list[float]] = {}  # seconds before training
        for outcome in outcomes:
            self.add(outcome)

    def add(self, outcome: Outcome) -> None:
        if outcome.status == "ok":
            for kind in (outcome.kind, outcome.kind[:-1]):  # with and without the method
                training = outcome.seconds - outcome.preparation
                self.seconds.setdefault((kind, outcome.batches), []).append(training)
                self.pace.setdefault(kind, []).append(training / outcome.batches)
                self.preparations.setdefault(kind, []).append(outcome.preparation)

    def of(self, spec: RunSpec) -> float | None:
        """Seconds for a run, None if nothing like it was ever run."""
        kind = tuple(getattr(spec, name) for name in KIND)
        batches = spec.epochs * max(1, spec.batches_per_epoch)
        for near in (kind, kind[:-1]):
            if (near, batches) in self.seconds:
                return median(self.seconds[near, batches]) + self._preparation(near)
        for near in (kind, kind[:-1]):
            if near in self.pace:
                return median(self.pace[near]) * batches + self._preparation(near)
        return None

    def _preparation(self, kind: tuple) -> float:
        """The first run of a kind draws the data and computes the features, and workers beside it wait for that."""
        found = self.preparations[kind]
        return min(found) if len(found) > 1 else 0.0

    def total(self, specs: Collection[RunSpec], waiting: int = 0, slots: int = 1) -> float | None:
        """Seconds for all of them and as many more as are `waiting`; None if that is unknown for most."""
        # Most runs of a plan differ in the seed only, so their times are looked up once per kind and length.
        alike = [(*(getattr(spec, name) for name in KIND), spec.epochs, spec.batches_per_epoch) for spec in specs]
        cached = {key: self.of(spec) for key, spec in dict(zip(alike, specs, strict=True)).items()}
        known = [time for key in alike if (time := cached[key]) is not None]
        if not alike and not waiting:
            return 0.0
        if 2 * len(known) < len(alike) or not known:
            return None
        return sum(known) / len(known) * (len(alike) + waiting) / max(1, slots)


def in_words(seconds: float | None) -> str:
    if seconds is None:
        return "unknown yet"
    if seconds < 90:
        return f"{max(1, round(seconds))} s" if seconds else "0 s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
