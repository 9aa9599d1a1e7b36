"""What a user would lose: a table of yesterday's runs that passes for today's, or minutes for a table that is there."""

import os

import pytest
from study_factory import write_study

from benchmark.results.store import Store
from plots.__main__ import main


@pytest.fixture
def results(tmp_path):
    write_study(tmp_path, separate=True)
    return tmp_path


def tables(results, capsys) -> tuple[str, str, dict[str, int]]:
    """What is printed, what is warned of, and when each file was written."""
    assert main(["tables", "--results", str(results)]) == 0
    printed, warned = capsys.readouterr()
    return printed, warned, {p.name: p.stat().st_mtime_ns for p in (results / "tables" / "quick").iterdir()}


def test_nothing_is_made_twice_and_everything_is_said_again(results, capsys):
    first = tables(results, capsys)
    assert "main: glyphs" in first[0]
    assert tables(results, capsys) == first


def test_a_new_run_changes_the_table(results, capsys):
    before = tables(results, capsys)
    write_study(results, seeds=4, separate=True)
    after = tables(results, capsys)
    assert after[0] != before[0]
    assert after[2]["main.md"] != before[2]["main.md"]


def test_a_run_that_was_deleted_is_missed(results, capsys):
    tables(results, capsys)
    final = Store(results).ledger("main", "quick")
    gone = final[final["phase"] == "final"]["run_id"].iloc[0]
    Store(results).path(gone).unlink()
    assert "missing" in tables(results, capsys)[0]


@pytest.mark.parametrize("spoil", ["delete", "edit"])
def test_a_table_that_was_deleted_or_edited_is_made_again(results, capsys, spoil):
    tables(results, capsys)
    table = results / "tables" / "quick" / "main.md"
    whole = table.read_text()
    if spoil == "delete":
        table.unlink()
    else:
        table.write_text(whole.replace("R@1", "R@9"))
    tables(results, capsys)
    assert table.read_text() == whole


def test_a_damaged_memory_costs_time_and_nothing_else(results, capsys):
    first = tables(results, capsys)
    kept = results / "cache" / "plots-tables-quick.json"
    os.truncate(kept, 40)
    assert tables(results, capsys)[:2] == first[:2]
