"""The page as a file: whole by itself, the same twice, made of whatever there is, without torch."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_factory import write_study

from benchmark.errors import UserError
from benchmark.results.store import Store
from plots import report, style
from plots.data import Results
from plots.report import page as template
from plots.report.retrieval import FEWEST, places
from plots.report.runs import Groups, packed, rounded


def test_nothing_in_the_file_points_elsewhere(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r'(?:src|href|action)="([^"]*)"', text)
    assert {link.partition(":")[0] if ":" in link else link[:1] for link in links} <= {"data", "#"}
    assert not re.search(r"url\((?!\"\$\{one\.picture)|@import|fetch\(|XMLHttpRequest|<iframe", text)
    assert len(text) < 5_000_000


def test_the_same_results_give_the_same_bytes(tmp_path):
    write_study(tmp_path, methods=("triplet", "contextual"), seeds=2)
    assert report.build(tmp_path) == report.build(tmp_path)


def test_every_cell_of_a_table_leads_to_stored_runs(page, results):
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data-runs">(.*?)</script>', text, re.S)[1])
    used = {int(number) for number in re.findall(r'data-g="(\d+)"', text)}
    assert used
    assert used <= set(range(len(data["groups"])))
    stored = {path.stem for path in (results / "runs").glob("*.parquet")}
    assert {run["id"] for run in data["runs"]} <= stored


def test_the_page_needs_no_torch(tmp_path):
    code = (
        "import sys; from benchmark.__main__ import main; code = main(['report', '--results', sys.argv[1], '--scale', 'laptop']);"
        "assert code == 0, code; assert 'torch' not in sys.modules; assert 'optuna' not in sys.modules"
    )
    copy = tmp_path / "results"
    write_study(copy, scale="laptop", seeds=2, methods=("triplet", "contextual"))
    done = subprocess.run([sys.executable, "-c", code, str(copy)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "index.html" in done.stdout


def test_an_empty_folder_says_what_to_run(tmp_path):
    text = report.build(tmp_path)
    assert "python -m benchmark run main" in text
    assert "Contextual" in text  # the methods are there all the same


def test_a_scale_that_is_none_is_refused(tmp_path):
    with pytest.raises(UserError, match="quick"):
        report.build(tmp_path, ["quik"])


def test_a_deleted_run_is_named_as_missing(tmp_path):
    ledger = write_study(tmp_path, methods=("triplet", "contextual"), seeds=2, protocols=("test",))
    gone = next(row["run_id"] for row in ledger if row["phase"] == "final")
    (tmp_path / "runs" / f"{gone}.parquet").unlink()
    text = report.build(tmp_path)
    assert "1 runs that studies name are not there yet" in text
    assert f'{{"id":"{gone}","status":"missing"}}' in text


def test_runs_that_several_tables_show_are_told_once(tmp_path):
    write_study(tmp_path, methods=("triplet",), seeds=3, protocols=("test",), rates=())
    runs = Store(tmp_path).frame()
    groups = Groups()
    ids = list(runs["run_id"])
    assert groups.number(ids) == groups.number(tuple(ids)) == 0
    assert groups.number(ids[:1]) == 1
    assert groups.number([]) is None
    data = packed(groups, runs)
    assert len(data["runs"]) == 3
    assert data["usual"]["method"] == "triplet"
    assert {tuple(run["spec"]) for run in data["runs"]} <= {("seed",), ()}
    assert None in data["runs"][0]["curve"]["loss"]  # NaN is no JSON


@given(st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.none(), st.lists, max_leaves=5))
def test_data_cannot_end_its_script_element(value):
    text = str(template.as_json([value, "</script><script>", "<!--", "]]>"]))
    assert not set("<>&") & set(text)
    assert json.loads(text)[0] == value


@given(st.floats())
def test_numbers_are_short_and_finite(value):
    short = rounded(value)
    assert short is None or abs(short - value) <= 1e-4 * abs(value)
    json.dumps(short, allow_nan=False)


def test_the_templates_are_where_an_installed_package_looks():
    assert {path.suffix for path in Path(template.FOLDER).iterdir()} == {".html", ".css", ".js"}


def test_thumbnails_take_the_room_that_the_rest_of_the_page_leaves(retrieval, data):
    of_scales = [Results(retrieval, "quick", data=data)]
    shown = [len(places(of_scales, room)["places"][0]["labels"]) for room in (10_000_000, 0)]
    assert shown[1] <= FEWEST < shown[0]


def test_headings_name_data_sets_as_papers_do():
    assert style.place("cars?missing=skip, protocol test") == "Cars, protocol test"
    assert style.place("main_cub_cars, ./cars/list.csv, inshop") == "main_cub_cars, ./cars/list.csv, In-Shop"
