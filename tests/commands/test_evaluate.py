"""Embeddings made elsewhere are judged from the command line, by a person or by a program."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.__main__ import main
from benchmark.commands.evaluate import read
from benchmark.errors import UserError
from benchmark.evaluation import retrieval_metrics

GENERATOR = np.random.default_rng(0)
LABELS = np.arange(40) % 8
X = (GENERATOR.standard_normal((8, 12))[LABELS] + GENERATOR.standard_normal((40, 12))).astype(np.float32)


def _parquet(path: Path, **columns: object) -> Path:
    pq.write_table(pa.table({"embedding": list(X)} | columns), path)
    return path


def test_npz_prints_a_table_and_gives_json_to_programs(tmp_path: Path):
    file = tmp_path / "embeddings.npz"
    np.savez(file, embeddings=X, labels=LABELS)
    command = [sys.executable, "-m", "benchmark", "evaluate", str(file)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = retrieval_metrics(X, LABELS)
    assert f"{100 * expected['R@1']:.2f} %" in shown
    options = ["--json", "--ks", "1,10", "--rerank", "4,8", "--beta", "0.2", "--health"]
    given = json.loads(subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout)
    expected = retrieval_metrics(X, LABELS, ks=(1, 10), rerank=(4, 8), beta=0.2)
    assert expected.items() <= given.items()
    assert "health/effective_rank" in given


def test_query_and_gallery_in_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    expected = retrieval_metrics(X[:10], LABELS[:10], X[10:], LABELS[10:])
    npz = tmp_path / "sets.npz"
    np.savez(npz, embeddings=X[:10], labels=LABELS[:10], gallery_embeddings=X[10:], gallery_labels=LABELS[10:])
    sets = ["query"] * 10 + ["gallery"] * 30
    for file in (npz, _parquet(tmp_path / "sets.parquet", label=LABELS, set=sets)):
        assert main(["evaluate", str(file), "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == expected


def test_parquet_columns_are_levels_and_text_is_numbered(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    species = [f"species {i}" for i in LABELS]
    file = _parquet(tmp_path / "birds.parquet", species=species, family=LABELS // 2, photographer=LABELS * 0)
    assert main(["evaluate", str(file), "--json", "--labels", "species,family"]) == 0
    labels = np.stack([LABELS, LABELS // 2], axis=1)
    expected = retrieval_metrics(X, labels, levels=("species", "family"))
    assert json.loads(capsys.readouterr().out) == expected


def test_half_precision_and_fixed_size_lists_are_read(tmp_path: Path):
    flat = pa.array(X.astype(np.float16).ravel())
    table = pa.table({"embedding": pa.FixedSizeListArray.from_arrays(flat, 12), "label": LABELS})
    pq.write_table(table, tmp_path / "half.parquet")
    assert np.array_equal(read(tmp_path / "half.parquet").query, X.astype(np.float16))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "missing.npz", "no file"),
        (lambda p: p / "embeddings.csv", "give an .npz or a .parquet file"),
        (lambda p: _npz(p, embeddings=X), "no array 'labels' .it holds embeddings"),
        (lambda p: _npz(p, embeddings=X, labels=LABELS, gallery_labels=LABELS), "both gallery_embeddings"),
        (lambda p: _npz(p, embeddings=X, labels=LABELS + 0.5), "expected integers"),
        (lambda p: _npz(p, embeddings=X, labels=np.arange(40)), "none of the 40 queries"),
        (lambda p: _text(p / "broken.npz"), "cannot be read as .npz"),
        (lambda p: _text(p / "broken.parquet"), "cannot be read as Parquet"),
        (lambda p: _parquet(p / "a.parquet"), "no label column"),
        (lambda p: _parquet(p / "a.parquet", label=LABELS + 0.5), "expected integers or text"),
        (lambda p: _parquet(p / "a.parquet", label=[None, *LABELS[1:]]), "missing"),
        (lambda p: _parquet(p / "a.parquet", label=LABELS, set=["query"] * 39 + ["galery"]), "did you mean 'gallery'"),
        (lambda p: _parquet(p / "a.parquet", embedding=[[1.0], [1.0, 2.0]] * 20, label=LABELS), "different lengths"),
        (lambda p: _parquet(p / "a.parquet", embedding=LABELS, label=LABELS), "expected lists of numbers"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(make, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", str(make(tmp_path))]) == 2
    error = capsys.readouterr().err
    import re

    assert re.search(message, error), error
    assert "Traceback" not in error


def test_unknown_label_columns_are_named(tmp_path: Path):
    with pytest.raises(UserError, match="did you mean 'label'"):
        read(_parquet(tmp_path / "a.parquet", label=LABELS), ("lable",))


def _npz(folder: Path, **arrays: np.ndarray) -> Path:
    np.savez(folder / "a.npz", **arrays)
    return folder / "a.npz"


def _text(path: Path) -> Path:
    path.write_text("not this format")
    return path
