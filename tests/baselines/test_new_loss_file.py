"""A user's own loss is one file, as the README shows it: it appears everywhere without another edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import baselines
from benchmark.errors import UserError

OWN = (baselines.FOLDER.parent / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the code with one more file in baselines/."""
    root = baselines.FOLDER.parent
    for folder in ("baselines", "benchmark", "studies"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / "tests" / "baselines", tmp_path / "tests" / "baselines")
    (tmp_path / "baselines" / "hardest_pairs.py").write_text(OWN)
    return tmp_path


def python(project: Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(project)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def test_the_example_is_short():
    assert len(OWN.splitlines()) < 30


def test_it_can_be_run_in_the_paper_s_studies(project):
    planned = python(project, "-m", "benchmark", "plan", "main", "--methods", "hardest_pairs,contrastive,untrained")
    assert "3 methods" in planned.stdout, planned.stderr
    wrong = python(project, "-m", "benchmark", "plan", "main", "--methods", "hardest_pair")
    assert "did you mean 'hardest_pairs'" in wrong.stderr


def test_it_is_listed_and_meets_the_contract_that_all_methods_meet(project):
    code = (
        "import baselines; c = baselines.card('hardest_pairs'); print(baselines.names(), c.title, c.params, c.search)"
    )
    shown = python(project, "-c", code)
    for part in ("'hardest_pairs'", "Hardest pairs", "'scale': 10.0", "'gamma': 0.0"):
        assert part in shown.stdout, shown.stderr
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/baselines/test_losses_contract.py")
    contract = python(project, *arguments, "-k", "hardest_pairs")
    assert contract.returncode == 0, contract.stdout
    assert " passed" in contract.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TITLE = 'x'\ndef build(): ...", "lacks a docstring"),
        ('"""A loss."""\ndef build(): ...', "lacks TITLE"),
        ('"""A loss."""\nTITLE = "x"', r"lacks build\(\)"),
        ('"""A loss."""\nTITLE = "x"\nPARAMS = {"a": 1 / 3}\ndef build(): ...', "PARAMS must be a literal"),
        ('"""A loss."""\nTITLE = "x"\nSEARCH = {"a": [1]}\ndef build(): ...', "parameter in SEARCH"),
        ('"""A loss."""\nTITLE = "x"\nSAMPLER = "balance"\ndef build(): ...', "did you mean 'balanced'"),
        ('"""A loss."""\nTITLE = "x"\nGROUP = "papers"\ndef build(): ...', "did you mean 'paper'"),
        ('"""A loss."""\nTITLE = "x"\nNEEDS = ("feature",)\ndef build(): ...', "did you mean 'features'"),
    ],
)
def test_a_file_that_is_not_complete_says_what_is_missing(text, message, tmp_path, monkeypatch):
    monkeypatch.setattr(baselines, "FOLDER", tmp_path)
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(UserError, match=message):
        baselines.card("mine")
