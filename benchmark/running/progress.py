"""One progress display for a whole sweep: done of total, failures, time left, best score so far per method.

A bar on a terminal; elsewhere plain lines, at most one every few seconds, so that a log file stays
readable.
"""

import sys
import time
from typing import TextIO

from benchmark.planning.estimate import in_words
from benchmark.results.store import Outcome
from benchmark.spec import RunSpec

EVERY = 5.0  # seconds between plain lines


class Progress:
    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.bar = None
        self.total = self.done = self.failed = 0
        self.started = time.monotonic()
        self.printed = 0.0
        self.best: dict[tuple[str, str], dict[str, float]] = {}  # (data set, protocol) → method → score
        self.now: tuple[str, str] = ("", "")

    def start(self, total: int) -> None:
        self.total, self.started = total, time.monotonic()
        if total and self.stream.isatty():
            from tqdm import tqdm

            self.bar = tqdm(total=total, file=self.stream, unit="run", dynamic_ncols=True, smoothing=0.05)

    def expect(self, total: int) -> None:
        """Other than first thought: a range was extended, or another driver did some."""
        self.total = total
        if self.bar is not None and self.bar.total != total:
            self.bar.total = total
            self.bar.refresh()

    def finished(self, spec: RunSpec, outcome: Outcome) -> None:
        self.done += 1
        self.failed += not outcome.finished
        self.now = (spec.dataset, spec.protocol)
        if outcome.status == "ok" and outcome.score is not None:
            scores = self.best.setdefault(self.now, {})
            scores[spec.method] = max(outcome.score, scores.get(spec.method, 0.0))
        if self.bar is not None:
            self.bar.set_postfix_str(self._state(methods=3), refresh=False)
            self.bar.update()
        elif time.monotonic() - self.printed >= EVERY or self.done == self.total:
            self.say(self.line())

    def line(self) -> str:
        spent = time.monotonic() - self.started
        left = spent / self.done * (self.total - self.done) if self.done else None
        time_left = "" if self.done == self.total else f"{in_words(left)} left, "
        return f"{self.done}/{self.total} runs, {time_left}{self._state(methods=99)}"

    def _state(self, methods: int) -> str:
        ranked = sorted(self.best.get(self.now, {}).items(), key=lambda item: -item[1])[:methods]
        scores = ", ".join(f"{method} {100 * score:.1f}" for method, score in ranked)
        failures = f"{self.failed} failed, " if self.failed else ""
        return f"{failures}best on {'/'.join(self.now)}: {scores or 'none yet'}"

    def say(self, text: str) -> None:
        self.printed = time.monotonic()
        if self.bar is not None:
            self.bar.write(text, file=self.stream)
        else:
            print(text, file=self.stream, flush=True)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None
