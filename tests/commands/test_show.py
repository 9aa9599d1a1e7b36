"""`show`: people see what they train on, and what was done to it."""

import subprocess
import sys

import pytest
from PIL import Image
from trees import cub, photo

from benchmark.__main__ import main


@pytest.fixture
def birds(tmp_path):
    for c in range(6):
        for i in range(5):
            photo(tmp_path / "birds" / f"class{c}" / f"{i}.png", 10 * c + i)
    return tmp_path / "birds"


def show(*arguments: object) -> int:
    return main(["show", *map(str, arguments)])


def test_a_contact_sheet_is_written(birds, tmp_path, capsys):
    out = tmp_path / "sheets" / "birds.png"
    for side in ("train", "test"):
        assert show(birds, "--out", out, "--side", side, "--classes", 2, "--images", 3) == 0
        with Image.open(out) as sheet:
            assert sheet.width > 500
            assert len(sheet.getcolors(1_000_000)) > 100
    assert "train 15 images of 3 class; test 15 images of 3 class" in capsys.readouterr().out


def test_every_changed_sample_can_be_listed(birds, tmp_path, capsys):
    out = tmp_path / "x.png"
    damage = ["--label-noise", 0.4, "--label-noise-excludes-true", "--corrupted"]
    assert show(birds, "--out", out, *damage) == 0
    printed = capsys.readouterr().out
    assert "6 of 15 training samples are changed (seed 0)" in printed
    listed = [line.split("\t") for line in printed.splitlines() if "\t" in line]
    assert len(listed) == 6
    assert all(kind == "label" and true != now for _, kind, true, now in listed)
    with Image.open(out) as sheet:
        assert (200, 30, 30) in {colour for _, colour in sheet.getcolors(1_000_000)}  # a red frame


def test_distractors_are_framed_in_blue(birds, tmp_path):
    photo(tmp_path / "web" / "1.png", 500)
    out = tmp_path / "x.png"
    assert show(birds, "--out", out, "--image-noise", 0.3, "--distractors", tmp_path / "web") == 0
    with Image.open(out) as sheet:
        assert (30, 80, 200) in {colour for _, colour in sheet.getcolors(1_000_000)}


def test_the_embedded_letters_print_their_ceiling(data, tmp_path, capsys):
    assert show("glyphs", "--data", data, "--out", tmp_path / "glyphs.png", "--image-noise", 0.1) == 0
    printed = capsys.readouterr().out
    assert "highest R@1" in printed


def test_bad_input_is_one_line_and_code_two(birds, tmp_path, capsys):
    assert show(birds, "--out", tmp_path / "sheet.nonsense") == 2
    assert show(birds, "--classes", 0) == 2
    assert show(birds, "--label-noise", 1.5) == 2
    cub(tmp_path)
    assert show("cub", "--data", tmp_path) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 4
    assert "is not whole" in errors[-1]


def test_help_needs_no_torch():
    for command in ("show", "pack"):
        code = (
            f"import sys; from benchmark.commands import {command}; import argparse;"
            f"{command}.configure(argparse.ArgumentParser()); sys.exit('torch' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
