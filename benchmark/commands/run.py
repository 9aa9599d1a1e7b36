"""Runs what studies still lack: tunes every method alike, trains the final runs, stores each result at once.

    python -m benchmark run main                              on all cores (or graphics cards) of this machine
    python -m benchmark run main --scale paper --data DIR     the paper's data sets
    python -m benchmark run all --backend dask --scheduler tcp://HOST:8786
    python -m benchmark run main --shard 3/40                 the third of 40 jobs that share a results folder

Type the same command again to go on after a stop. Runs that diverged count as done: they would diverge
again. Runs that failed (error, out_of_memory) are kept with their traceback and left alone until
--retry-failed.
"""

import argparse
import errno
import os
import shlex
import signal
import sys

from benchmark.commands import _options as _selection
from benchmark.planning.identity import EXECUTOR
from benchmark.running.worker import THREAD_LIMITS


def configure(parser: argparse.ArgumentParser) -> None:
    _selection.configure(parser)
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="runs at a time (default: one per graphics card, or core)"
    )
    parser.add_argument(
        "--backend", default="loky", choices=("loky", "dask", "sequential"), help="default: loky"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster: tcp://HOST:8786")
    parser.add_argument("--shard", metavar="I/N", default="1/1", help="only this share of the runs")
    parser.add_argument("--retry-failed", action="store_true", help="also do runs again that failed")
    parser.add_argument(
        "--executor",
        metavar="MODULE:FUNCTION",
        default=EXECUTOR,
        help=f"what does a run (default: {EXECUTOR})",
    )


def execute(args: argparse.Namespace) -> int:
    os.environ.update(THREAD_LIMITS)  # before numpy is loaded: numbers must not depend on the number of cores
    from benchmark.running.driver import Options, Session

    options = Options(
        data=args.data,
        backend=args.backend,
        jobs=args.jobs,
        scheduler=args.scheduler,
        shard=args.shard,
        retry_failed=args.retry_failed,
        executor=args.executor,
    )
    session = Session(_selection.load(args), _selection.store(args), options)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a job scheduler's stop is as clean as Ctrl-C
    try:
        return session.run()
    except KeyboardInterrupt:
        print(f"\nstopped; finished runs are stored. To go on:\n  {_command()}", file=sys.stderr)
        return 130
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(
            f"error: no room left for results in {args.results} ({problem.strerror}); stored runs are whole."
            f" Make room, then go on:\n  {_command()}",
            file=sys.stderr,
        )
        return 4
    finally:
        session.stop()


def _command() -> str:
    return shlex.join(["python", "-m", "benchmark", *sys.argv[1:]])
