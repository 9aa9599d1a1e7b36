"""What a user would lose: the committed results of a project, which a clone shows without training."""

from benchmark.__main__ import main
from benchmark.spec import RunSpec
from benchmark.store import Store
from benchmark.worker import Job, row


def test_archived_runs_count_as_done_in_a_clone_and_keep_every_number(tmp_path):
    results = tmp_path / "results"
    store = Store(results)
    spec = RunSpec(dataset="glyphs", lr=0.01)
    result = {
        "status": "ok",
        "score": 0.5,
        "metrics": {"test/R@1": 0.5},
        "curve": [{"epoch": 1}],
        "best_epoch": 1,
    }
    job = Job(data=tmp_path, checkpoints=tmp_path)
    store.write_run(row(spec, result, job) | {"seconds": 1.5, "peak_memory_mb": 10.0})
    entry = {
        "study": "main",
        "scale": "laptop",
        "dataset": "glyphs",
        "method": "contrastive",
        "run_id": spec.run_id,
    }
    store.write_ledger("main", "laptop", [entry])

    assert main(["archive", "--results", str(results)]) == 0
    (results / "reference" / "bench").mkdir()
    (results / "reference" / "bench" / "losses.parquet").write_bytes(
        b"no run: must not be taken for a damaged one"
    )
    store.path(spec.run_id).unlink()
    told: list[str] = []
    clone = Store(results, notify=told.append)
    assert clone.outcomes()[spec.run_id].score == 0.5
    assert clone.rows([spec.run_id])[spec.run_id]["metrics"] == {"test/R@1": 0.5}
    assert (
        Store(results / "reference", reference=False).ledger_rows("main", "laptop")[0]["run_id"]
        == spec.run_id
    )
    assert told == []


def test_nothing_to_archive_is_said(tmp_path, capsys):
    assert main(["archive", "--results", str(tmp_path)]) == 2
    assert "holds no run of scale 'laptop'" in capsys.readouterr().err


def test_an_unknown_scale_is_refused(tmp_path, capsys):
    assert main(["archive", "--scale", "lapto", "--results", str(tmp_path)]) == 2
    assert "did you mean 'laptop'" in capsys.readouterr().err
