"""What README and docs/ say can be followed: files exist, commands and options are known, examples are accepted."""

import argparse
import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from benchmark.__main__ import commands
from benchmark.planning import study
from plots.catalogue import entries

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
ROOMS = ("benchmark/", "baselines/", "plots/", "studies/", "tests/", "docs/", "results/published", "results/reference")
EXAMPLES = {"baselines/hardest_pairs.py"}  # the README's own loss


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_is_there(page):
    text = page.read_text(encoding="utf-8")
    links = [page.parent / link for link in re.findall(r"\]\((?!http)([^)#]+)\)", text)]
    named = [word for word in re.findall(r"`([\w./]+)`", text) if word.startswith(ROOMS) and word not in EXAMPLES]
    places = links + [ROOT / name for name in named if "NAME" not in name]
    assert [str(path) for path in places if not path.exists()] == []


def test_every_module_that_is_named_is_there():
    code = [path for room in ("benchmark", "baselines", "plots") for path in ROOT.glob(f"{room}/**/*.py")]
    known = {path.name for path in code} | {"setup.py", "NAME.py", "hardest_pairs.py"}
    for page in PAGES + code:
        named = re.findall(r"`(\w+\.py)`", page.read_text(encoding="utf-8"))
        assert set(named) <= known, page


def lines(page: Path) -> list[str]:
    """The command lines of a page's code blocks and of its text."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    return [line.partition("#")[0] for line in blocks + re.findall(r"`([^`\n]+)`", text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_is_known(page):
    for line in lines(page):
        found = re.search(r"python -m benchmark ([a-z]\S*)(.*)", line.strip("' "))
        if found is None or found[1] not in commands():
            assert found is None or "|" in line, line  # a list of commands
            continue
        parser = argparse.ArgumentParser()
        importlib.import_module(f"benchmark.commands.{found[1]}").configure(parser)
        known = {option for action in parser._actions for option in action.option_strings}
        given = [word.partition("=")[0] for word in shlex.split(found[2].rstrip("'")) if word.startswith("--")]
        assert set(given) <= known, line


def test_every_room_has_its_place_in_the_order_of_imports():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    placed = {room for row in contracts[0]["layers"] for room in row.split(" : ")}
    rooms = {f"benchmark.{path.stem}" for path in (ROOT / "benchmark").iterdir() if path.suffix in (".py", "")}
    assert rooms - {"benchmark.__init__", "benchmark.__pycache__"} <= placed


def test_every_make_target_is_known():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        for words in re.findall(r"(?:^|`)make ([a-z ]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert set(words.split()) <= targets, (page.name, words)


def test_every_table_is_explained():
    text = (ROOT / "docs" / "TABLES.md").read_text(encoding="utf-8")
    assert [name for name in entries(["table"])[0] if f"`{name}`" not in text] == []


def test_the_example_of_a_study_is_accepted(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    (tmp_path / "noise.toml").write_text(text, encoding="utf-8")
    assert study.load(str(tmp_path / "noise.toml"), "laptop").seeds == 5


def test_the_readme_is_short_and_begins_with_what_matters():
    text = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(text) <= 135
    assert all(any(word in line for line in text[:20]) for word in ("make tables", "make test", ".png", "https://"))


def committed(name: str, part: str) -> list[dict[str, str]]:
    """R@1 by method in each section of a table that lies in the reference, as it is printed."""
    sections: list[dict[str, str]] = []
    text = (ROOT / f"results/reference/tables/photos/{name}.md").read_text(encoding="utf-8")
    for line in text.split(f"### {name}: {part}\n")[1].partition("\n### ")[0].splitlines():
        cells = [re.sub(r"<sup>.*?</sup>", "", cell).strip() for cell in line.strip("|").split("|")]
        if cells[0].startswith(("*protocol", ":--")):
            sections.append({})
        elif line.startswith("|") and "±" in line:
            sections[-1][cells[0]] = cells[1]
    return [section for section in sections if section]


def test_the_numbers_of_the_readme_are_those_of_the_committed_tables():
    """Its first table is a part of those that `python -m plots tables` makes of the committed runs."""
    parts = (("main", "cub"), ("main", "cars"), ("inshop", "inshop"), ("fine_tuning", "cub"))
    columns = [column for name, part in parts for column in committed(name, part)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in readme.splitlines() if "±" in line]
    assert len(rows) > 5
    for method, *told in rows:
        assert told == [column.get(method, "") for column in columns], method
