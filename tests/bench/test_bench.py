"""`python -m benchmark.bench` prints what it measured and keeps it for the scalability figure."""

import subprocess
import sys

import pandas as pd
import pytest
import torch
from loss_batches import relative

import baselines
from benchmark.bench import __main__ as bench
from benchmark.bench import losses


def test_an_unknown_area_is_answered_with_the_nearest():
    command = [sys.executable, "-m", "benchmark.bench", "loses"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=baselines.FOLDER.parent)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: unknown area 'loses'; did you mean 'losses'?")


def test_measurements_are_printed_and_kept(tmp_path, monkeypatch, capsys):
    def turns(n, *forms, crowded=False):
        return {form: (n * (1 + place) / 1e4, 500.0 + place, 20.0 + place) for place, form in enumerate(forms)}

    monkeypatch.setattr(losses, "turns", turns)
    bench.measure("losses", tmp_path / "bench" / "losses.parquet")
    kept = pd.read_parquet(tmp_path / "bench" / "losses.parquet")
    assert {"area", "name", "n", "seconds", "peak_mb", "ratio", "memory_ratio", "baseline"} <= set(kept.columns)
    assert set(kept[kept.name == "contextual"].n) == {128, 512, 1024, 2048, 4096, 6400}
    assert {"contextual, oracle", "floor", "smooth_ap, textbook", "roadmap"} <= set(kept.name)
    for name in baselines.names():
        assert set(kept[kept.name == f"step of {name}"].n) == {128, 1024}
    printed = capsys.readouterr().out
    assert all(name in printed for name in kept.name)


@pytest.mark.parametrize("n", [128, 640])
def test_the_bench_compares_equals_on_neighbourhoods_of_about_ten(n):
    embeddings, labels = losses.batch(n, crowded=False)
    f = embeddings.detach()
    D = 2 - 2 * f @ f.T
    assert 8 < (D.topk(4, largest=False).values[:, -1:] + losses.EPS >= D).sum(dim=1).float().mean() < 12
    (ours,), (oracle,) = (losses.step_of(form)(embeddings, labels) for form in ("contextual", "oracle"))
    assert relative(ours, oracle) < 1e-5
    assert torch.equal(labels.bincount(), torch.full((n // 4,), 4))


@pytest.mark.parametrize("name", losses.TEXTBOOKS)
def test_the_bench_compares_with_the_same_average_precision(name):
    embeddings, labels = losses.batch(64, crowded=False)
    params = baselines.card(name).params
    loss = baselines.build(name, num_classes=16, embedding_dim=losses.DIMENSIONS, lam=1.0)
    values = loss(embeddings, labels), losses.textbook(embeddings, labels, params)
    torch.testing.assert_close(*values)
    torch.testing.assert_close(*(torch.autograd.grad(value, embeddings)[0] for value in values))
