"""DIML in a run: cells are embedded like pooled maps, the option adds numbers and changes none, and is refused in time."""

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.errors import UserError
from benchmark.spec import RunSpec
from benchmark.training.model import Backbone, build_backbone, build_model
from benchmark.training.run import run

TINY = RunSpec(
    dataset="glyphs", train_classes=12, test_classes=12, layer_norm=True, batch_size=16, batches_per_epoch=4, epochs=2,
    lr=3e-3, rerank=(4,),
)  # fmt: skip


@pytest.mark.parametrize("layer_norm", [False, True])
def test_a_grid_of_one_cell_is_the_embedding_of_the_averaged_map(layer_norm):
    spec = TINY.replace(pooling="average", layer_norm=layer_norm)
    model = build_model(spec, build_backbone("convnet", False), 64).eval()
    x = torch.rand(3, 1, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(model.cells(x, grid=1)[:, 0], model(x), atol=1e-6)
        assert model.cells(x).shape == (3, 16, 64)  # the map is 4 × 4
        assert model.cells(x[..., :32, :32]).shape == (3, 4, 64)  # here 2 × 2: nothing is made up
        whole = model.embedding(model.norm(model.backbone(x).flatten(2).mT))
        assert torch.allclose(model.cells(x), torch.nn.functional.normalize(whole, dim=2), atol=1e-6)


def test_a_map_that_does_not_divide_is_resized_as_its_authors_do():
    model = build_model(TINY.replace(layer_norm=False), build_backbone("convnet", False), 64).eval()
    with torch.no_grad():
        x = torch.rand(2, 1, 112, 112, generator=torch.Generator().manual_seed(0))
        embedded = model.embedding(model.backbone(x).movedim(1, 3)).movedim(3, 1)  # (2, 64, 7, 7): embedded first
        larger = torch.nn.Upsample(16, mode="bilinear", align_corners=True)(embedded)
        theirs = torch.nn.AdaptiveAvgPool2d(4)(larger).flatten(2).mT
        assert torch.allclose(model.cells(x), torch.nn.functional.normalize(theirs, dim=2), atol=1e-5)


def test_a_run_has_the_numbers_of_one_without_and_those_after_matching(data):
    plain, matched = (run(TINY.replace(diml=ks), data=data) for ks in ((), (1, 10)))
    assert plain["curve"] == matched["curve"]
    assert plain["metrics"].items() <= matched["metrics"].items()
    added = matched["metrics"].keys() - plain["metrics"].keys()
    assert {"diml1/R@1", "diml10/R@1", "diml10/mAP"} <= added
    assert all(name.startswith(("diml1/", "diml10/")) for name in added)
    assert matched["metrics"]["diml1/R@1"] == pytest.approx(matched["metrics"]["test/R@1"], abs=0.01)  # but for ties
    assert matched["metrics"]["diml10/R@1"] != matched["metrics"]["test/R@1"]
    assert not any("diml" in name for name in run(TINY.replace(diml=(10,), phase="tune"), data=data)["metrics"])


def test_the_stage_lane_has_maps_too(tmp_path):
    for c in range(6):
        for i in range(3):
            place = tmp_path / "photos" / f"class{c}" / f"{i}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.random.Generator(np.random.PCG64(10 * c + i)).integers(0, 256, (5, 6, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((60, 50)).save(place)
    spec = RunSpec(
        dataset=str(tmp_path / "photos"), lane="stage", trainable="9", image_size=32, resize=36, augmentation="crop",
        embedding_dim=16, batch_size=6, per_class=2, epochs=1, batches_per_epoch=2, diml=(5,),
    )  # fmt: skip
    assert 0 <= run(spec, data=tmp_path)["metrics"]["diml5/R@1"] <= 1


def test_a_backbone_without_maps_is_refused_before_training(data, monkeypatch):
    class Tokens(torch.nn.Module):
        def forward(self, x):
            return x.flatten(2)[:, :, :5].expand(-1, 64, -1).unsqueeze(-1)  # (n, 64, 5, 1)

    tokens = Backbone(Tokens(), 64, (0.5,), (0.5,), channels=1)
    monkeypatch.setattr("benchmark.training.inputs.build_seeded_backbone", lambda *_: tokens)
    monkeypatch.setattr("benchmark.training.run.train", lambda *_: pytest.fail("it was trained"))
    with pytest.raises(UserError, match=r"gives \(64, 5, 1\) for an image; expected .* leave diml out"):
        run(TINY.replace(diml=(10,)), data=data)


def test_the_option_is_a_run_of_its_own_and_refused_where_maps_are_not_kept():
    assert TINY.replace(diml=(10,)).run_id != TINY.run_id
    assert "diml" not in TINY.canonical()  # stored runs keep their ids
    with pytest.raises(UserError, match="lane = 'frozen' keeps only pooled features; use setting = 'stage'"):
        RunSpec(dataset="cub", lane="frozen", diml=(100,))
    with pytest.raises(UserError, match=r"diml = \(0,\) must hold numbers from 1 on"):
        TINY.replace(diml=(0,))
