"""What a user would lose to a disk that is full or cannot be written: time with a traceback."""

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk

COMMANDS = (
    ["benchmark", "run", "small.toml", "--executor", "stand_in:run"],
    ["benchmark", "archive", "--scale", "quick"],
    ["benchmark", "report", "--scale", "quick"],
    ["plots", "tables"],
    ["benchmark", "synthetic", "rolling_point"],
)


@pytest.fixture(scope="session")
def disk(tmp_path_factory: pytest.TempPathFactory, undisturbed: Desk) -> Iterator[Path]:
    """A small file system with the results of a study and no room for more."""
    folder = tmp_path_factory.mktemp("disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)], capture_output=True).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    shutil.copytree(undisturbed.results, folder / "results")
    shutil.rmtree(folder / "results" / "optuna")  # to be written again
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def typed(desk: Desk, words: list[str], results: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", *words, "--results", str(results)]
    return subprocess.run(command, cwd=desk.folder, env=desk.environ(), capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_disk_that_cannot_be_written_is_one_line(desk: Desk, disk: Path, words: list[str]):
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = typed(desk, words, disk / "results")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "Read-only file system" in done.stderr.splitlines()[-1]
    assert str(disk) in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_full_disk_is_one_line(desk: Desk, disk: Path, words: list[str]):
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    ballast = disk / "ballast"
    try:
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        done = typed(desk, words, disk / "results")
    finally:
        ballast.unlink()
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert "no room left" in done.stderr
