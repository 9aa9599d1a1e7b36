"""What a user would lose: the committed results of a project, which a clone shows without training."""

from benchmark.__main__ import main
from benchmark.results.store import Store
from benchmark.running.worker import Job, row
from benchmark.spec import RunSpec


def stored(results, study, lr, scale="laptop"):
    """A finished run of a study, as a runner leaves it."""
    store, spec = Store(results), RunSpec(dataset="glyphs", lr=lr)
    result = {"status": "ok", "score": lr, "metrics": {"test/R@1": 0.5}, "curve": [{"epoch": 1}], "best_epoch": 1}
    job = Job(data=results, checkpoints=results)
    store.write_run(row(spec, result, job) | {"seconds": 1.5, "peak_memory_mb": 10.0})
    entry = {"scale": scale, "dataset": "glyphs", "method": "contrastive", "run_id": spec.run_id}
    store.write_ledger(study, scale, [entry | {"study": study}])
    return spec.run_id


def test_archived_runs_count_as_done_in_a_clone_and_keep_every_number(tmp_path):
    results = tmp_path / "results"
    run_id = stored(results, "main", 0.01)
    assert main(["archive", "--results", str(results)]) == 0
    (results / "reference" / "bench").mkdir()
    (results / "reference" / "bench" / "losses.parquet").write_bytes(b"no run: must not be taken for a damaged one")
    Store(results).path(run_id).unlink()
    told: list[str] = []
    clone = Store(results, notify=told.append)
    assert clone.outcomes()[run_id].score == 0.01
    assert clone.rows([run_id])[run_id]["metrics"] == {"test/R@1": 0.5}
    assert Store(results / "reference", reference=False).ledger_rows("main", "laptop")[0]["run_id"] == run_id
    assert told == []


def test_archiving_one_more_study_in_a_clone_keeps_what_was_archived(tmp_path):
    first = stored(tmp_path / "there", "main", 0.01)
    assert main(["archive", "--results", str(tmp_path / "there")]) == 0
    (tmp_path / "here").mkdir()
    (tmp_path / "there" / "reference").rename(tmp_path / "here" / "reference")
    second = stored(tmp_path / "here", "ablation", 0.02)
    assert main(["archive", "--results", str(tmp_path / "here")]) == 0
    assert set(Store.of_folder(tmp_path / "here" / "reference").outcomes()) == {first, second}


def test_tables_and_figures_are_archived_beside_the_runs_that_they_are_of(tmp_path):
    stored(tmp_path, "main", 0.01)
    for kind, name in (("tables", "main.md"), ("figures", "overfitting.png")):
        (tmp_path / kind / "laptop").mkdir(parents=True)
        (tmp_path / kind / "laptop" / name).write_text(kind)
    assert main(["archive", "--results", str(tmp_path)]) == 0
    assert (tmp_path / "reference" / "tables" / "laptop" / "main.md").read_text() == "tables"
    assert (tmp_path / "reference" / "figures" / "laptop" / "overfitting.png").read_text() == "figures"


def test_neither_photos_nor_pictures_of_no_scale_are_handed_on_with_figures_of_photos(tmp_path):
    stored(tmp_path, "main", 0.01, scale="photos")
    (tmp_path / "figures" / "photos").mkdir(parents=True)
    for name in ("neighbours.png", "confused_classes.png", "toy_circles.png", "scaling.png", "overfitting.png"):
        (tmp_path / "figures" / "photos" / name).write_text("")
    assert main(["archive", "--scale", "photos", "--results", str(tmp_path)]) == 0
    assert [path.name for path in (tmp_path / "reference" / "figures" / "photos").iterdir()] == ["overfitting.png"]


def test_nothing_to_archive_is_said(tmp_path, capsys):
    assert main(["archive", "--results", str(tmp_path)]) == 2
    assert "holds no run of scale 'laptop'" in capsys.readouterr().err


def test_an_unknown_scale_is_refused(tmp_path, capsys):
    assert main(["archive", "--scale", "lapto", "--results", str(tmp_path)]) == 2
    assert "did you mean 'laptop'" in capsys.readouterr().err


def test_an_archive_that_loses_runs_says_so(tmp_path, capsys):
    first, results = stored(tmp_path, "main", 0.01), ["--results", str(tmp_path)]
    stored(tmp_path, "ablation", 0.03)
    assert main(["archive", *results]) == 0
    assert "warning" not in capsys.readouterr().out
    stored(tmp_path, "main", 0.02)  # the ledger names this one instead
    Store(tmp_path).path(first).unlink()
    assert main(["archive", *results]) == 0
    assert "warning: 1 runs that it held are left out" in capsys.readouterr().out
    stored(tmp_path, "main", 0.01)
    Store(tmp_path).path(first).unlink()
    assert main(["archive", *results]) == 0
    assert "warning: 1 runs that its ledgers name are not there" in capsys.readouterr().out
