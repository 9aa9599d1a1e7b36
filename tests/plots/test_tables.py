"""Tables: what a reader would lose if a cell, a mark, a footnote or a file said something else than the runs."""

import csv
import io
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_factory import METHODS, metrics_of, write_study

from benchmark.errors import UserError
from plots import render
from plots.catalogue import entries
from plots.data import Results
from plots.stats import t_interval
from plots.tables._table import Cell, Column, Row, Section, Table

TABLES, _ = entries(["table"])


def tables(root, name="main", scale="quick"):
    return TABLES[name].produce(Results(root, scale))


def row_of(table, title, section=0):
    return next(row for row in table.sections[section].rows if row.title == title)


def test_a_cell_is_the_mean_over_seeds_with_its_t_interval_and_its_runs(tmp_path):
    ledger = write_study(tmp_path, seeds=5)
    cell = row_of(tables(tmp_path)[0], "Contrastive").cells["test/R@1"]
    expected = t_interval([100 * metrics_of("contrastive", seed)["test/R@1"] for seed in range(5)])
    assert (cell.value, cell.half, cell.n) == pytest.approx((expected.mean, expected.half, 5))
    assert set(cell.run_ids) == {row["run_id"] for row in ledger if row["method"] == "contrastive"}


def test_the_best_is_bold_and_what_cannot_be_told_from_it_is_marked(tmp_path):
    write_study(tmp_path, methods=("contrastive", "triplet", "untrained"), seeds=5)
    table = tables(tmp_path)[0]
    cells = {row.title: row.cells["test/R@1"] for row in table.rows()}
    assert sum(cell.best for cell in cells.values()) == 1
    close = cells["Contrastive"] if cells["Triplet"].best else cells["Triplet"]
    assert close.tied  # 0.1 points apart, with noise of 0.4
    assert not cells["Untrained"].tied
    assert not any(row.cells["train/R@1"].best for row in table.rows())  # no virtue


def test_protocols_never_share_a_row(tmp_path):
    write_study(tmp_path, protocols=("test", "validation"))
    table = tables(tmp_path)[0]
    assert [section.title.split(",")[0] for section in table.sections] == ["protocol test", "protocol validation"]
    for section in table.sections:
        assert {row.keys["protocol"] for row in section.rows} == {section.title.split(",")[0].split()[1]}


def test_another_scale_never_leaks_into_a_table(tmp_path):
    write_study(tmp_path, scale="quick", seeds=2)
    write_study(tmp_path, scale="laptop", seeds=4, fields={"epochs": 7})
    assert row_of(tables(tmp_path)[0], "Triplet").cells["test/R@1"].n == 2
    assert row_of(tables(tmp_path, scale="laptop")[0], "Triplet").cells["test/R@1"].n == 4


def test_a_deleted_result_leaves_a_footnote_and_no_wrong_mean(tmp_path):
    ledger = write_study(tmp_path, seeds=3, separate=True)
    mine = [row for row in ledger if row["method"] == "triplet"]
    (tmp_path / "runs" / f"{mine[0]['run_id']}.parquet").unlink()
    table = tables(tmp_path)[0]
    row = row_of(table, "Triplet")
    expected = t_interval([100 * metrics_of("triplet", seed)["test/R@1"] for seed in (1, 2)])
    assert row.cells["test/R@1"].value == pytest.approx(expected.mean)
    assert row.notes == ("mean of 2 of 3 seeds: 1 missing",)
    assert row.cells["seeds"].text == "2 of 3"
    for other in mine[1:]:
        (tmp_path / "runs" / f"{other['run_id']}.parquet").unlink()
    table = tables(tmp_path)[0]
    row = row_of(table, "Triplet")
    assert row.cells["test/R@1"].missing
    assert row.notes == ("no result: 3 missing",)
    assert "| Triplet<sup>a</sup> | – | – |" in render.markdown([table])


def test_diverged_and_failed_runs_are_told_and_not_averaged(tmp_path):
    states = {("triplet", 0): "diverged", ("triplet", 1): "error", ("contextual", 2): "out_of_memory"}
    write_study(tmp_path, status=lambda method, seed: states.get((method, seed), "ok"))
    table = tables(tmp_path)[0]
    assert row_of(table, "Triplet").notes == ("mean of 1 of 3 seeds: 1 diverged, 1 error",)
    assert row_of(table, "Triplet").cells["test/R@1"].half is None
    assert row_of(table, "Contextual").notes == ("mean of 2 of 3 seeds: 1 out of memory",)


