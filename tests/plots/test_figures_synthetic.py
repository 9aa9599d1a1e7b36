"""Figures of the synthetic experiments and of the bench: made from small tables, or listed with what to type."""

import pandas as pd
import pytest

from benchmark.errors import UserError
from benchmark.synthetic import gradient_picture, rolling_point, toy_circles
from plots.catalogue import entries
from plots.data import Results
from plots.figures import pictures

FOUND, _ = entries(["figure"])


def put(root, name, columns, folder="synthetic"):
    (root / folder).mkdir(exist_ok=True)
    pd.DataFrame(columns).to_parquet(root / folder / f"{name}.parquet")
    return Results(root, "quick")


def test_the_rolling_point_is_drawn_with_its_law_in_the_caption(tmp_path, monkeypatch):
    monkeypatch.setattr(rolling_point, "STEPS", 15)
    results = put(tmp_path, "rolling_point", rolling_point.table(tmp_path))
    caption = FOUND["rolling_point"].produce(results).caption
    assert "away from home at 0 of 15 positions" in caption
    assert "above 0 everywhere until the minimum" in caption


def test_toy_circles_are_drawn_with_the_range_over_seeds(tmp_path, monkeypatch):
    for name, value in {"STEPS": 2, "SEEDS": 2, "NOISES": (0.0, 0.2), "JUDGED": 20, "SHOWN": 10}.items():
        monkeypatch.setattr(toy_circles, name, value)
    results = put(tmp_path, "toy_circles", toy_circles.table(tmp_path))
    drawing = FOUND["toy_circles"].produce(results)
    assert len(drawing.figure.axes) == 6
    assert "over 2 seeds" in drawing.caption


def test_the_gradient_picture_is_drawn_from_a_batch(tmp_path, monkeypatch):
    import numpy as np
    import torch

    from benchmark.seeds import numpy_generator

    generator = numpy_generator("picture")
    z = torch.from_numpy(generator.normal(size=(32, 4))).float()
    images = generator.integers(0, 255, size=(32, 16, 16), dtype=np.uint8)
    small = (torch.nn.functional.normalize(z), np.repeat(np.arange(8), 4), images)
    monkeypatch.setattr(gradient_picture, "batch", lambda data: small)
    results = put(tmp_path, "gradient_picture", gradient_picture.table(tmp_path))
    drawing = FOUND["gradient_picture"].produce(results)
    assert "one real batch of 32 letters" in drawing.caption
    assert "L_contrast goes against the label for 0" in drawing.caption


def test_names_of_letters_are_short_enough_to_print():
    assert pictures.short("LATIN CAPITAL LETTER A") == "Latin\ncapital A"
    assert max(map(len, pictures.short("GREEK SMALL LETTER IOTA WITH DIALYTIKA").split("\n"))) <= 13


def test_inconsistent_labels_show_pairs_and_count_all(tmp_path):
    row = {
        "kind": "equal", "difference": 0.0, "first": "LATIN CAPITAL LETTER A", "second": "GREEK CAPITAL LETTER ALPHA",
        "first image": bytes(64), "second image": bytes(64), "side": 8, "images": 1000, "with a twin": 50,
        "class pairs": 7, "ceiling R@1": 0.95,
    }  # fmt: skip
    rows = [row, row, row | {"kind": "similar", "difference": 0.01}]
    results = put(tmp_path, "inconsistent_labels", {key: [r[key] for r in rows] for key in row})
    caption = FOUND["inconsistent_labels"].produce(results).caption
    assert "50 (5.0 %)" in caption
    assert "above 95.0 %" in caption


def test_scaling_is_drawn_from_the_bench(tmp_path):
    lines = [
        {"area": "losses", "name": name, "n": n, "seconds": n**3 * scale, "peak_mb": n**2 * scale * 1e6}
        for name, scale in (("contextual", 1e-9), ("roadmap", 1e-8), ("triplet", 1e-9))
        for n in (64, 256, 1024)
    ]
    results = put(tmp_path, "losses", lines, "bench")
    drawing = FOUND["scaling"].produce(results)
    assert [len(axis.lines) for axis in drawing.figure.axes] == [2, 2]
    assert "Contextual" in drawing.caption


@pytest.mark.parametrize("name", ["rolling_point", "toy_circles", "gradient_picture", "inconsistent_labels"])
def test_an_experiment_that_was_not_run_is_listed_with_its_command(name, tmp_path):
    with pytest.raises(UserError, match=f"python -m benchmark synthetic {name}"):
        FOUND[name].produce(Results(tmp_path, "quick"))


def test_scaling_without_a_bench_says_make_bench_first(tmp_path):
    with pytest.raises(UserError, match="make bench first"):
        FOUND["scaling"].produce(Results(tmp_path, "quick"))


def test_results_that_came_with_the_project_are_drawn_too(tmp_path, monkeypatch):
    monkeypatch.setattr(rolling_point, "STEPS", 5)
    (tmp_path / "reference").mkdir()
    put(tmp_path / "reference", "rolling_point", rolling_point.table(tmp_path))
    assert FOUND["rolling_point"].produce(Results(tmp_path, "quick")).caption
