"""The worker's side of a run: one spec in, one whole row out, whatever happens in between.

`scheduler.py` sends `work` to a process of this machine or of a cluster. A run that raises becomes a row with
its traceback; only a full disk is passed on, because no other run could be stored either.
"""

import importlib
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmark.errors import FULL, UserError
from benchmark.planning.identity import EXECUTOR, code_of
from benchmark.running import process, provenance
from benchmark.spec import FIELDS, RunSpec

PLAIN = (  # what a result may say as it is stored
    "score", "best_epoch", "looks", "preparation", "step_seconds", "loss_parameters", "device", "precision_used",
    "deterministic",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """How to run, as opposed to what: nothing here changes a number."""

    data: Path
    checkpoints: Path | None
    executor: str = EXECUTOR  # module:function with the signature of benchmark.training.run.run
    device: str | None = None
    commit: str = ""
    dirty: bool = False
    same_code: bool = True  # refuse a run whose method is not, here and now, what it was planned with
    time_limit: float | None = None  # seconds that a run may take
    crashes: Path | None = None  # where a run that ends its process leaves a trace; None: it is the driver's

    def trace(self, spec: RunSpec) -> Path | None:
        return self.crashes / f"{spec.run_id}.txt" if self.crashes else None

    def late(self) -> str:
        return f"not finished after {self.time_limit:g} s, the --time-limit"


def work(spec: RunSpec, job: Job) -> dict[str, Any]:
    """The row of a run."""
    process.keep_memory()
    run = resolved(job.executor)  # loads torch, which should not count as time of the first run
    process.reset_peak()
    started = time.perf_counter()
    try:
        if job.same_code and spec.code and spec.code != (now := code_of(spec.method, spec.params, job.executor)):
            raise UserError(
                f"the code of {spec.method!r} is {now} here and was {spec.code} when the run was planned: an edit "
                "meanwhile, or a worker with another version of the project; type the same command again"
            )
        checkpoint = job.checkpoints / f"{spec.run_id}.pt" if job.checkpoints else None
        with process.watched(job.time_limit, job.trace(spec)):
            result = run(spec, data=job.data, threads=1, device=job.device, checkpoint=checkpoint)
    except process.TimeLimit:
        result = failure("timeout", f"{traceback.format_exc()}{job.late()}")
    except SystemExit as problem:
        result = failure("error", f"{traceback.format_exc()}the run called sys.exit({problem.code!r})")
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno in FULL:
            raise
        result = failure(status_of(problem), traceback.format_exc())
        if isinstance(problem, UserError):  # it says all there is to say
            result["error"] = str(problem)
    seconds = time.perf_counter() - started
    return row(spec, result, job) | {"seconds": seconds, "peak_memory_mb": process.peak_mb()}


def failure(status: str, error: str) -> dict[str, Any]:
    return {"status": status, "error": error}


def row(spec: RunSpec, result: dict[str, Any], job: Job) -> dict[str, Any]:
    """A row of the `run` schema from the result of a run."""
    versions = provenance.versions()
    if job.executor != EXECUTOR:
        versions = versions | {"executor": job.executor}
    about = {
        "run_id": spec.run_id,
        "spec": spec.canonical(),
        "status": result["status"],
        "metrics": list((result.get("metrics") or {}).items()),
        "curve": json.dumps(result.get("curve") or []),
        "histograms": json.dumps(result.get("histograms") or {}),
        "retrieved": json.dumps(result.get("retrieved") or {}, separators=(",", ":")),
        "error": result.get("error") or "",
        "fingerprint": result.get("fingerprint") or "",
        "seconds": 0.0,
        "peak_memory_mb": 0.0,
        "versions": json.dumps(versions, sort_keys=True),
        "commit": job.commit,
        "dirty": job.dirty,
        "cpu": provenance.cpu(),
        "gpu": provenance.gpu(job.device),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    fields = {name: result.get(name) for name in PLAIN} | {name: getattr(spec, name) for name in FIELDS}
    return about | fields | {"params": json.dumps(dict(spec.params), sort_keys=True, separators=(",", ":"))}


def resolved(executor: str) -> Callable[..., dict[str, Any]]:
    module, colon, name = executor.partition(":")
    try:
        if not colon:
            raise ImportError("no colon")
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as problem:
        raise UserError(f"executor {executor!r} must be an importable module:function ({problem})") from problem


def status_of(problem: BaseException) -> str:
    words = f"{type(problem).__name__}: {problem}".lower()
    memory = isinstance(problem, MemoryError) or "out of memory" in words or "can't allocate memory" in words
    return "out_of_memory" if memory or "outofmemory" in words else "error"
