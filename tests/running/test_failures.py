"""What a user would lose if one bad run or one bad file could spoil a sweep."""

import json
import os
import shutil
import subprocess
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from desk import RUNS, STUDY, Desk

FLAT = STUDY.partition("[tuning]")[0] + "[fields]\nlr = 1e-3\n"  # no tuning: every run is known at once


def ids(desk: Desk, *more: str) -> dict[tuple[str, str, int], str]:
    """(method, protocol, seed) → run_id of the final runs that a plan knows."""
    planned = desk.look("plan", "--json", *more)
    assert planned.returncode == 0, planned.stderr
    rows = [json.loads(line) for line in planned.stdout.splitlines()]
    return {(row["method"], row["protocol"], row["seed"]): row["run_id"] for row in rows if row["phase"] == "final"}


def test_failed_runs_are_rows_and_retry_failed_runs_just_those(desk: Desk):
    desk.write(FLAT)
    runs = ids(desk)
    trouble = {
        runs["contrastive", "test", 0]: "raise",
        runs["contrastive", "test", 1]: "diverge",
        runs["triplet", "test", 0]: "memory",
    }
    desk.environment["STAND_IN_TROUBLE"] = json.dumps(trouble)
    first = desk.run("--backend", "loky", "--jobs", "2")
    assert first.returncode == 3
    assert "2 failed" in first.stderr
    assert "1 diverged" in first.stderr
    frame = desk.store.frame().set_index("run_id")
    assert len(frame) == len(runs), "the others went on"
    expected = {"raise": "error", "diverge": "diverged", "memory": "out_of_memory"}
    for run_id, kind in trouble.items():
        assert frame.loc[run_id, "status"] == expected[kind]
    assert "the loss fell over" in frame.loc[runs["contrastive", "test", 0], "error"]
    assert "Traceback" in frame.loc[runs["contrastive", "test", 0], "error"]
    assert frame.loc[runs["contrastive", "test", 1], "error"] == "loss is NaN"

    status = desk.look("status")
    assert status.returncode == 3
    assert "RuntimeError: the loss fell over" in status.stdout

    again = desk.run()
    assert again.returncode == 3, "a failure is not forgotten"
    assert len(desk.started()) == len(runs), "a plain run leaves failures alone"

    del desk.environment["STAND_IN_TROUBLE"]
    retried = desk.run("--retry-failed")
    assert retried.returncode == 0, retried.stderr
    assert set(desk.started()[len(runs) :]) == {i for i, kind in trouble.items() if kind != "diverge"}
    assert desk.look("status").returncode == 0


def test_a_run_that_kills_its_worker_becomes_a_row_and_the_others_are_done(desk: Desk):
    desk.write(FLAT)
    runs = ids(desk)
    killer = runs["triplet", "validation", 1]
    desk.environment["STAND_IN_TROUBLE"] = json.dumps({killer: "kill"})
    done = desk.run("--backend", "loky", "--jobs", "2")
    assert done.returncode == 3, done.stderr
    frame = desk.store.frame().set_index("run_id")
    assert frame.loc[killer, "status"] == "out_of_memory"
    assert "SIGKILL" in frame.loc[killer, "error"]
    assert (frame.drop(killer)["status"] == "ok").all()
    assert len(frame) == len(runs)


def test_a_method_whose_trials_all_fail_is_reported_and_the_rest_is_tuned(desk: Desk):
    desk.environment["STAND_IN_TROUBLE"] = json.dumps({"triplet": "raise"})
    done = desk.run()
    assert done.returncode == 3
    assert "triplet: every tuning trial failed" in done.stderr
    ledger = desk.store.ledger("small", "quick")
    finals = ledger[ledger["phase"] == "final"]
    assert set(finals["method"]) == {"contrastive", "untrained"}


def test_a_method_that_always_diverges_still_has_its_rows(desk: Desk):
    desk.environment["STAND_IN_TROUBLE"] = json.dumps({"triplet": "diverge"})
    assert desk.run().returncode == 0
    ledger = desk.store.ledger("small", "quick")
    finals = ledger[(ledger["phase"] == "final") & (ledger["method"] == "triplet")]
    assert len(finals) == 4
    assert set(finals["edge"]) == {"low"}
    assert finals["lr"].max() == ledger[ledger["method"] == "triplet"]["lr"].min()


def test_damaged_and_foreign_files_are_named_set_aside_and_done_again(desk: Desk, undisturbed: Desk):
    shutil.copytree(undisturbed.results, desk.results)
    truncated, foreign, renamed, flipped = (desk.results / "runs" / f"{name}.parquet" for name in desk.stored()[:4])
    truncated.write_bytes(truncated.read_bytes()[:-200])
    pq.write_table(pa.table({"cats": [1, 2]}), foreign)
    shutil.copy(desk.results / "runs" / f"{desk.stored()[9]}.parquet", renamed)
    flipped.write_bytes(b"")
    done = desk.run()
    assert done.returncode == 0, done.stderr
    for path in (truncated, foreign, renamed, flipped):
        assert str(path.name) in done.stderr
        assert path.with_name(path.name + ".aside").exists()
    assert sorted(desk.started()) == sorted(path.stem for path in (truncated, foreign, renamed, flipped))
    assert desk.numbers() == undisturbed.numbers()


