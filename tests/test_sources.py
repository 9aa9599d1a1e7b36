"""If the fingerprint of code were wrong, an edited loss would keep its old numbers, or a comment cost an hour of training."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import baselines
from benchmark import sources

LOSS = '''"""A loss."""
from torch import nn
from pack._part import scale, shift as moved

TITLE = "Mine"
K = 3


class Mine(nn.Module):
    """Docs."""

    def forward(self, f, labels):  # a comment
        return scale * (f - K) + moved
'''
PART = "scale = 2.0\nshift = 1.0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "mine.py").write_text(LOSS)
    (tmp_path / "pack" / "_part.py").write_text(PART)
    return tmp_path


def of(folder: Path, loss: str = LOSS, part: str = PART, name: str = "_part") -> str:
    shutil.rmtree(folder / "pack")
    (folder / "pack").mkdir()
    (folder / "pack" / "mine.py").write_text(loss)
    (folder / "pack" / f"{name}.py").write_text(part)
    sources._read.cache_clear()  # files written within one tick of the clock
    return sources.fingerprint(folder / "pack" / "mine.py", folder, aside=("TITLE",))


def test_what_changes_no_number_changes_nothing(folder):
    same = of(folder)
    assert of(folder, LOSS.replace("  # a comment", "")) == same
    assert of(folder, LOSS.replace('"""Docs."""', '"""Other docs."""').replace("A loss", "The loss")) == same
    assert (
        of(
            folder,
            LOSS.replace("scale * (f - K) + moved", "(\n            scale * (f - K)\n            + moved\n        )"),
        )
        == same
    )
    assert of(folder, LOSS.replace('"Mine"', '"Another title"')) == same
    assert of(folder, part="# why\nscale = 2.0\n\nshift = 1.0  # so\n") == same
    imports = "from torch import nn\nfrom pack._part import scale, shift as moved\n"
    assert of(folder, LOSS.replace(imports, "\n".join(reversed(imports.splitlines())) + "\n")) == same


def test_renaming_or_moving_a_file_changes_nothing(folder):
    assert of(folder, LOSS.replace("_part", "_renamed"), name="_renamed") == of(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [("f - K", "f + K"), ("K = 3", "K = 4"), ("return scale", "return -scale"), ("nn.Module", "nn.ReLU")],
)
def test_an_edit_of_the_loss_changes_it(folder, old, new):
    assert of(folder, LOSS.replace(old, new)) != of(folder)


def test_an_edit_of_a_part_that_it_is_built_from_changes_it(folder):
    assert of(folder, part=PART.replace("1.0", "1.5")) != of(folder)


def test_every_method_has_a_fingerprint_of_its_own_but_for_those_that_are_the_same_code():
    prints = {name: baselines.fingerprint(name) for name in baselines.names()}
    assert len(set(prints.values())) == len(prints)


def test_the_wrapper_around_every_loss_belongs_to_every_method(tmp_path, monkeypatch):
    before = baselines.fingerprint("contrastive")
    shutil.copytree(baselines.FOLDER, tmp_path / "baselines", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(baselines, "FOLDER", tmp_path / "baselines")
    assert baselines.fingerprint("contrastive") == before, "wherever the project lies"
    wrapper = tmp_path / "baselines" / "_loss.py"
    wrapper.write_text(wrapper.read_text().replace("F.normalize(embeddings)", "F.normalize(-embeddings)"))
    assert baselines.fingerprint("contrastive") != before


def test_a_method_on_top_of_another_changes_with_it(tmp_path, monkeypatch):
    before = baselines.fingerprint("s2sd")
    shutil.copytree(baselines.FOLDER, tmp_path / "baselines", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(baselines, "FOLDER", tmp_path / "baselines")
    base = tmp_path / "baselines" / "multi_similarity.py"
    base.write_text(base.read_text().replace("beta=beta", "beta=2 * beta"))
    assert baselines.fingerprint("s2sd") != before


def test_a_method_on_another_base_changes_with_that_one_only(tmp_path, monkeypatch):
    def prints() -> tuple[str, ...]:
        return tuple(baselines.fingerprint("s2sd", base) for base in ("multi_similarity", "margin", "triplet"))

    default, margin, triplet = prints()
    assert default == baselines.fingerprint("s2sd")
    shutil.copytree(baselines.FOLDER, tmp_path / "baselines", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(baselines, "FOLDER", tmp_path / "baselines")
    base = tmp_path / "baselines" / "margin.py"
    base.write_text(base.read_text() + "\nEDITED = 1\n")
    assert prints()[::2] == (default, triplet)
    assert prints()[1] != margin


def test_nothing_is_run_to_take_a_fingerprint():
    code = "import sys, baselines; baselines.fingerprint('proxy_anchor'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
