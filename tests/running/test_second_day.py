"""The loop that people live in: write a loss or a table, run, edit, run. What is shown is of now, and nothing is lost."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import baselines
from benchmark.__main__ import main
from benchmark.planning import identity
from benchmark.planning.plan import families
from benchmark.planning.study import load
from benchmark.results.store import Store
from benchmark.running import worker
from benchmark.spec import RunSpec

LOSS = '''"""Pulls positives together by their cosine."""

from torch import nn

TITLE = "Mine"


class Mine(nn.Module):
    def forward(self, f, labels):
        same = labels[:, None] == labels[None, :]
        s = f @ f.T
        return s[~same].relu().mean() - s[same].mean()


def build(*, num_classes, embedding_dim):
    return Mine()
'''
STUDY = """
title = "Mine"
datasets = ["glyphs"]
methods = ["mine", "untrained"]
setting = "glyphs-quick"
seeds = 2
fields = { lr = 1e-3, epochs = 1, batches_per_epoch = 2, train_classes = 8, test_classes = 8, batch_size = 16 }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project with a loss of one's own and a study of it."""
    root = baselines.FOLDER.parent
    for folder in ("baselines", "benchmark", "plots", "studies"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "baselines" / "mine.py").write_text(LOSS)
    (tmp_path / "mine.toml").write_text(STUDY)
    return tmp_path


def call(project: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmark", *arguments],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def scores(project: Path) -> dict[str, list[float]]:
    """What the table would be made of: the runs that the ledger names."""
    store = Store(project / "results")
    rows = store.rows(row["run_id"] for row in store.ledger_rows("mine", "quick"))
    found: dict[str, list[float]] = {}
    for row in rows.values():
        found.setdefault(row["method"], []).append(row["metrics"]["test/R@1"])
    return found


def test_an_edited_loss_has_new_numbers_and_the_old_ones_can_still_be_looked_at(project):
    run = ("run", "mine.toml", "--backend", "sequential")
    assert "4 runs done now" in call(project, *run)
    before = scores(project)
    file = project / "baselines" / "mine.py"
    file.write_text(LOSS.replace("- s[same].mean()", "- s[same].mean()  # pull").replace("Pulls", "Draws"))
    assert "0 runs done now" in call(project, *run), "a comment and a docstring"
    file.write_text(LOSS.replace("- s[same].mean()", "+ s[same].mean()"))
    assert "2 runs done now" in call(project, *run), "the edited loss, not the others"
    after = scores(project)
    assert len(after["mine"]) == 2, "old and new are not averaged"
    assert after["mine"] != before["mine"]
    assert after["untrained"] == before["untrained"]
    assert "mine: 2 more runs of other code; kept" in call(project, "status", "mine.toml")
    old = {spec["code"] for spec in map(json.loads, Store(project / "results").specs().values())}
    assert len(old) == 3  # two of mine, one of untrained
    file.write_text(LOSS)
    assert "0 runs done now" in call(project, *run), "the old code again has its old runs"
    assert scores(project) == before


def test_seeds_added_after_an_edit_are_not_averaged_with_the_old_code(project):
    run = ("run", "mine.toml", "--backend", "sequential")
    call(project, *run)
    (project / "baselines" / "mine.py").write_text(LOSS.replace("relu()", "square()"))
    assert "4 runs done now" in call(project, *run, "--set", "seeds=3"), "three of the new code, one untrained"
    assert len(scores(project)["mine"]) == 3


def photos(folder: Path, order: list[str]) -> Path:
    """A table of eight classes with three images each, whose labels come in the order given."""
    lines = ["path,label"]
    for label in range(8):
        for n in range(3):
            name = f"{label}_{n}.png"
            Image.new("L", (32, 32), 20 * label + n).save(folder / name)
            lines.append(f"{name},{order[label]}")
    table = folder / "mine.csv"
    table.write_text("\n".join(lines) + "\n")
    return table


def test_an_edited_table_has_new_numbers(tmp_path):
    names = [f"class {i}" for i in range(8)]
    table = photos(tmp_path, names)

    def ids() -> set[str]:
        study = load("main", "quick", ["tuning=false"], [str(table)], ["contrastive"])
        made_of = identity.Identity(tmp_path)
        return {task.spec.run_id for family in families(study, made_of) for task in family.known({}).tasks}

    before = ids()
    assert ids() == before
    photos(tmp_path, names[::-1])
    assert not ids() & before, "the same images with shuffled labels are other data"
    photos(tmp_path, names)
    assert ids() == before


def test_data_that_are_not_at_hand_count_as_those_of_the_stored_runs(tmp_path):
    study = load("main", "quick", ["tuning=false"], ["cub"], ["contrastive"])
    made_of = identity.Identity(tmp_path, stored={"cub": "abc"})
    assert {t.spec.data for f in families(study, made_of) for t in f.known({}).tasks} == {"abc"}


def test_photos_that_are_not_there_are_left_out_by_name_and_those_with_stored_runs_are_not(tmp_path):
    study = load("hierarchy", "photos")
    kept, absent = identity.with_data([study], identity.Identity(tmp_path, stored={"cub": "abc"}))
    assert [s.datasets for s in kept] == [("cub",)]
    assert absent == ["cars?missing=skip"]
    assert identity.with_data([study], identity.Identity(tmp_path)) == ([], ["cars?missing=skip", "cub"])


def test_a_clone_without_photos_shows_what_is_stored_of_a_study_and_trains_nothing(tmp_path, capsys):
    spec = RunSpec(dataset="cub", method="contextual", data="abc")
    job = worker.Job(data=tmp_path, checkpoints=tmp_path)
    told = {"status": "ok", "score": 0.5, "metrics": {"test/R@1": 0.5}, "curve": [{"epoch": 1}], "best_epoch": 1}
    Store(tmp_path).write_run(worker.row(spec, told, job) | {"seconds": 1.5, "peak_memory_mb": 10.0})
    arguments = ["--scale", "photos", "--data", str(tmp_path), "--results", str(tmp_path)]
    assert main(["run", "gradient_correction", *arguments]) == 0
    said = capsys.readouterr().err
    assert f"without cub below {tmp_path}, no more than what is stored is shown of gradient_correction" in said
    assert "0 runs done now" in said
    assert not (tmp_path / "studies").exists()  # the ledger that is committed stays the study's


def test_a_syntax_error_in_one_methods_file_is_named_and_the_others_still_work(project):
    (project / "baselines" / "mine.py").write_text(LOSS.replace("return Mine()", "return Mine("))
    listed = call(project, "list")
    assert "cannot be read: baselines/mine.py, line 16: '(' was never closed" in listed
    assert "contrastive" in listed
    planned = call(project, "plan", "main", "--set", "methods='all'")
    assert "warning: baselines/mine.py, line 16: '(' was never closed; 'mine' is left out" in planned
    assert "runs: 0 done" in planned
    with pytest.raises(AssertionError, match=r"error: .*baselines/mine.py, line 16") as told:
        call(project, "plan", "mine.toml")
    assert "Traceback" not in str(told.value)
