"""What a reviewer would lose: an unequal budget, a rate at the edge or a failed run that nobody mentions."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from report_factory import SKILL, write_flawed, write_study

from benchmark.errors import UserError
from benchmark.results.store import Store
from plots import render
from plots.data import Results
from plots.figures.methods import tuning_curves
from plots.stats import paired
from plots.tables._audit_warnings import audit_warnings
from plots.tables.audit import audit
from plots.tables.leaderboard import leaderboards, verdicts
from plots.tables.protocol_gap import protocol_gap
from plots.tables.robustness_slopes import robustness_slopes


@pytest.fixture(scope="module")
def flawed(tmp_path_factory):
    root = tmp_path_factory.mktemp("flawed")
    write_flawed(root)
    return Results(root, "quick")


def said(results, study="main"):
    return [str(flaw) for flaw in audit_warnings(results.frame(study))]


def test_every_flaw_is_told_in_words_and_warnings_come_first(flawed):
    told = said(flawed)
    levels = [text.split()[0].rstrip(":") for text in told]
    assert levels == sorted(levels, reverse=True)  # Warning before Note
    words = " ".join(told)
    for flaw in (
        "trials 6 for Triplet, MS + miner, Proxy NCA, Proxy Anchor, Contextual; 5 for Contrastive",
        "different ranges",
        "at the high end of the range searched (0.03): Proxy Anchor",
        "Final runs that diverged: Triplet 1",
        "Final runs that failed with an error: Proxy NCA 1",
        "Runs come from 2 commits",
    ):
        assert flaw in words
    assert "Untrained" not in words  # it is not tuned, and must not be


def test_a_fair_study_has_no_warning(tmp_path):
    write_study(tmp_path, seeds=3)
    results = Results(tmp_path, "quick")
    assert said(results) == []
    assert audit(results)[0].caption[0] == "Fairness audit of study main: no warnings."


def test_an_unequal_setting_is_a_warning_and_what_a_method_asks_for_a_note(tmp_path):
    write_study(tmp_path, methods=("contrastive", "contextual"), seeds=3)
    write_study(tmp_path, methods=("triplet",), seeds=3, fields={"epochs": 20})
    write_study(tmp_path, methods=("proxy_nca",), seeds=3, fields={"sampler": "shuffle"})
    told = said(Results(tmp_path, "quick"))
    assert [text.partition(" ")[0] for text in told] == ["Warning", "Note"]
    assert "Triplet trained with epochs 20 (others 10)" in told[0]
    assert "Proxy NCA trained with sampler shuffle" in told[1]


def test_a_tuned_value_at_an_end_and_a_rate_of_another_variation_are_told(tmp_path):
    variations = ({"train_classes": 100}, {"train_classes": 30})
    rows = write_study(tmp_path, seeds=3, variations=variations, methods=("triplet", "contextual"))
    for row in rows:
        row["tuned_at"] = '{"train_classes":100}'
        row["ends"] = '{"lam":"high"}' if row["method"] == "contextual" else "{}"
    Store(tmp_path).write_ledger("main", "quick", rows)
    words = " ".join(said(Results(tmp_path, "quick")))
    assert "The best lam lies at the high end of the range searched: Contextual" in words
    assert "Some variations train at the rate that was tuned for another: Triplet, Contextual" in words


def test_what_a_study_varies_is_no_unequal_setting(tmp_path):
    variations = ({"train_classes": 100}, {"train_classes": 30})
    write_study(tmp_path, seeds=3, protocols=("test",), variations=variations, methods=("triplet", "contextual"))
    assert not any("setting" in text for text in said(Results(tmp_path, "quick")))


def test_few_seeds_untuned_rates_and_uncommitted_code_are_told(tmp_path):
    ledger = write_study(tmp_path, seeds=2, rates=(), protocols=("test",), methods=("triplet", "contextual"))
    store = Store(tmp_path)
    for run_id, row in store.rows([row["run_id"] for row in ledger]).items():
        store.write_run(row | {"run_id": run_id, "dirty": True})
    words = " ".join(said(Results(tmp_path, "quick")))
    assert "All runs were made by code that is in no commit" in words
    assert "2 seeds per method" in words
    assert "given, not tuned" in words
    assert "Selected on the test classes only" in words


def test_a_missing_run_and_an_unfinished_tuning_are_told(tmp_path):
    ledger = write_study(tmp_path, seeds=3, protocols=("test",), methods=("triplet", "contextual"))
    gone = next(r for r in ledger if r["phase"] == "final" and r["method"] == "triplet")
    (tmp_path / "runs" / f"{gone['run_id']}.parquet").unlink()
    open_ = [r for r in ledger if r["method"] == "contextual" and r["phase"] == "tune"]
    Store(tmp_path).write_ledger("main", "quick", [r for r in ledger if r["method"] == "triplet"] + open_)
    words = " ".join(said(Results(tmp_path, "quick")))
    assert "Final runs that are missing: Triplet 1" in words
    assert "Tuning is not finished, so there is no result yet: Contextual" in words


def test_the_audit_has_what_a_reviewer_signs(flawed):
    table = next(table for table in audit(flawed) if table.part == "main")
    rows = {(row.keys["protocol"], row.keys["method"]): row.cells for row in table.rows()}
    assert len(rows) == 2 * len(SKILL)
    fair = rows["test", "contextual"]
    assert (fair["trials"].text, fair["range"].text, fair["edge"].text) == ("6", "0.0001 to 0.03", "no")
    assert (fair["tuning"].value, fair["training"].value, fair["seeds"].text) == (15.0, 12.5, "5")
    assert rows["test", "proxy_anchor"]["edge"].text == "rate high"
    assert rows["test", "contrastive"]["trials"].text == "5"
    assert rows["test", "proxy_nca"]["seeds"].text == "4 of 5"
    assert rows["test", "proxy_nca"]["failed"].value == 1
    assert rows["validation", "triplet"]["diverged"].value == 1
    assert "trials" not in rows["test", "untrained"]
    assert len(fair["trials"].run_ids) == 6
    assert len(fair["seeds"].run_ids) == 5
    shared = " ".join(table.caption)
    for fact in ("convnet (scratch)", "pixels 32", "gem", "batch norm train", "128 (4 per class)"):
        assert fact in shared
    assert "commit" in [column.key for column in table.columns]  # it differs, so it is a column
    assert render.markdown([table]).index("Warning") < render.markdown([table]).index("| Method")


def test_the_verdict_names_the_best_and_what_it_takes_to_separate_the_others(flawed):
    board = next(iter(leaderboards(flawed.frame("main"))))
    assert (board.dataset, board.protocol, board.best) == ("glyphs", "test", "contextual")
    assert "Contextual has the best mean R@1" in board.sentences()[0]
    table = verdicts(flawed)[0]
    for board, section in zip(leaderboards(flawed.frame("main")), table.sections, strict=True):
        for row in section.rows[1:]:
            told = paired(board.scores[board.best], board.scores[row.keys["method"]])
            assert row.cells["difference"].value == pytest.approx(told.mean)
            assert row.cells["difference"].half == pytest.approx(told.half)
            assert (row.cells["separable"].text == "no") == row.cells["score"].tied == bool(row.cells["more"].text)


def test_close_methods_are_not_called_separable(tmp_path):
    write_study(tmp_path, methods=("contrastive", "triplet"), seeds=4, protocols=("test",))
    (board,) = leaderboards(Results(tmp_path, "quick").frame("main"))
    assert board.open() == board.others()
    assert "separable from 0 of 1 others; not from" in board.sentences()[1]


def test_variants_of_one_method_are_compared_with_each_other(tmp_path):
    variations = ({"params.lam": 0.4}, {"params.lam": 0.8})
    shift = {0.4: 0.0, 0.8: 0.1}
    write_study(
        tmp_path, "ablation", methods=("contextual",), variations=variations, protocols=("test",),
        shift=lambda method, variation: shift[variation["params.lam"]],
    )  # fmt: skip
    (board,) = leaderboards(Results(tmp_path, "quick").frame("ablation"))
    assert board.title(board.best) == "lam 0.8"


def test_the_price_of_test_selection_is_paired_by_seed_and_ranks_are_compared(flawed):
    (table,) = protocol_gap(flawed)
    rows = {row.keys["method"]: row.cells for row in table.rows()}
    frame = flawed.frame("main")
    for method, cells in rows.items():
        mine = frame[(frame["method"] == method) & (frame["phase"] == "final") & (frame["status"] == "ok")]
        by = mine.set_index(["protocol", "seed"])["test/R@1"]
        assert cells["gap"].value == pytest.approx(100 * (by["test"] - by["validation"]).dropna().mean())
        ends = [json.loads(text)[-1]["test/R@1"] for text in mine[mine["protocol"] == "test"]["curve"]]
        assert cells["last"].value == pytest.approx(100 * sum(ends) / len(ends))
        changed = cells["rank_test"].value != cells["rank_validation"].value
        assert cells["changed"].text == ("yes" if changed else "no")
    assert sorted(cells["rank_test"].value for cells in rows.values()) == list(range(1, len(SKILL) + 1))


def test_slopes_are_points_lost_per_ten_percent_and_per_ten_classes(tmp_path):
    conditions = [{"label_noise": x} for x in (0.0, 0.1, 0.2)] + [{"image_noise": 0.2}]
    conditions = [{"train_classes": 100, **c} for c in conditions] + [{"train_classes": n} for n in (50, 75)]

    def shift(method, variation):
        lost = 0.5 * variation.get("label_noise", 0.0) + 0.25 * variation.get("image_noise", 0.0)
        return -lost - 0.001 * (100 - variation["train_classes"])

    write_study(tmp_path, "robustness", methods=("triplet", "contextual"), variations=tuple(conditions), shift=shift)
    (table,) = robustness_slopes(Results(tmp_path, "quick"))
    for row in table.rows():
        assert row.cells["label_noise"].value == pytest.approx(5.0)
        assert row.cells["image_noise"].value == pytest.approx(2.5)
        assert row.cells["train_classes"].value == pytest.approx(1.0)
        assert row.cells["label_noise"].n == 5
        first, last = (row.cells[f"train_classes {-n}"].value for n in (100, 50))
        assert first - last == pytest.approx(5.0)
    assert "R@1 at 20 %" in [column.title for column in table.columns]


def test_without_results_each_says_what_to_run(tmp_path):
    results = Results(tmp_path, "quick")
    for make in (audit, verdicts, protocol_gap, robustness_slopes):
        with pytest.raises(UserError, match="python -m benchmark run"):
            make(results)


def test_tuning_is_drawn_with_the_chosen_rate_and_what_diverged(tmp_path):
    write_study(
        tmp_path, methods=("triplet", "contextual"), seeds=2,
        status=lambda method, seed, phase: "diverged" if (method, phase) == ("triplet", "tune") else "ok",
    )  # fmt: skip
    results = Results(tmp_path, "quick")
    drawing = tuning_curves(results.frame("main"), results)
    triplet, contextual = drawing.figure.axes[:2]
    assert (triplet.get_title(), contextual.get_title()) == ("Triplet", "Contextual")
    marks = {line.get_marker(): len(line.get_xdata()) for line in contextual.get_lines() if len(line.get_xdata())}
    assert marks["*"] == 1
    assert marks["o"] == 6
    assert any(line.get_marker() == "x" and len(line.get_xdata()) == 6 for line in triplet.get_lines())
    assert "diverged or failed" in drawing.caption
