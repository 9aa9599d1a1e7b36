"""The page in a real browser: what a reader would lose if it did not open, sort, filter, answer or stay text."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from report_factory import HOSTILE, write_study

from plots import report

WIDTHS = (400, 900, 1600)


def column(table, index):
    """Its texts, also while the table is out of sight and not laid out."""
    return table.locator("tbody").first.locator(f"tr.row > :nth-child({index})").all_text_contents()


def shown(tab, selector):
    return tab.locator(f"{selector}:visible").count()


def test_the_page_opens_from_disk_without_a_request_or_a_complaint(opened):
    one = opened(offline=True)
    one.tab.locator("#tables button.cell").first.click()
    one.tab.keyboard.press("Escape")
    one.tab.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    one.tab.wait_for_timeout(200)
    assert [url for url in one.requests if not url.startswith(("file:", "data:"))] == []
    assert one.complaints == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off_at_any_width(opened, width):
    for scheme in ("light", "dark"):
        tab = opened(viewport={"width": width, "height": 900}, color_scheme=scheme).tab
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.locator("#tables button.cell").first.click()
        assert tab.locator("#runs .body").bounding_box()["width"] <= width


def test_a_heading_sorts_both_ways_and_back_within_each_section(opened):
    tab = opened().tab
    table = tab.locator("#quick-main-glyphs table")
    before = column(table, 1)
    head = table.locator("thead th", has_text="R@1").first
    head.locator("button").click()
    values = [float(text.split()[0]) for text in column(table, 2)]
    assert head.get_attribute("aria-sort") == "descending"
    assert values == sorted(values, reverse=True)
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text.split()[0]) for text in column(table, 2)] == sorted(values)
    head.locator("button").click()
    assert column(table, 1) == before
    assert table.locator("tbody").count() == 2  # protocols stay apart


def test_filters_change_what_is_shown_everywhere(opened):
    tab = opened().tab
    rows = shown(tab, "tr.row")
    cards = shown(tab, ".card")
    tab.locator(".filter[data-key=protocol] summary").click()
    tab.get_by_label("validation", exact=True).uncheck()
    assert shown(tab, "tr.row[data-protocol=validation]") == 0
    assert 0 < shown(tab, "tr.row") < rows
    assert 0 < shown(tab, ".card") < cards
    tab.keyboard.press("Escape")
    tab.locator(".filter[data-key=method] summary").click()
    tab.locator(".filter[data-key=method] [data-all=off]").click()
    tab.get_by_label("Triplet", exact=True).check()
    assert set(tab.locator("tr.row:visible").evaluate_all("rows => rows.map((r) => r.dataset.method)")) <= {
        "triplet",
        None,
    }
    assert "of" in tab.locator("#shown").inner_text()
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Reset").click()
    tab.wait_for_timeout(100)
    assert shown(tab, "tr.row") == rows
    tab.locator("#find").fill("contextual")
    assert 0 < shown(tab, "tr.row") < rows
    tab.reload()
    assert tab.locator("#find").input_value() == "contextual"  # while a study runs, one reloads often


def test_a_scale_can_be_hidden_with_its_figures_and_warnings(opened):
    tab = opened().tab
    tab.locator(".filter[data-key=scale] summary").click()
    tab.get_by_label("quick", exact=True).uncheck()
    assert shown(tab, "[data-scale=quick]") == 0
    assert shown(tab, "[data-scale=paper]") > 0


def test_a_cell_opens_its_runs_with_seeds_curves_spec_and_command(opened, results):
    tab = opened().tab
    cell = tab.locator("#quick-main-glyphs tr[data-method=triplet][data-protocol=validation] button.cell").first
    cell.focus()
    tab.keyboard.press("Enter")
    dialog = tab.locator("#runs")
    assert dialog.is_visible()
    assert "Triplet, R@1" in dialog.locator("h2").inner_text()
    assert dialog.locator(".run").count() == 5
    assert "diverged" in dialog.inner_text()  # seed 1
    assert dialog.locator("svg polyline").count() > 4
    assert "embedding_dim" in dialog.inner_text()
    command = shlex.split(dialog.locator(".command code").first.inner_text())
    assert command[:4] == ["python", "-m", "benchmark", "reproduce"]
    assert (results / "runs" / f"{command[4]}.parquet").is_file()
    assert Path(command[6]) == results
    tab.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert tab.evaluate("document.activeElement.className") == "cell"


def test_arrow_keys_move_between_cells_and_tab_leaves_the_table(opened):
    tab = opened().tab
    cells = tab.locator("#quick-main-glyphs button.cell")
    assert tab.locator("#quick-main-glyphs button.cell[tabindex='0']").count() == 1
    cells.first.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    place = tab.evaluate(
        "[document.activeElement.closest('tr').rowIndex, document.activeElement.closest('td').cellIndex]"
    )
    assert place == [3, 2]  # under the heading and the title of the section
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('#quick-main-glyphs table')") is None


def test_csv_and_latex_can_be_copied(opened, results):
    from plots import render
    from plots.data import Results
    from plots.tables.layouts import main

    tab = opened(permissions=["clipboard-read", "clipboard-write"]).tab
    of_scale = Results(results, "quick")
    table = main(of_scale.frame("main"), of_scale)[0]
    for name, text in (("CSV", render.as_csv([table])), ("LaTeX", render.latex([table]))):
        tab.locator("#quick-main-glyphs").get_by_role("button", name=f"Copy {name}").click()
        tab.locator("#status.on").wait_for()
        assert tab.evaluate("navigator.clipboard.readText()") == text


def test_a_method_has_its_definition_constants_and_tuning(opened):
    tab = opened().tab
    tab.locator("#method-contextual > summary").click()
    method = tab.locator("#method-contextual")
    assert "contextual similarity" in method.locator(".definition").inner_text()
    assert "samples per class" in method.locator("table").inner_text()
    assert method.locator(".tuning svg").count() == 3  # main under two protocols, and robustness
    method.locator(".tuning button").first.click()
    assert tab.locator("#runs .run").count() == 6


def test_a_name_that_is_code_stays_text(opened):
    one = opened()
    tab = one.tab
    assert tab.evaluate("window.hacked") is None
    row = tab.locator("tr.row th", has_text=HOSTILE).first
    assert row.inner_text().strip().startswith(HOSTILE)
    tab.locator("button.cell", has=tab.locator("xpath=ancestor::tr[contains(., 'window.hacked')]")).first.click()
    assert HOSTILE in tab.locator("#runs").inner_text()  # the name, and the error of seed 1
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("b", has_text="data").count() == 0
    assert one.complaints == []


def test_printing_shows_everything_and_no_controls(opened):
    tab = opened().tab
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not tab.locator("#filters").is_visible()
    assert tab.locator("#method-contextual .definition").is_visible()
    assert tab.locator("figure.table figcaption p").first.is_visible()
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not tab.locator("#method-contextual .definition").is_visible()


STUDY = """
title = "A tiny study"
datasets = ["glyphs"]
methods = ["contrastive", "triplet"]
setting = "glyphs-quick"
seeds = 1
fields = { epochs = 1, batches_per_epoch = 1, train_classes = 8, test_classes = 8, batch_size = 16, lr = 1e-3 }
"""


def test_the_command_of_a_cell_does_its_run_again(opened, data, tmp_path, monkeypatch):
    (tmp_path / "main.toml").write_text(STUDY)
    (tmp_path / "data").symlink_to(data)
    run = [sys.executable, "-m", "benchmark", "run", "./main.toml", "--jobs", "1"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, timeout=600)
    monkeypatch.chdir(tmp_path)
    tab = opened(report.write(Path("results"))).tab
    tab.locator("#tables button.cell").first.click()
    shown_command = tab.locator("#runs .command code").first.inner_text()
    assert "--results" not in shown_command
    command = [sys.executable, *shlex.split(shown_command)[1:]]
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert again.returncode == 0, again.stderr
    assert "cells agree" in again.stdout


@pytest.fixture(scope="module")
def pictured(retrieval, data):
    return report.write(retrieval, data=data)


def rows_of(tab):
    """Of each query shown: its class, and the kinds of the images that both methods found."""
    kinds = "[...strip.querySelectorAll('.tile')].map((tile) => tile.classList[1])"
    strips = f"[...item.querySelectorAll('.strip')].map((strip) => {kinds})"
    return tab.locator("#retrieval .queries > li").evaluate_all(
        f"items => items.map((item) => [item.querySelector('.asked').textContent.trim(), ...{strips}])"
    )


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_two_methods_retrieved_stands_side_by_side(opened, pictured, width, scheme):
    one = opened(pictured, viewport={"width": width, "height": 900}, color_scheme=scheme)
    rows = rows_of(one.tab)
    assert len(rows) == 12
    assert all(len(found) == 10 for _, a, b in rows for found in (a, b))
    hits = [[sum((kind == "right") / (i + 1) for i, kind in enumerate(found)) for found in (a, b)] for _, a, b in rows]
    gaps = [abs(a - b) for a, b in hits]
    assert gaps == sorted(gaps, reverse=True)  # where they differ most comes first
    assert one.tab.evaluate("document.documentElement.scrollWidth") <= width
    tile = one.tab.locator("#retrieval .strip .tile").first
    assert "url(" in tile.evaluate("tile => getComputedStyle(tile).backgroundImage")
    assert one.complaints == []


def test_other_methods_and_classes_can_be_chosen_without_a_mouse(opened, pictured):
    tab = opened(pictured).tab
    before = rows_of(tab)
    tab.get_by_label("First method").focus()
    tab.keyboard.press("ArrowUp")  # untrained
    assert rows_of(tab) != before
    assert tab.locator("#retrieval .strip .by").first.text_content() == "Untrained"
    tab.locator("#retrieval .more").press("Enter")
    assert len(rows_of(tab)) == 24
    chosen = tab.locator("#retrieval select[name=class] option").nth(1)
    tab.locator("#retrieval select[name=class]").select_option(chosen.get_attribute("value"))
    assert {name for name, *_ in rows_of(tab)} == {chosen.text_content()}
    tab.locator("#retrieval .strip .tile").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        tab.keyboard.press(key)
    told = tab.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "place 3, similarity" in told
    assert (
        tab.evaluate("document.activeElement.closest('.strip').getAttribute('aria-label')")
        == "Nearest images by Contextual"
    )


RETRIEVED = {
    "queries": [3],
    "found": [[4, 5]],
    "cosine": [[0.9, 0.8]],
    "labels": {"3": [7, 1], "4": [5, 1], "5": [7, 1]},
}


def test_without_the_data_names_stand_in_the_place_of_images(opened, tmp_path):
    path = tmp_path / "results"
    write_study(
        path, methods=("untrained", "contextual"), seeds=1, datasets=("cub",), protocols=("test",), rates=(),
        retrieved=lambda method, seed: RETRIEVED,
    )  # fmt: skip
    tab = opened(report.write(path, data=tmp_path)).tab
    assert tab.locator("#retrieval .strip .tile").first.text_content() == "class 5"
