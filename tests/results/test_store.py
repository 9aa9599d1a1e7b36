"""What a table would lose if the store changed what it was given."""

import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.results.store import MANY, Store
from benchmark.running.worker import Job, row
from benchmark.spec import FIELDS, RunSpec

SPEC = RunSpec(dataset="glyphs", params={"margin": 0.5}, lr_steps=(2, 3))
JOB = Job(data=None, checkpoints=None)  # type: ignore[arg-type]
finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20).map("test/".__add__)


@settings(max_examples=25, deadline=None)
@given(
    metrics=st.dictionaries(names, finite, max_size=5),
    score=finite,
    error=st.text(max_size=50),
    seed=st.integers(0, 99),
)
def test_what_is_stored_is_what_is_read(tmp_path_factory, metrics: dict, score: float, error: str, seed: int):
    store = Store(tmp_path_factory.mktemp("results"))
    spec = SPEC.replace(seed=seed)
    curve = [{"epoch": 1, "loss": score}]
    told = {"status": "ok", "score": score, "metrics": metrics, "error": error, "curve": curve, "best_epoch": 1}
    store.write_run(row(spec, told, JOB))
    (read,) = store.rows([spec.run_id]).values()
    assert RunSpec.from_json(read["spec"]) == spec
    assert (read["metrics"], read["score"], read["error"], json.loads(read["curve"])) == (metrics, score, error, curve)
    frame = store.frame()
    assert len(frame) == 1
    assert all(frame[name].iloc[0] == value for name, value in metrics.items())
    assert set(FIELDS) <= set(frame.columns)


def test_every_field_of_a_spec_is_a_column_with_its_type(tmp_path):
    store = Store(tmp_path)
    store.write_run(row(SPEC, {"status": "ok"}, JOB))
    read = pq.read_table(store.path(SPEC.run_id)).to_pylist()[0]
    for name in FIELDS:
        value = getattr(SPEC, name)
        stored = json.loads(read[name]) if name == "params" else read[name]
        assert stored == (list(value) if isinstance(value, tuple) else value), name


def test_an_empty_folder_is_an_empty_frame(tmp_path):
    store = Store(tmp_path / "nothing yet")
    assert store.frame().empty
    assert "score" in store.frame().columns
    assert store.outcomes() == {}
    assert store.ledger("main", "quick").empty


def test_a_failure_here_does_not_hide_a_committed_success(tmp_path):
    committed = Store(tmp_path / "reference")
    committed.write_run(row(SPEC, {"status": "ok", "score": 0.5}, JOB))
    store = Store(tmp_path)
    store.write_run(row(SPEC, {"status": "error"}, JOB))
    assert store.outcomes()[SPEC.run_id].status == "ok"
    assert list(store.frame()["status"]) == ["ok"]
    assert store.rows([SPEC.run_id])[SPEC.run_id]["status"] == "ok"
    assert Store(tmp_path, reference=False).outcomes()[SPEC.run_id].status == "error"


def test_results_stored_before_a_column_was_added_are_read(tmp_path):
    store = Store(tmp_path)
    store.write_run(row(SPEC, {"status": "ok", "score": 0.5}, JOB))
    path = store.path(SPEC.run_id)
    pq.write_table(pq.read_table(path).drop_columns(["pooling", "lr_steps", "histograms"]), path)
    (read,) = store.rows([SPEC.run_id]).values()
    assert (read["pooling"], read["lr_steps"], read["histograms"]) == ("gem", [], None)
    assert store.frame()["pooling"].tolist() == ["gem"]
    assert store.outcomes()[SPEC.run_id].score == 0.5
    store.write_ledger("main", "quick", [{"dataset": "glyphs", "method": "triplet", "lr": 0.1, "tuned": "{}"}])
    ledger = store.ledger_path("main", "quick")
    pq.write_table(pq.read_table(ledger).drop_columns(["tuned"]), ledger)
    assert [(r["lr"], r["tuned"]) for r in store.ledger_rows("main", "quick")] == [(0.1, None)]


def test_a_file_of_a_newer_version_is_named_and_the_others_are_read(tmp_path):
    store = Store(tmp_path)
    other = SPEC.replace(seed=7)
    for spec in (SPEC, other):
        store.write_run(row(spec, {"status": "ok"}, JOB))
    table = pq.read_table(store.path(SPEC.run_id))
    pq.write_table(table.append_column("colour", [["red"]]), store.path(SPEC.run_id))
    with pytest.warns(UserWarning, match=f"{SPEC.run_id}.*'colour': a newer version"):
        assert set(store.outcomes()) == {other.run_id}


def test_gathering_changes_no_row_whatever_happens_to_the_files(tmp_path):
    store = Store(tmp_path)
    specs = [SPEC.replace(seed=seed) for seed in range(MANY + 8)]
    for spec in specs[:MANY]:
        store.write_run(row(spec, {"status": "ok", "score": spec.seed / 100, "metrics": {"test/R@1": 0.5}}, JOB))
    before = store.frame()
    store.gather()
    gathered = tmp_path / "cache" / "runs.parquet"
    assert gathered.exists()
    assert store.frame().equals(before)
    first = gathered.stat().st_mtime_ns
    store.gather()
    assert gathered.stat().st_mtime_ns == first, "nothing new, nothing written"

    store.path(specs[0].run_id).unlink()
    store.write_run(row(specs[1], {"status": "ok", "score": 0.75}, JOB))
    store.path(specs[2].run_id).write_bytes(b"PAR1")
    for spec in specs[MANY:]:
        store.write_run(row(spec, {"status": "ok", "score": 0.5}, JOB))
    with pytest.warns(UserWarning, match=specs[2].run_id):
        outcomes = store.outcomes()
    assert set(outcomes) == {spec.run_id for spec in specs} - {specs[0].run_id, specs[2].run_id}
    assert outcomes[specs[1].run_id].score == 0.75
    with pytest.warns(UserWarning, match=specs[2].run_id):
        assert set(store.frame()["run_id"]) == set(outcomes)
    gathered.write_bytes(b"damaged")
    with pytest.warns(UserWarning, match=specs[2].run_id):
        assert store.outcomes() == outcomes