def test_looking_at_a_folder_never_changes_it(desk: Desk, undisturbed: Desk):
    shutil.copytree(undisturbed.results, desk.results)
    victim = desk.results / "runs" / f"{desk.stored()[0]}.parquet"
    victim.write_bytes(b"PAR1")
    for command in ("plan", "status"):
        looked = desk.look(command)
        assert victim.name in looked.stderr
    assert victim.read_bytes() == b"PAR1"


def test_a_schema_from_another_version_is_kept_and_its_run_is_done_again(desk: Desk, undisturbed: Desk):
    shutil.copytree(undisturbed.results, desk.results)
    victim = desk.results / "runs" / f"{desk.stored()[0]}.parquet"
    table = pq.read_table(victim)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"benchmark.version": b"99"}), victim)
    before = victim.read_bytes()
    done = desk.run()
    assert done.returncode == 0
    assert "is of schema 99" in done.stderr
    assert desk.started() == [victim.stem]
    assert victim.with_name(victim.name + ".aside").read_bytes() == before


def test_a_full_disk_damages_nothing_and_goes_on_when_there_is_room(desk: Desk, undisturbed: Desk):
    small = desk.folder / "small disk"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "none", str(small)], capture_output=True).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        full = desk.run("--results", str(small))
        assert full.returncode == 4, full.stderr
        assert "no room left" in full.stderr
        assert "Traceback" not in full.stderr
        kept = sorted(path.stem for path in (small / "runs").glob("*.parquet"))
        assert 0 < len(kept) < RUNS
        assert not list((small / "runs").glob(".*"))
        subprocess.run(["mount", "-o", "remount,size=8m", str(small)], check=True)
        before = len(desk.started())
        assert desk.run("--results", str(small)).returncode == 0
        assert set(kept).isdisjoint(desk.started()[before:])
        shutil.copytree(small, desk.results)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
    assert desk.numbers() == undisturbed.numbers()


def test_a_worker_without_room_stops_the_sweep_instead_of_failing_every_run(desk: Desk):
    desk.environment["STAND_IN_TROUBLE"] = json.dumps({"triplet": "full"})
    done = desk.run("--backend", "loky", "--jobs", "2")
    assert done.returncode == 4
    assert "no room left" in done.stderr
    assert "error" not in set(desk.store.frame()["status"])


def test_an_edited_study_runs_only_what_is_new(desk: Desk, undisturbed: Desk):
    shutil.copytree(undisturbed.results, desk.results)
    old = set(desk.stored())
    desk.write(STUDY.replace('"triplet",', '"triplet", "proxy_anchor",'))
    assert desk.run().returncode == 0
    added = desk.started()
    assert len(added) == 2 * (4 + 2), "protocols × (trials + seeds) of the new method"
    assert old.isdisjoint(added)
    desk.write(STUDY.replace("seeds = 2", "seeds = 3"))
    assert desk.run().returncode == 0
    assert len(desk.started()[len(added) :]) == 2 * 3, "one new seed of each of three methods, in both protocols"
    assert max(Counter(desk.started()).values()) == 1


def test_an_unwritable_results_folder_is_refused_before_anything_runs(desk: Desk):
    (desk.folder / "occupied").write_text("a file, not a folder")
    done = desk.run("--results", "occupied/results")
    assert done.returncode == 2
    assert "--results" in done.stderr
    assert desk.started() == []
    if os.geteuid() != 0:
        locked = desk.folder / "locked"
        locked.mkdir(mode=0o500)
        assert desk.run("--results", str(locked)).returncode == 2


def test_missing_data_are_one_error_not_one_for_every_run(desk: Desk):
    desk.write(FLAT.replace('["glyphs"]', '["cub"]').replace('"glyphs"', '"frozen"'))
    done = desk.call("run", "small.toml", "--data", "nowhere")
    assert done.returncode == 2, done.stderr
    assert "CUB" in done.stderr
    assert desk.stored() == []


def test_reference_runs_count_as_done(desk: Desk, undisturbed: Desk):
    reference = desk.results / "reference"
    reference.mkdir(parents=True)
    rows = [undisturbed.store.path(run_id) for run_id in undisturbed.stored()]
    pq.write_table(pa.concat_tables([pq.read_table(path) for path in rows]), reference / "small.parquet")
    assert desk.run().returncode == 0
    assert desk.started() == []
    ledger, runs = desk.numbers()
    assert (ledger, runs) == undisturbed.numbers()
    planned = desk.look("plan", "--no-reference")
    assert "0 done" in planned.stdout


def test_a_leftover_temporary_file_is_no_run_and_does_not_stay(desk: Desk, undisturbed: Desk):
    shutil.copytree(undisturbed.results, desk.results)
    old, new = (desk.results / "runs" / f".0123456789abcdef.parquet.{pid}.tmp" for pid in (77, 78))
    for path in (old, new):
        path.write_bytes(b"half a ro")
    os.utime(old, (1e9, 1e9))
    assert desk.run().returncode == 0
    assert desk.started() == []
    assert (old.exists(), new.exists()) == (False, True)


def test_runs_from_two_versions_of_the_data_are_pointed_out(desk: Desk):
    desk.write(FLAT)
    assert "versions of the data" not in desk.run("--methods", "triplet").stderr
    desk.environment["STAND_IN_DATA"] = "other letters"
    done = desk.run()
    assert done.returncode == 0
    assert "warning: runs on glyphs were made from 2 versions of the data" in done.stderr
