"""What a user would lose if a sweep were interrupted: nothing but the runs in flight."""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from desk import RUNS, Desk, wait_until


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(word) for word in found.split()]


def workers(pid: int) -> list[int]:
    """Worker processes of a driver: its children that work on runs, not loky's book-keeping."""
    found = []
    for child in children(pid):
        command = Path(f"/proc/{child}/cmdline")
        if command.exists() and "popen_loky" in command.read_text():
            found.append(child)
    return found


def gone(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().split(")")[-1].split()[0] == "Z"


def test_a_killed_driver_loses_only_runs_in_flight(desk: Desk, undisturbed: Desk):
    desk.environment["STAND_IN_SECONDS"] = "0.05"
    driver = desk.start()
    moment = random.Random(os.urandom(8)).randrange(2, RUNS - 4)
    wait_until(lambda: len(desk.stored()) >= moment)
    helpers = workers(driver.pid)
    assert helpers
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    wait_until(lambda: all(map(gone, helpers)), 10)
    before, kept = desk.started(), set(desk.stored())
    again = desk.run()
    assert again.returncode == 0, again.stderr
    after = desk.started()[len(before) :]
    assert kept.isdisjoint(after), "a stored run was done again"
    assert set(after) == set(undisturbed.stored()) - kept
    assert len(before) - len(kept) <= 3  # two in flight, one on its way to the disk
    assert desk.numbers() == undisturbed.numbers()


def test_a_killed_worker_loses_only_its_run(desk: Desk, undisturbed: Desk):
    desk.environment["STAND_IN_SECONDS"] = "0.05"
    driver = desk.start()
    wait_until(lambda: len(desk.stored()) >= 6)
    os.kill(workers(driver.pid)[0], signal.SIGKILL)
    _, errors = driver.communicate(timeout=60)
    assert driver.returncode == 0, errors
    assert sum(count - 1 for count in Counter(desk.started()).values()) <= 2  # what the two workers had
    assert desk.numbers() == undisturbed.numbers()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_stopping_is_clean_and_says_how_to_go_on(desk: Desk, undisturbed: Desk, how: signal.Signals):
    desk.environment["STAND_IN_SECONDS"] = "1.0"  # long enough that a busy machine cannot finish first
    driver = desk.start()
    wait_until(lambda: len(desk.stored()) >= 3)
    helpers = workers(driver.pid)
    if how == signal.SIGINT:
        os.killpg(driver.pid, how)  # as a terminal does: to workers as well
    else:
        driver.send_signal(how)
    _, errors = driver.communicate(timeout=20)
    assert driver.returncode == 130
    assert "To go on:\n  python -m benchmark run small.toml" in errors
    assert "Traceback" not in errors
    wait_until(lambda: all(map(gone, helpers)), 10)
    assert not list((desk.results / "runs").glob(".*")), "half-written files stay behind"
    assert not list((desk.results / "claims").iterdir())
    desk.environment["STAND_IN_SECONDS"] = "0"
    assert desk.run().returncode == 0
    assert desk.numbers() == undisturbed.numbers()


def test_two_drivers_share_one_folder(desk: Desk, undisturbed: Desk):
    desk.environment["STAND_IN_SECONDS"] = "0.05"
    drivers = [desk.start() for _ in range(2)]
    for driver in drivers:
        _, errors = driver.communicate(timeout=90)
        assert driver.returncode == 0, errors
    assert max(Counter(desk.started()).values()) == 1, "a run was done twice"
    assert desk.numbers() == undisturbed.numbers()
    assert not list((desk.results / "runs").glob("*.aside"))


def test_a_claim_ends_with_its_driver(desk: Desk):
    """A driver that waits for a run of another one does it itself when the other one is killed."""
    desk.environment["STAND_IN_SECONDS"] = "60"
    first = desk.start("--methods", "untrained", "--set", "seeds=1", "--backend", "sequential")
    wait_until(lambda: len(desk.started()) == 1)
    desk.environment["STAND_IN_SECONDS"] = "0"
    second = desk.start("--methods", "untrained", "--set", "seeds=1", "--backend", "sequential")
    wait_until(lambda: len(desk.stored()) == 1)
    time.sleep(1)
    assert second.poll() is None, "did not wait for the run that the first driver holds"
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    _, errors = second.communicate(timeout=30)
    assert second.returncode == 0, errors
    assert len(desk.stored()) == 2
