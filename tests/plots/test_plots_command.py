"""`python -m plots`: every table and figure is made or listed with its reason, twice the same, without torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from study_factory import write_study

import plots
from benchmark.results.store import Store
from plots.__main__ import main
from plots.catalogue import entries
from plots.tables import published
from plots.tables._comparison import compare

ROOT = Path(plots.__file__).parents[1]


@pytest.fixture
def results(tmp_path):
    write_study(tmp_path, protocols=("test", "validation"))
    write_study(tmp_path, "gradient_correction", methods=("contextual",), variations=({"params.variant": "full"},))
    return tmp_path


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def made(results):
    return contents(results / "tables") | contents(results / "figures")


SOME = ["--only", "main,gradient_correction"]


def test_twice_gives_identical_bytes(results):
    command = ["all", "--results", str(results), "--only", "main,gradient_correction,overfitting"]
    assert main(command) == 0
    first = made(results)
    assert main(command) == 0
    assert made(results) == first
    names = {path.name for path in first}
    assert {"main.md", "main.tex", "main.csv", "overfitting.png", "overfitting.pdf", "overfitting.txt"} <= names
    for path, data in first.items():
        assert data, path
        assert str(results).encode() not in data, f"{path} names a folder of this machine"


def test_a_table_that_cannot_be_made_any_more_does_not_stay_behind(results):
    main(["tables", "--results", str(results), *SOME])
    (results / "studies" / "quick" / "gradient_correction.parquet").unlink()
    assert (results / "tables" / "quick" / "gradient_correction.md").exists()
    main(["tables", "--results", str(results), *SOME])
    assert not (results / "tables" / "quick" / "gradient_correction.md").exists()


def break_one(monkeypatch):
    def broken(name, *given, **more):
        return 1 / 0 if name == "gradient_correction" else compare(name, *given, **more)

    monkeypatch.setattr("plots.tables.layouts.compare", broken)


def test_a_broken_module_is_listed_and_the_others_are_made(results, monkeypatch, capsys):
    break_one(monkeypatch)
    assert main(["tables", "--results", str(results), *SOME]) == 1
    told = capsys.readouterr()
    assert "not made: gradient_correction: ZeroDivisionError" in told.err
    assert "Contextual" in told.out


def test_a_table_that_crashes_shows_where_and_the_command_fails_every_time(results, monkeypatch, capsys):
    break_one(monkeypatch)
    for _ in range(2):
        assert main(["tables", "--results", str(results)]) == 1
        told = capsys.readouterr()
        assert "Traceback" in told.err
        assert "in gradient_correction" in told.err
        assert "main: glyphs" in told.out


def test_a_scale_that_is_none_is_refused_with_a_suggestion(results, capsys):
    assert main(["tables", "--results", str(results), "--scale", "quik"]) == 2
    assert "unknown scale 'quik'; did you mean 'quick'?" in capsys.readouterr().err


def test_an_unknown_name_is_corrected(results, capsys):
    assert main(["tables", "--results", str(results), "--only", "mian"]) == 2
    assert "did you mean 'main'?" in capsys.readouterr().err


def test_everything_is_made_or_listed_with_its_reason_and_no_torch_is_needed(results):
    code = (
        "import sys; from plots.__main__ import main\n"
        f"main(['all', '--results', {str(results)!r}])\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tables = results / "tables" / "quick"
    listed = (tables / "not_made.md").read_text()
    assert "- inshop: no results of study 'inshop' at scale 'quick' (python -m benchmark run inshop" in listed
    assert "not made: inshop" in done.stderr
    for name in entries(["table"])[0]:
        assert (tables / f"{name}.md").exists() != (f"- {name}:" in listed), name
    assert (tables / "summary.md").exists()


def test_the_committed_reference_is_used_where_nothing_was_run(tmp_path):
    write_study(tmp_path / "reference", separate=True)
    assert not Store(tmp_path).ledger_path("main", "quick").exists()
    assert main(["tables", "--results", str(tmp_path), "--only", "main"]) == 0
    assert "Contextual" in (tmp_path / "tables" / "quick" / "main.md").read_text()


def test_every_table_of_the_paper_is_made_from_the_study_of_its_name():
    found, broken = entries()
    assert not broken
    assert len(found) == len(entries(["table"])[0]) + len(entries(["figure"])[0])  # no name twice
    for name in published.names():
        assert (found[name].kind, found[name].study) == ("table", name)
        assert (ROOT / "studies" / f"{name}.toml").is_file()


def test_make_is_told_the_studies_that_tables_and_figures_need(capsys):
    assert main(["needs", "tables"]) == 0
    tables = capsys.readouterr().out.split()
    assert {"main", "robustness", "hierarchy"} <= set(tables)
    assert "convergence" not in tables
    assert main(["needs", "figures"]) == 0
    assert "convergence" in capsys.readouterr().out


def test_nothing_in_plots_imports_torch():
    for path in (ROOT / "plots").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] in ("torch", "torchvision") for name in names), path