def test_a_method_whose_tuning_is_not_finished_keeps_its_row(tmp_path):
    from benchmark.results.store import Store

    ledger = write_study(tmp_path)
    for row in ledger:
        if row["method"] == "triplet":
            row |= {"phase": "tune", "trial": row["seed"]}
    Store(tmp_path).write_ledger("main", "quick", ledger)
    row = row_of(tables(tmp_path)[0], "Triplet")
    assert row.cells["test/R@1"].missing
    assert row.notes == ("no result: tuning is not finished",)
    assert "lr" not in row.cells


def test_a_row_trained_otherwise_than_its_neighbours_says_so(tmp_path):
    write_study(tmp_path, methods=("contrastive", "contextual"), fields={"epochs": 8})
    write_study(tmp_path, methods=("triplet",), fields={"epochs": 4})
    write_study(tmp_path, methods=("untrained",), fields={"epochs": 1}, seeds=9)
    table = tables(tmp_path)[0]
    assert row_of(table, "Untrained").notes == ()  # nothing was trained
    assert row_of(table, "Triplet").notes == ("trained with epochs 4 (others 8)",)
    assert row_of(table, "Contrastive").notes == ()


@pytest.mark.parametrize(
    ("protocol", "every", "told"),
    [
        (
            "test",
            2,
            "learning rate and epoch chosen on the test classes, as the paper does: values are those of each run's best",
        ),
        ("test", 4, "learning rate chosen on the test classes, as the paper does; values are those of the last epoch"),
        ("validation", 2, "held-out training classes; the test classes are seen once, at the chosen epoch"),
        ("validation", 4, "learning rate chosen on held-out training classes; values are those of the last epoch"),
    ],
)
def test_what_was_looked_at_only_once_is_not_called_the_best_epoch(tmp_path, protocol, every, told):
    write_study(tmp_path, protocols=(protocol,), fields={"epochs": 4, "evaluate_every": every})
    assert told in " ".join(tables(tmp_path)[0].caption)


def test_what_papers_hide_is_printed(tmp_path):
    write_study(tmp_path, edge="high", more_metrics=lambda method, seed: {"data/ceiling R@1": 0.934})
    table = tables(tmp_path)[0]
    row = row_of(table, "Contextual")
    assert row.cells["lr"].text == "0.001"
    assert row.cells["lr"].notes == ("best learning rate at the high end of the range searched (0.0001 to 0.03)",)
    assert row.cells["tuned"].text == "lam 0.8"
    assert row.cells["trials"].value == 6
    assert "lr" not in row_of(table, "Untrained").cells
    words = " ".join(table.caption)
    for told in ("convnet", "embedding 64", "gem pooling", "32 px", "batch norm trained", "batch 128", "93.4"):
        assert told in words
    assert "a rehearsal, not evidence" in words
    above, below = render.markdown([table]).split("| Method", 1)
    assert "Study main: R@1" in above
    assert "Values in percent" not in above
    assert "Values in percent" in below  # how to read a table stands below it


def test_photos_that_were_not_there_are_counted_beside_the_papers_numbers(tmp_path):
    lacks = {"datasets": ("cars?missing=skip",), "more_metrics": lambda method, seed: {"data/missing images": 15.0}}
    write_study(tmp_path, **lacks)
    table = next(one for one in tables(tmp_path) if one.part == "cars")
    assert "15 images of the data set are missing and were left out." in table.caption
    write_study(tmp_path, datasets=("cars",))
    names = {one.part for one in tables(tmp_path)}
    assert {"cars", "cars?missing=skip"} <= names  # never averaged


def test_a_method_of_the_user_is_a_row_like_any_other(tmp_path):
    write_study(tmp_path, methods=("contrastive", "my_$%_loss & more"))
    row = row_of(tables(tmp_path)[0], "my_$%_loss & more")
    assert row.cells["test/R@1"].n == 3


@pytest.mark.parametrize(
    ("skill", "seeds", "verdict"),
    [(0.85, 6, "above"), (0.55, 6, "below"), (0.719, 6, "undecided"), (0.719, 1, "undecided")],
)
def test_the_verdict_on_a_published_number(tmp_path, skill, seeds, verdict):
    """Contextual on CUB at 512 is 71.9 in the paper."""
    write_study(
        tmp_path, "main_cub_cars", "paper", ("cub",), ("contextual",), setting="224", seeds=seeds,
        variations=({"embedding_dim": 512},), shift=lambda variation, dataset: skill - 0.7,
    )  # fmt: skip
    table = tables(tmp_path, "main_cub_cars", "paper")[0]
    row = row_of(table, "Contextual")
    paper = row.cells["test/R@1 paper"]
    assert (paper.value, paper.verdict) == (71.9, verdict)
    assert paper.difference == pytest.approx(row.cells["test/R@1"].value - 71.9)


