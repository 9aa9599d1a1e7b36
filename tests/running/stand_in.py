"""Stands in for `benchmark.training.run:run` where a test is about the runner: the same signature, no torch, a score at once.

    python -m benchmark run STUDY --executor stand_in:run        (with this folder on PYTHONPATH)

STAND_IN_LOG: file that every started run adds its run_id to. STAND_IN_SECONDS: how long a run takes.
STAND_IN_TROUBLE: JSON, run_id or method → raise | diverge | memory | kill | full | hang | spin | deaf | exit | end | crash
| behind (fails unless six runs are started beside it).
STAND_IN_GRACE: how long a run may still stop by itself after its time limit.
"""

import errno
import faulthandler
import hashlib
import json
import math
import os
import signal
import sys
import time
from pathlib import Path

from benchmark.running import process

process.GRACE = float(os.environ.get("STAND_IN_GRACE", process.GRACE))
BEST = {"contrastive": 1e-3, "triplet": 3e-3, "contextual": 2e-3, "proxy_anchor": 5e-3}


def run(spec, *, data, threads=1, device=None, checkpoint=None):
    if log := os.environ.get("STAND_IN_LOG"):
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{spec.run_id}\n".encode())
        os.close(descriptor)
    time.sleep(float(os.environ.get("STAND_IN_SECONDS", "0")))
    table = os.environ.get("STAND_IN_TROUBLE", "{}")
    trouble = json.loads(table if table.startswith("{") else Path(table).read_text())
    kind = trouble.get(spec.run_id, trouble.get(spec.method))
    if kind == "raise":
        raise RuntimeError("the loss fell over")
    if kind == "memory":
        raise MemoryError("no more")
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "deaf":  # as compiled code that never comes back
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    if kind in ("hang", "deaf"):
        time.sleep(1000)
    while kind == "spin":
        pass
    if kind == "exit":
        sys.exit(7)
    if kind == "end":
        os._exit(7)
    if kind == "crash":
        faulthandler._sigsegv()  # type: ignore[attr-defined]
    if kind == "behind":
        limit = time.monotonic() + 20
        while len(Path(os.environ["STAND_IN_LOG"]).read_text().split()) < 6:
            if time.monotonic() > limit:
                raise RuntimeError("the others waited for this run")
            time.sleep(0.05)
    if kind == "full":
        raise OSError(errno.ENOSPC, "No space left on device")
    if kind == "diverge":
        return {"status": "diverged", "error": "loss is NaN", "curve": [{"epoch": 1, "loss": math.nan}]}
    score = round(score_of(spec), 6)
    return {
        "status": "ok",
        "score": score,
        "best_epoch": spec.epochs,
        "metrics": {"test/R@1": score, "test/mAP": score / 2},
        "curve": [{"epoch": 1, "loss": 1.0, "test/R@1": score}],
        "histograms": {},
        "fingerprint": os.environ.get("STAND_IN_DATA", "stand-in"),
    }


def score_of(spec) -> float:
    """Falls off from a best learning rate of each method, with a little noise that depends on the spec only."""
    noise = int(hashlib.sha256(spec.canonical().encode()).hexdigest()[:4], 16) / 65535
    distance = abs(math.log10(spec.lr / BEST.get(spec.method, 1e-3)))
    return 0.8 - 0.1 * distance + 0.002 * noise


def slow(spec, **where):
    time.sleep(0.3)
    return run(spec, **where)
