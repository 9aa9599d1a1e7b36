"""A wheel, built and installed for real into an environment of its own: everything it needs is inside."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("benchmark", "baselines", "plots", "studies", "results/published", "results/reference")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")


def command(*words: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run([*map(str, words)], cwd=cwd, env=kept | environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """The interpreter of an environment with the wheel; the libraries are those of the tests."""
    place = tmp_path_factory.mktemp("wheel")
    for part in PARTS:  # a copy, since building leaves files beside the sources
        shutil.copytree(ROOT / part, place / "source" / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, place / "source")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", place)
    built = command(*pip, "wheel", place / "source", *options, cwd=place)
    if built.returncode:
        pytest.skip(f"pip cannot build here: {built.stderr[-300:]}")
    command(sys.executable, "-m", "venv", "--without-pip", place / "env", cwd=place)
    found = place / "env" / "bin" / "python"
    (wheel,) = place.glob("*.whl")
    installed = command(*pip, "--python", found, "install", "--no-deps", "--no-index", wheel, cwd=place)
    assert installed.returncode == 0, installed.stderr
    (packages,) = (place / "env" / "lib").glob("python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return found


def test_the_wheel_plans_runs_and_tabulates_in_an_empty_folder(python, tmp_path):
    def said(*words: str) -> str:
        answer = command(python, "-m", *words, cwd=tmp_path, OMP_NUM_THREADS="1")
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    place = said("timeit", "-n1", "-r1", "import benchmark, sys; print(benchmark.__file__)")
    assert str(python.parents[1]) in place  # not the checkout
    assert "contextual" in said("benchmark", "list")
    assert "main at scale quick" in said("benchmark", "plan", "main")
    small = ("--methods", "contrastive,untrained", "--set", "seeds=2", "--set", "tuning=false")
    small += ("--set", 'protocols=["test"]', "--backend", "sequential")  # one process loads torch once
    said("benchmark", "run", "main", "--scale", "quick", *small)
    assert "Contrastive" in said("plots", "tables", "--only", "main")
    assert (tmp_path / "results" / "tables" / "quick" / "main.md").is_file()
    assert list((tmp_path / "results" / "runs").glob("*.parquet"))


def test_the_reference_is_inside_and_counts_as_done(python, tmp_path):
    answer = command(python, "-m", "plots", "tables", "--only", "main_cub_cars,main", "--scale", "laptop", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    table = (tmp_path / "results" / "tables" / "laptop" / "main_cub_cars.md").read_text()
    assert "not run" in table  # the paper's numbers stand there
    code = "from pathlib import Path; from benchmark.results.store import Store; print(len(Store(Path('none')).outcomes()))"
    assert int(command(python, "-c", code, cwd=tmp_path).stdout) > 1000
    code = "from plots.report.page import FOLDER; print(*FOLDER.iterdir())"
    assert "page.html" in command(python, "-c", code, cwd=tmp_path).stdout
