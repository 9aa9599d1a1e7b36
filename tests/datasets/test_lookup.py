"""Finding data sets by name, cheaply, and saying which ones a disk holds."""

import subprocess
import sys

import pytest
from trees import TREES

from benchmark import datasets
from benchmark.commands.doctor import survey
from benchmark.errors import UserError


def test_all_promised_names_are_there():
    promised = ["glyphs", "cub", "cars", "sop", "inshop", "inat", "cifar100", "aircraft", "omniglot", "flowers"]
    assert sorted(datasets.names()) == sorted(promised)


def test_names_are_listed_without_torch_pandas_or_pil():
    code = (
        "import sys; from benchmark import datasets; from benchmark.planning import settings;"
        "datasets.summaries(); settings.setting('224', 'cub');"
        "sys.exit(bool({'torch', 'pandas', 'PIL', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_misspelt_name_gets_the_right_one(tmp_path):
    with pytest.raises(UserError, match="unknown data set 'cubs'; did you mean 'cub'"):
        datasets.open_dataset("cubs", tmp_path)


def test_a_path_that_leads_nowhere_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(UserError, match=r"'birds\.csv': there is no such file"):
        datasets.open_dataset("birds.csv", tmp_path)
    (tmp_path / "birds.xlsx").touch()
    with pytest.raises(UserError, match=r"is a \.xlsx file; expected \.csv, \.parquet or a folder"):
        datasets.open_dataset(str(tmp_path / "birds.xlsx"), tmp_path)


@pytest.mark.parametrize("option", ["splt=class", "split", "label="])
def test_an_unknown_option_of_a_path_is_named(option, tmp_path):
    with pytest.raises(UserError, match="unknown option"):
        datasets.open_dataset(f"birds.csv?{option}", tmp_path)


def test_an_empty_disk_says_where_each_data_set_comes_from(tmp_path):
    found = {name: (state, text) for state, name, text in survey(tmp_path)}
    assert found.keys() == set(datasets.names())
    assert found.pop("glyphs") == ("ok", "embedded; comes with the project")
    for state, text in found.values():
        assert state == "note"
        assert text.startswith("absent")
        assert "https://" in text
    assert list(tmp_path.iterdir()) == []


def test_a_part_on_disk_is_told_from_the_whole(tmp_path, monkeypatch):
    for tree in ("cub", "sop"):
        TREES[tree][1](tmp_path)
    monkeypatch.setattr("benchmark.datasets.sop.open.__defaults__", (None, ""))  # as if the small tree were the whole
    found = {name: (state, text) for state, name, text in survey(tmp_path)}
    assert found["cub"][0] == "problem"
    assert "incomplete; data set cub is not whole (training images: 15 instead of 5,864" in found["cub"][1]
    assert found["sop"][0] == "ok"
    assert "whole; sop: train 18 images of 6 product / 2 category" in found["sop"][1]
