"""What a user would lose to one run that hangs or ends its process: the night, or the reason."""

import io
import json
import shlex
import subprocess
import sys
import time

import pytest
from desk import Desk, wait_until
from PIL import Image
from test_clusters import Cluster
from test_failures import FLAT, ids

from benchmark.planning.estimate import Estimate
from benchmark.results.store import outcome_of
from benchmark.running import progress
from benchmark.running.pools import exposed
from benchmark.running.worker import Job, row
from benchmark.spec import RunSpec

TROUBLES = {  # kind → status, and what the last line of the reason says
    "hang": ("timeout", "not finished after 2 s"),
    "spin": ("timeout", "not finished after 2 s"),
    "deaf": ("timeout", "not finished after 2 s"),
    "exit": ("error", "the run called sys.exit(7)"),
    "end": ("error", "EXIT(7)"),
    "crash": ("error", "compiled code crashed"),
}


@pytest.mark.parametrize("backend", ["loky", "sequential"])
def test_runs_that_hang_or_end_their_process_become_rows_that_help_and_the_others_are_done(desk: Desk, backend: str):
    desk.write(FLAT)
    runs = ids(desk)
    kinds = TROUBLES if backend == "loky" else ("hang", "spin", "exit")  # the others would take the driver along
    victims = dict(zip((run_id for (method, *_), run_id in runs.items() if method != "untrained"), kinds, strict=False))
    desk.environment |= {"STAND_IN_TROUBLE": json.dumps(victims), "STAND_IN_GRACE": "0.5"}
    done = desk.run("--time-limit", "2s", "--backend", backend, "--jobs", "2")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    frame = desk.store.frame().set_index("run_id")
    assert set(frame.index) == set(runs.values())
    assert set(frame.drop(list(victims))["status"]) == {"ok"}, "the others are done"
    assert not list((desk.results / "claims").iterdir())
    for run_id, kind in victims.items():
        status, reason = TROUBLES[kind]
        *trace, last = frame.loc[run_id, "error"].splitlines()
        assert (frame.loc[run_id, "status"], reason in last) == (status, True), (kind, last)
        assert kind == "end" or "stand_in.py" in "".join(trace), f"{kind}: it says where it was"


def test_a_run_that_hangs_in_a_cluster_becomes_a_row_too(desk: Desk):
    pytest.importorskip("distributed")
    desk.environment["STAND_IN_TROUBLE"] = str(desk.folder / "trouble.json")  # workers are started before it is known
    (desk.folder / "trouble.json").write_text("{}")
    cluster = Cluster(desk)
    try:
        cluster.wait()
        desk.write(FLAT)
        victim = ids(desk)["triplet", "test", 0]
        (desk.folder / "trouble.json").write_text(json.dumps({victim: "spin"}))
        address = ("--backend", "dask", "--scheduler", cluster.address)
        assert desk.run(*address, "--time-limit", "2").returncode == 3
    finally:
        cluster.close()
    states = desk.store.frame().set_index("run_id")["status"]
    assert states[victim] == "timeout"
    assert set(states.drop(victim)) == {"ok"}


def test_what_is_printed_as_the_next_command_can_be_typed_as_it_stands(desk: Desk):
    desk.write(FLAT)
    rows = [f"{i}.png,{i // 2}" for i in range(8)]
    (desk.folder / "my birds.csv").write_text("\n".join(["path,label", *rows]))
    for i in range(8):
        Image.new("RGB", (8, 8), (30 * i, 0, 0)).save(desk.folder / f"{i}.png")
    desk.environment["STAND_IN_TROUBLE"] = json.dumps({"triplet": "raise"})
    failed = desk.run(
        "--datasets", "./my birds.csv", "--results", "my results", "--set", "seeds=1", "--data", "my data"
    )
    assert failed.returncode == 3, failed.stderr
    told = dict(line.split(": ", 1) for line in failed.stderr.splitlines() if ": python -m" in line)
    assert set(told) == {"why", "once more"}

    def typed(command: str) -> subprocess.CompletedProcess:
        words = [sys.executable, *shlex.split(command)[1:]]
        return subprocess.run(words, cwd=desk.folder, env=desk.environ(), capture_output=True, text=True)

    why = typed(told["why"])
    assert why.returncode == 3
    assert "the loss fell over" in why.stdout
    told |= dict(line.split(": ", 1) for line in why.stdout.splitlines() if ": python -m" in line)
    assert "Traceback" in typed(told["more"]).stdout
    again = failed.stderr.rpartition("once more: ")[2].splitlines()[0]
    assert typed(again).returncode == 3, "nothing has changed"
    del desk.environment["STAND_IN_TROUBLE"]
    assert typed(f"{told['once more']} --backend sequential").returncode == 0
    assert typed(told["why"]).returncode == 0


def test_without_a_terminal_a_line_says_what_is_running(desk: Desk):
    desk.write(FLAT)
    desk.environment["STAND_IN_SECONDS"] = "3"
    code = (
        "import sys; from benchmark.running import progress; progress.SILENCE = 0.5\n"
        "from benchmark.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = desk.arguments("--methods", "untrained", "--set", "seeds=1", "--backend", "sequential")
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=desk.folder, env=desk.environ(), stderr=subprocess.PIPE, text=True
    )
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert "0/2 runs, time left: unknown yet, running: untrained on glyphs (final seed 0, lr 0.001" in told


def finished(spec: RunSpec, seconds: float):
    job = Job(data=None, checkpoints=None)  # type: ignore[arg-type]
    return outcome_of(row(spec, {"status": "ok"}, job) | {"seconds": seconds})


def test_a_run_that_takes_ten_times_as_long_as_its_kind_is_pointed_out_once(monkeypatch):
    monkeypatch.setattr(progress, "UNWORTHY", 0.2)
    stream, spec = io.StringIO(), RunSpec(dataset="glyphs")
    shown = progress.Progress(stream, Estimate([finished(spec, 0.03), finished(spec, 0.04), finished(spec, 0.05)]))
    shown.start(1, lambda: None)
    shown.launched(spec)
    try:
        wait_until(lambda: "--time-limit" in stream.getvalue(), 10)
        time.sleep(1.5)
    finally:
        shown.close()
    assert stream.getvalue().count(spec.run_id) == 1
    assert "over 10 times as long as its kind" in stream.getvalue()


@pytest.mark.parametrize(
    ("address", "open_to_all"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("tcp://localhost:8786", False),
        ("tls://10.0.0.5:8786", False),
        ("tcp://10.0.0.5:8786", True),
        ("dask-scheduler:8786", True),
        ("tcp://[::1]:8786", False),
    ],
)
def test_a_scheduler_that_strangers_may_reach_is_known(address: str, open_to_all: bool):
    assert exposed(address) is open_to_all
