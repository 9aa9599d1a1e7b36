"""What a reader would lose if a stored number could not be had again."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from desk import Desk

from benchmark.commands.reproduce import TOLERANCE, compare
from benchmark.results import schema
from benchmark.running.preparation import lacking
from benchmark.spec import RunSpec


@pytest.fixture
def copied(desk: Desk, undisturbed: Desk) -> Desk:
    shutil.copytree(undisturbed.results, desk.results)
    return desk


def change(desk: Desk, run_id: str, **cells) -> None:
    path = desk.store.path(run_id)
    row = pq.read_table(path).to_pylist()[0] | cells
    schema.write_file(path, [row], "run")


def test_a_stored_run_gives_its_numbers_again(copied: Desk):
    done = copied.call("reproduce", copied.stored()[3][:8], "--executor", "stand_in:run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cells agree, exact" in done.stdout


def test_a_changed_number_is_found_and_shown(copied: Desk):
    victim = copied.stored()[3]
    row = copied.store.rows([victim])[victim]
    change(
        copied,
        victim,
        metrics=[("test/R@1", row["metrics"]["test/R@1"] + 1e-9), ("test/mAP", row["metrics"]["test/mAP"])],
    )
    done = copied.call("reproduce", victim, "--executor", "stand_in:run")
    assert done.returncode == 1
    assert "metrics/test/R@1: stored" in done.stdout
    everything = copied.call("verify", "--sample", "99", "--executor", "stand_in:run")
    assert everything.returncode == 1
    assert "27 of 28 runs reproduced" in everything.stdout


def test_another_platform_is_allowed_a_stated_tolerance(copied: Desk):
    row = copied.store.rows([copied.stored()[0]])[copied.stored()[0]]
    near = row | {"cpu": "another", "metrics": {k: v + TOLERANCE / 2 for k, v in row["metrics"].items()}}
    far = row | {"cpu": "another", "metrics": {k: v + TOLERANCE * 2 for k, v in row["metrics"].items()}}
    assert not compare(row, near).differences
    assert "within" in compare(row, near).rule
    assert compare(row, far).differences
    assert compare(row, near | {"cpu": row["cpu"]}).differences, "exact on the same platform"


def test_verify_takes_a_folder_of_committed_runs(copied: Desk):
    committed = copied.folder / "committed"
    committed.mkdir()
    tables = [pq.read_table(copied.store.path(run_id)) for run_id in copied.stored()]
    pq.write_table(pa.concat_tables(tables), committed / "all.parquet")
    done = copied.call("verify", "committed", "--sample", "3", "--seed", "1", "--executor", "stand_in:run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 runs reproduced, sampled from 28" in done.stdout


def test_runs_whose_data_are_not_here_are_said_to_be_so_and_not_to_differ(copied: Desk):
    row = copied.store.rows([copied.stored()[0]])[copied.stored()[0]]
    spec = RunSpec.from_json(row["spec"]).replace(
        dataset="cub", gallery_distractors="cars?missing=skip,inshop", code=""
    )
    photos = copied.folder / "photos"
    (photos / "runs").mkdir(parents=True)
    path = photos / "runs" / f"{spec.run_id}.parquet"
    schema.write_file(path, [row | {"run_id": spec.run_id, "spec": spec.canonical(), "dataset": "cub"}], "run")
    done = copied.call("verify", "photos")
    assert done.returncode == 2
    assert "1 of 1 runs need cars?missing=skip, cub, inshop, not found below 'data'" in done.stdout
    assert "none of the runs can be done here" in done.stderr
    shutil.copy(path, copied.results / "runs")
    done = copied.call("reproduce", spec.run_id)
    assert done.returncode == 2
    assert "needs cub, cars?missing=skip, inshop, not found below 'data' (python -m benchmark doctor)" in done.stderr


def test_what_a_run_needs_is_looked_for_where_it_would_lie(tmp_path):
    spec = RunSpec(dataset="glyphs", method="contrastive")
    assert lacking(spec, tmp_path) == []
    assert lacking(spec.replace(weights="w.pt@0123456789abcdef"), tmp_path) == ["w.pt"]
    assert lacking(spec.replace(dataset="./birds.csv?label=species"), tmp_path) == ["./birds.csv?label=species"]
    assert lacking(spec.replace(distractors="foreign"), tmp_path) == [], "nothing is replaced"
    assert lacking(spec.replace(distractors="foreign", image_noise=0.1), tmp_path) == ["foreign"]
    (tmp_path / "foreign").mkdir()
    assert lacking(spec.replace(distractors="foreign", image_noise=0.1), tmp_path) == []


def test_trials_can_be_opened_in_optuna_dashboard(undisturbed: Desk):
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    storage = JournalStorage(JournalFileBackend(str(undisturbed.results / "optuna" / "small-quick.log")))
    studies = {s.study_name: s for s in optuna.get_all_study_summaries(storage=storage)}
    assert len(studies) == 2 * 2  # protocols × tuned methods
    for name in studies:
        trials = optuna.load_study(study_name=name, storage=storage).trials
        assert len(trials) == 4
        chosen = next(trial for trial in trials if trial.user_attrs["chosen"])
        assert chosen.value == max(trial.value for trial in trials)


def test_a_second_run_does_nothing_and_writes_nothing(copied: Desk):
    before = {path: path.stat().st_mtime_ns for path in copied.results.rglob("*") if path.is_file()}
    assert copied.run().returncode == 0
    assert copied.started() == []
    assert {path: path.stat().st_mtime_ns for path in copied.results.rglob("*") if path.is_file()} == before