def test_only_runs_in_the_papers_setting_are_held_against_the_paper(tmp_path):
    write_study(tmp_path, "main_cub_cars", "quick", ("cub",), variations=({"embedding_dim": 512},))
    write_study(
        tmp_path, "main_cub_cars", "paper", ("cub",), setting="224", protocols=("validation",),
        variations=({"embedding_dim": 512},),
    )  # fmt: skip
    for scale in ("quick", "paper"):
        for table in tables(tmp_path, "main_cub_cars", scale):
            counts = table.verdicts()
            assert counts["not run"] == sum(counts.values()) == 45


def test_copied_numbers_stand_apart_and_are_not_judged(tmp_path):
    write_study(tmp_path, "main_cub_cars", "paper", ("cub",), setting="224", variations=({"embedding_dim": 512},))
    table = tables(tmp_path, "main_cub_cars", "paper")[0]
    drml = row_of(table, "DRML")
    assert drml.cells["test/R@1 paper"].value == 68.7
    assert drml.cells["test/R@1 paper"].verdict == ""
    assert "copied" in drml.notes[0]
    assert "BN-Inception" in drml.notes[1]  # what the number really is
    anchors = [row for row in table.sections[0].rows if row.title == "Proxy Anchor"]
    assert [row.cells["test/R@1 paper"].value for row in anchors] == [69.7, 69.1]


def test_a_data_set_that_was_not_run_shows_the_papers_numbers_and_says_so(tmp_path):
    write_study(tmp_path, "main_cub_cars")
    glyphs, cub, cars = tables(tmp_path, "main_cub_cars")
    assert (glyphs.part, cub.part, cars.part) == ("glyphs", "cub", "cars")
    assert not any("paper" in column.key for column in glyphs.columns)
    assert row_of(cub, "Contextual").cells["test/R@1"].missing
    assert row_of(cub, "Contextual").notes == ("not run here",)
    assert "Not run at scale quick" in " ".join(cub.caption)


def test_a_title_says_what_the_rows_are_and_not_what_the_paper_ran(tmp_path):
    write_study(tmp_path, "inshop")
    glyphs, paper = tables(tmp_path, "inshop")
    assert glyphs.caption[0] == "Study inshop: R@1 and R@10 of 4 methods on glyphs, 32 × 32 pixels."
    assert paper.caption[0].endswith("on inshop, as published, queries against a gallery.")


def test_studies_with_the_same_runs_are_one_table(tmp_path):
    write_study(tmp_path, "main")
    write_study(tmp_path, "main_cub_cars")
    results = Results(tmp_path, "quick")
    assert results.repeats == {"main_cub_cars": "main"}
    made = TABLES["main_cub_cars"].produce(results)
    assert [table.part for table in made] == ["cub", "cars"]
    assert not any(table.ran for table in made)
    assert "those of main" in " ".join(made[0].caption)
    (board,) = TABLES["verdicts"].produce(results)
    assert "The same holds for studies whose runs are among these: main_cub_cars." in board.caption


def test_a_study_that_is_part_of_another_has_no_table_of_its_own_until_it_has_runs_of_its_own(tmp_path):
    write_study(tmp_path, "main")
    write_study(tmp_path, "fine_tuning", methods=METHODS[:2], seeds=2)
    with pytest.raises(UserError, match="its runs at scale 'quick' are those of main"):
        tables(tmp_path, "fine_tuning")
    write_study(tmp_path, "fine_tuning", methods=METHODS[:2], seeds=2, fields={"epochs": 7})
    (table,) = tables(tmp_path, "fine_tuning")
    assert len([*table.rows()]) == 2


def test_runs_of_two_kinds_of_device_in_a_table_are_told(tmp_path):
    write_study(tmp_path, methods=("contrastive", "contextual"))
    assert "mixed" not in " ".join(tables(tmp_path)[0].caption)
    write_study(
        tmp_path, methods=("contrastive", "contextual"), stored={"device": "cuda", "precision_used": "mixed"}, first=2
    )
    words = " ".join(tables(tmp_path)[0].caption)
    assert "4 runs cpu, float32; 2 runs cuda, mixed" in words


def test_the_change_that_a_regulariser_makes_is_paired_by_seed(tmp_path):
    variations = tuple({"s_tilde": name} for name in ("none", "0.25", "0.3"))
    change = {"none": 0.0, "0.25": 0.02, "0.3": -0.01}
    write_study(
        tmp_path, "regularizer", methods=("triplet",), variations=variations,
        shift=lambda variation, dataset: change[variation["s_tilde"]],
    )  # fmt: skip
    cells = tables(tmp_path, "regularizer")[0].rows()[0].cells
    assert cells["test/R@1;s_tilde=none"].change is None
    assert cells["test/R@1;s_tilde=0.25"].change == pytest.approx(2.0)
    assert cells["test/R@1;s_tilde=0.3"].change == pytest.approx(-1.0)


