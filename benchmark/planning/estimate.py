"""How long runs will take, from what runs of the same kind took: used by `plan` and at the start of `run`."""

from collections.abc import Collection, Iterable
from statistics import median

from benchmark.results.store import KIND, Outcome
from benchmark.spec import RunSpec

LATEST = 19  # runs that count with the newest one
Took = tuple[int, float, float]  # batches, seconds of training, and before it


class Estimate:
    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.seen: dict[tuple, list[Took]] = {}  # by kind, as nearly as it can be had
        self.latest: list[float] = []  # seconds of what was trained last, other than the outcomes given here
        for outcome in outcomes:
            self.add(outcome)
        self.latest = []

    def add(self, outcome: Outcome) -> None:
        if outcome.status == "ok":
            took = (outcome.batches, outcome.seconds - outcome.preparation, outcome.preparation)
            for kind in {key for keys in _near(outcome.kind, outcome.batches) for key in keys}:
                self.seen.setdefault(kind, []).append(took)
            if outcome.batches > 1:
                self.latest = [*self.latest[-LATEST:], outcome.seconds - outcome.preparation]

    def of(self, spec: RunSpec) -> float | None:
        """Seconds for a run, from those of its kind and length, else of its kind; None if nothing like it was ever run."""
        batches = spec.epochs * max(1, spec.batches_per_epoch)
        near = _near(tuple(getattr(spec, name) for name in KIND), batches)
        for usual in (_as_long, _by_batches):
            for keys in near:
                if times := [time for key in keys if (time := usual(self.seen.get(key, []), batches)) is not None]:
                    return max(times)
        return None

    def total(self, specs: Collection[RunSpec], waiting: int = 0, slots: int = 1) -> float | None:
        """Seconds for all of them and as many more as are `waiting`; None if that is unknown for most."""
        # Most runs of a plan differ in the seed only, so their times are looked up once per kind and length.
        alike = [(*(getattr(spec, name) for name in KIND), spec.epochs, spec.batches_per_epoch) for spec in specs]
        cached = {key: self.of(spec) for key, spec in dict(zip(alike, specs, strict=True)).items()}
        judged = [cached[key] for key in alike if key[-2:] == (1, 1)]  # the untrained rows
        trained = [cached[key] for key in alike if key[-2:] != (1, 1)]
        known = [time for time in trained if time is not None]
        if not alike and not waiting:
            return 0.0
        usual = known or self.latest
        if (
            2 * len(known) < len(trained)
            or ((trained or waiting) and not usual)
            or (judged and not (usual or any(judged)))
        ):
            return None
        of_training = sum(usual) / len(usual) * (len(trained) + waiting) if usual else 0.0  # what is tuned is trained
        return (of_training + sum(time or 0.0 for time in judged)) / max(1, slots)


def in_words(seconds: float | None) -> str:
    if seconds is None:
        return "unknown yet"
    if seconds < 90:
        return f"{max(1, round(seconds))} s" if seconds else "0 s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def _near(kind: tuple, batches: int) -> list[tuple[tuple, ...]]:
    """What may stand for a run: its own kind; the slower of its method in the other phase and of any method in its own, since
    final runs are judged at length and some losses are slow; any run on the data set; any on another part of it.

    For the untrained row, which is all judging, only its own.
    """
    if batches == 1:
        return [(kind,)]
    *what, phase, method = kind
    part = ("part of", what[0].partition("?")[0], *what[1:])
    return [(kind,), ((*what, "", method), (*what, phase, "")), (tuple(what),), (part,)]


def _as_long(found: list[Took], batches: int) -> float | None:
    """What runs of the same length took."""
    same = [seconds for length, seconds, _ in found if length == batches]
    return median(same) + _preparation(found) if same else None


def _by_batches(found: list[Took], batches: int) -> float | None:
    """What runs of any length took, by their length."""
    return median(s / length for length, s, _ in found) * batches + _preparation(found) if found else None


def _preparation(found: list[Took]) -> float:
    """The first run of a kind draws the data and computes the features, and workers beside it wait for that."""
    return min(before for _, _, before in found) if len(found) > 1 else 0.0
