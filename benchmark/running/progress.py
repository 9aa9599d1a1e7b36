"""One progress display for a whole sweep: done of total, failures, time left, best score so far per method; and a smaller
one for images that are computed or packed.

A bar on a terminal; elsewhere plain lines, at most one every few seconds, so that a log file stays readable,
and one at least every half minute, which says what is running.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from benchmark.planning.estimate import Estimate, in_words
from benchmark.results.store import Outcome
from benchmark.spec import RunSpec

EVERY = 5.0  # seconds between plain lines
SILENCE = 30.0  # seconds after which a line says what is running
SLOW = 10  # times the usual time of a run of its kind after which a run is pointed out, once
UNWORTHY = 30.0  # seconds below which it is not


class Progress:
    def __init__(self, stream: TextIO | None = None, estimate: Estimate | None = None) -> None:
        self.stream = stream or sys.stderr
        self.estimate = estimate or Estimate(())  # learns from every run that is finished
        self.bar = None
        self.total = self.done = self.failed = 0
        self.seconds_left: Callable[[], float | None] = lambda: None
        self.printed = 0.0
        self.best: dict[tuple[str, str], dict[str, float]] = {}  # (data set, protocol) → method → score
        self.now: tuple[str, str] = ("", "")
        self.running: dict[str, tuple[RunSpec, float]] = {}  # run_id → spec and start
        self.slow: set[str] = set()  # pointed out
        self.closed = threading.Event()

    def start(self, total: int, seconds_left: Callable[[], float | None]) -> None:
        self.total, self.seconds_left, self.printed = total, seconds_left, time.monotonic()
        if total and self.stream.isatty():
            from tqdm import tqdm

            shape = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"  # tqdm's own forecast knows no kinds
            self.bar = tqdm(total=total, file=self.stream, unit="run", dynamic_ncols=True, bar_format=shape)
        threading.Thread(target=self._watch, daemon=True).start()

    def expect(self, total: int) -> None:
        """Other than first thought: a range was extended, or another driver did some."""
        self.total = total
        if self.bar is not None and self.bar.total != total:
            self.bar.total = total
            self.bar.refresh()

    def launched(self, spec: RunSpec) -> None:
        self.running[spec.run_id] = (spec, time.monotonic())

    def landed(self, spec: RunSpec) -> None:
        """With a result or without."""
        self.running.pop(spec.run_id, None)

    def finished(self, spec: RunSpec, outcome: Outcome) -> None:
        self.estimate.add(outcome)
        self.done += 1
        self.failed += not outcome.finished
        self.now = (spec.dataset, spec.protocol)
        if outcome.status == "ok" and outcome.score is not None:
            scores = self.best.setdefault(self.now, {})
            scores[spec.method] = max(outcome.score, scores.get(spec.method, 0.0))
        if self.bar is not None:
            if time.monotonic() - self.printed >= 1 or self.done == self.total:
                self.printed = time.monotonic()
                self.bar.set_postfix_str(self._left() + self._state(methods=3), refresh=False)
            self.bar.update()
        elif time.monotonic() - self.printed >= EVERY or self.done == self.total:
            self.say(f"{self.done}/{self.total} runs, {self._left()}{self._state(methods=99)}")

    def _left(self) -> str:
        return "" if self.done == self.total else f"time left: {in_words(self.seconds_left())}, "

    def _state(self, methods: int) -> str:
        ranked = sorted(self.best.get(self.now, {}).items(), key=lambda item: -item[1])[:methods]
        scores = ", ".join(f"{method} {100 * score:.1f}" for method, score in ranked)
        failures = f"{self.failed} failed, " if self.failed else ""
        return f"{failures}best on {'/'.join(self.now)}: {scores or 'none yet'}"

    def _watch(self) -> None:
        """Says what is running when nothing was said for long, and which run takes unusually long."""
        while not self.closed.wait(min(1.0, SILENCE)):
            running = list(self.running.values())
            for spec, started in running:
                usual = self.estimate.of(spec)
                spent = time.monotonic() - started
                if usual and spent > max(SLOW * usual, UNWORTHY) and spec.run_id not in self.slow:
                    self.slow.add(spec.run_id)
                    limit = f"--time-limit {round(max(SLOW * usual, UNWORTHY))} would end such a run"
                    self.say(f"{_named(spec)} takes over {SLOW} times as long as its kind ({in_words(usual)}); {limit}")
            if self.bar is None and running and time.monotonic() - self.printed >= SILENCE:
                shown = "; ".join(f"{_named(s)} for {in_words(time.monotonic() - t)}" for s, t in running[:4])
                more = f" and {len(running) - 4} more" if len(running) > 4 else ""
                self.say(f"{self.done}/{self.total} runs, {self._left()}running: {shown}{more}")

    def say(self, text: str) -> None:
        self.printed = time.monotonic()
        if self.bar is not None:
            self.bar.write(text, file=self.stream)
        else:
            print(text, file=self.stream, flush=True)

    def close(self) -> None:
        self.closed.set()
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class Images:
    """How many images are done: `reach` says it."""

    def __init__(self, what: str, total: int, done: int = 0) -> None:
        self.what, self.total, self.first, self.done = what, total, done, done
        self.began = self.said = time.monotonic()

    def __enter__(self) -> "Images":
        from tqdm import tqdm

        named = {"desc": self.what, "unit": " images"}
        self.bar = tqdm(total=self.total, initial=self.first, disable=None, smoothing=0, **named)
        return self

    def reach(self, done: int) -> None:
        self.bar.update(done - self.done)
        self.done, now = done, time.monotonic()
        if self.bar.disable and now - self.said >= SILENCE:
            new = done - self.first
            left = in_words((now - self.began) / new * (self.total - done) if new else None)
            print(f"{self.what}: {done:,} of {self.total:,} images, time left: {left}", file=sys.stderr, flush=True)
            self.said = now

    def __exit__(self, *problem: object) -> None:
        self.bar.close()


def _named(spec: RunSpec) -> str:
    return f"{spec.method} on {spec.dataset} ({spec.phase} seed {spec.seed}, lr {spec.lr:g}, run {spec.run_id})"