def strange_table():
    columns = (
        Column("a_b", "R@1 & more", "Group_%", shaded=True),
        Column("c", "λ s̃ γ ≥ 中", "Group_%"),
        Column("w", "words", text=True),
    )
    number = Cell(71.23456789012345, 0.5, 5, best=True, notes=("100 % of $x_i$ | <b>",), run_ids=("r1",))
    paper = Cell(71.9, difference=-0.67, verdict="below")
    rows = (
        Row("tri<script>plet_#1 ~^\\{}|*`", {"a_b": number, "c": paper, "w": Cell(text='"quotes" & | _')}),
        Row("é µ – ‘q’ “d”", {"a_b": Cell(missing=True, notes=("gone",)), "c": Cell(1.0, change=-0.04, tied=True)}),
    )
    sections = (Section("one & two_", rows), Section("three", rows[:1]))
    return Table("strange_name", "data & set", columns, sections, ("Caption_1 50 % & more.", "Σ → λ."))


def test_the_change_that_matching_makes_has_the_interval_of_its_differences(tmp_path):
    gain = {0: 0.01, 1: 0.02, 2: 0.03}

    def matched(method, seed):
        return {f"diml{k}/R@1": metrics_of(method, seed)["test/R@1"] + k / 10 * gain[seed] for k in (100, 10)}

    write_study(
        tmp_path, "diml", methods=("contrastive", "contextual"), more_metrics=matched, fields={"diml": (10, 100)}
    )
    (table,) = tables(tmp_path, "diml")
    assert [column.title for column in table.columns[:5]] == ["none", "K = 10", "change", "K = 100", "change"]
    for row in table.rows():
        for k in (10, 100):
            expected = t_interval([k * x * 10 for x in gain.values()])
            cell = row.cells[f"diml{k}/change of R@1"]
            assert (cell.value, cell.half) == pytest.approx((expected.mean, expected.half))
            assert not cell.best
    assert "R@1 after matching the 10 nearest" in table.caption[0]


def test_csv_keeps_full_precision_and_every_row():
    lines = list(csv.DictReader(io.StringIO(render.as_csv([strange_table()]))))
    assert len(lines) == 3
    assert float(lines[0]["a_b"]) == 71.23456789012345
    assert (lines[0]["a_b ±"], lines[0]["a_b n"]) == ("0.5", "5")
    assert lines[0]["c verdict"] == "below"
    assert lines[1]["a_b"] == ""
    assert lines[1]["notes"] == "gone"


def test_markdown_is_a_table_whatever_the_names_are():
    text = render.markdown([strange_table()])
    lines = [line for line in text.splitlines() if line.startswith("|")]
    unescaped = [line.replace("\\|", "") for line in lines]
    assert len({line.count("|") for line in unescaped}) == 1
    assert "<script>" not in text.replace("\\<script>", "")
    assert "**71.2 ± 0.5**<sup>a</sup>" in text


def test_negative_zero_is_zero():
    column = Column("x", "x")
    table = Table("t", "", (column,), (Section("", (Row("r", {"x": Cell(-0.01, change=-0.01)}),)),), ("c",))
    assert "0.0 (+0.0)" in render.terminal([table])


@given(st.text(max_size=40))
def test_any_text_can_be_put_into_latex(text):
    escaped = render.escape_latex(text)
    assert escaped.isascii()
    assert "\n" not in escaped


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX here")
def test_the_latex_compiles(tmp_path):
    write_study(tmp_path, "main_cub_cars", "paper", ("cub",), setting="224", variations=({"embedding_dim": 512},))
    made = [*tables(tmp_path, "main_cub_cars", "paper"), strange_table()]
    text = f"\\documentclass{{article}}{render.PREAMBLE}\\begin{{document}}\n{render.latex(made)}\n\\end{{document}}\n"
    (tmp_path / "all.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull \\hbox" not in done.stdout


def test_the_order_of_rows_does_not_depend_on_who_finished_first(tmp_path):
    write_study(tmp_path / "a", methods=METHODS)
    write_study(tmp_path / "b", methods=METHODS[::-1])
    first, second = (render.markdown(tables(tmp_path / name)) for name in "ab")
    assert first == second
    assert np.all(np.diff([first.index(t) for t in ("| Untrained", "| Contrastive", "| Contextual")]) > 0)
