"""What a table would lose without the ledger of its study: which runs it is made of."""

import shutil

from desk import STUDY, Desk

from benchmark.results.tuning_summary import audit, rate_curves


def test_a_ledger_keeps_what_a_part_of_the_study_does_not_speak_of(undisturbed: Desk):
    store, rows = undisturbed.store, undisturbed.store.ledger_rows("small", "quick")
    part = [r for r in rows if r["method"] == "triplet"]
    assert store.write_ledger("small", "quick", part) is True  # only the order has changed
    assert sorted(map(str, store.ledger_rows("small", "quick"))) == sorted(map(str, rows))
    assert store.write_ledger("small", "quick", part) is False
    store.write_ledger("small", "quick", rows)


def test_a_method_that_is_added_takes_no_final_run_from_the_others_while_it_is_tuned(desk: Desk, undisturbed: Desk):
    """A range is extended for all methods, so theirs are not planned until it has its trials."""
    shutil.copytree(undisturbed.results, desk.results)
    before = desk.store.ledger_rows("small", "quick")
    desk.write(STUDY.replace('"untrained"', '"untrained", "margin"'))
    done = desk.run("--shard", "1/40")  # hardly any of its trials
    assert done.returncode == 0, done.stderr
    after = desk.store.ledger_rows("small", "quick")
    assert sorted(str(row) for row in after if row["method"] != "margin") == sorted(map(str, before))
    assert {row["phase"] for row in after if row["method"] == "margin"} == {"tune"}
    assert desk.run().returncode == 0
    after = desk.store.ledger_rows("small", "quick")
    assert {row["phase"] for row in after if row["method"] == "margin"} == {"tune", "final"}
    assert {row["run_id"] for row in before} <= {row["run_id"] for row in after}


def test_the_audit_shows_what_each_method_was_given(undisturbed: Desk):
    ledger, runs = undisturbed.store.ledger("small", "quick"), undisturbed.store.frame()
    table = audit(ledger, runs).set_index(["protocol", "method"])
    assert set(table["trials"]) == {0, 4}
    tuned = table[table["trials"] == 4]
    assert set(tuned["lr_low"]) == {1e-4}
    assert set(tuned["lr_high"]) == {3e-2}
    assert (table["seeds_planned"] == 2).all()
    assert (table["seeds_done"] == 2).all()
    assert (table[["failed", "diverged", "missing"]] == 0).all().all()
    assert (table["tuning_seconds"] >= 0).all()
    curves = rate_curves(ledger, runs)
    assert len(curves) == 2 * 2 * 4
    assert curves.groupby(["protocol", "method"])["chosen"].sum().eq(1).all()
    for _, curve in curves.groupby(["protocol", "method"]):
        assert curve.loc[curve["chosen"], "score"].item() == curve["score"].max()
        assert curve["lr"].is_monotonic_increasing


def test_a_damaged_ledger_is_named_and_made_anew_without_training(desk: Desk, undisturbed: Desk):
    shutil.copytree(undisturbed.results, desk.results)
    ledger = desk.store.ledger_path("small", "quick")
    ledger.write_bytes(ledger.read_bytes()[:-9])
    told = desk.call("archive", "--scale", "quick")
    assert told.returncode == 2
    assert f"{ledger.relative_to(desk.folder)}: cannot be read" in told.stderr
    assert "makes it anew from the stored runs" in told.stderr
    done = desk.run()
    assert done.returncode == 0, done.stderr
    assert "small.parquet.aside" in done.stderr
    assert desk.started() == []
    assert desk.numbers() == undisturbed.numbers()
