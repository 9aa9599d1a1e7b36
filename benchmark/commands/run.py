"""Runs what studies still lack: tunes every method alike, trains the final runs, stores each result at once.

    python -m benchmark run main                              on all cores (or graphics cards) of this machine
    python -m benchmark run main --scale paper --data DIR     the paper's data sets
    python -m benchmark run all --backend dask --scheduler tcp://HOST:8786
    python -m benchmark run main --shard 3/40                 the third of 40 jobs that share a results folder

Type the same command again to go on after a stop. Runs that diverged count as done: they would diverge
again. Runs that failed (error, out_of_memory, timeout) are kept with their traceback and left alone until
--retry-failed.
"""

import argparse
import os
import re
import shlex
import signal
import sys
from dataclasses import fields

from benchmark.commands import _options
from benchmark.errors import FULL
from benchmark.running.process import THREAD_LIMITS


def configure(parser: argparse.ArgumentParser) -> None:
    _options.configure(parser)
    jobs = "runs at a time (default: one per graphics card, or core)"
    parser.add_argument("--jobs", type=int, metavar="N", help=jobs)
    parser.add_argument("--backend", default="loky", choices=("loky", "dask", "sequential"), help="default: loky")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster: tcp://HOST:8786")
    parser.add_argument("--shard", metavar="I/N", default="1/1", help="only this share of the runs")
    parser.add_argument("--time-limit", type=_seconds, metavar="TIME", help="for a run: 90, 15m or 2h (default: none)")
    parser.add_argument("--retry-failed", action="store_true", help="also do runs again that failed")


def execute(args: argparse.Namespace) -> int:
    os.environ.update(THREAD_LIMITS)  # before numpy is loaded: numbers must not depend on the number of cores
    from benchmark.running.driver import Options, Session

    options = Options(**{field.name: getattr(args, field.name) for field in fields(Options)})
    session = Session(_options.load(args), _options.store(args), options)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a job scheduler's stop is as clean as Ctrl-C
    try:
        code = session.run()
        if code:
            print(f"why: {_options.command(args, 'status')}", file=sys.stderr)
            print(f"once more: {_typed('--retry-failed')}", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        print(f"\nstopped; finished runs are stored. To go on:\n  {_typed()}", file=sys.stderr)
        return 130
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        full = f"error: no room left for results in {args.results} ({problem.strerror}); stored runs are whole."
        print(f"{full} Make room, then go on:\n  {_typed()}", file=sys.stderr)
        return 4
    finally:
        session.stop()


def _typed(*more: str) -> str:
    """The command that this is, and more."""
    words = ["python", "-m", "benchmark", *sys.argv[1:]]
    return shlex.join([*words, *(word for word in more if word not in words)])


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|)", text.strip())
    if found is None or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be seconds, or a number with m or h: 90, 15m, 2h")
    return float(found[1]) * {"h": 3600, "m": 60}.get(found[2], 1)
