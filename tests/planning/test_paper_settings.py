"""The paper's ResNet-50 settings, end to end on a handful of photos: they build, take a step and are judged."""

import pytest
import torch
from trees import photo

import baselines
from benchmark.datasets import open_dataset
from benchmark.planning import settings
from benchmark.spec import RunSpec
from benchmark.training.model import build_model, build_seeded_backbone
from benchmark.training.run import run
from benchmark.training.trainer import _optimizer


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    for c, place in enumerate(["train/a", "train/b", "test/c", "test/d"]):
        for i in range(2):
            photo(root / "birds" / place / f"{i}.jpg", 10 * c + i, (300, 280))
    return root


def spec(name: str, dataset: str, root, method: str = "contextual") -> RunSpec:
    """The setting as it is, but for weights that cannot be had everywhere and for the length of training."""
    small = {"pretrained": False, "epochs": 1, "batches_per_epoch": 1, "batch_size": 4, "per_class": 2, "ks": (1,)}
    fields = settings.setting(name, dataset, method) | small | {"sampler": "balanced", "lr": 1e-4, "warm_epochs": 0}
    params = settings.params(name, dataset, method) | ({"k": 2} if method == "contextual" else {})
    return RunSpec(dataset=str(root / "birds"), method=method, params=params).replace(**fields)


@pytest.mark.parametrize(("name", "dataset", "method"), [("224", "cub", "contextual"), ("256", "sop", "proxy_nca")])
def test_a_step_is_taken_and_judged(name, dataset, method, photos):
    wanted = spec(name, dataset, photos, method)
    row = run(wanted, data=photos, threads=2)
    assert row["status"] == "ok", row["error"]
    assert 0 <= row["metrics"]["test/R@1"] <= 1
    assert row["fingerprint"] == open_dataset(wanted.dataset, photos).fingerprint


def test_the_main_setting_has_its_shapes_groups_and_frozen_batch_norm(photos):
    wanted = spec("224", "cub", photos).replace(lr=1.4e-4)
    model = build_model(wanted, build_seeded_backbone(wanted), 2048)
    model.train()
    assert tuple(model.embedding.weight.shape) == (512, 2048)
    assert model.embedding.bias.abs().max() == 0
    assert tuple(model.projector.weight.shape) == (2048, 512)
    assert model.projector.bias is None
    assert isinstance(model.norm, torch.nn.Identity)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert len(norms) == 53
    assert not any(m.training or m.weight.requires_grad for m in norms)
    proxies = baselines.build("proxy_anchor", num_classes=3, embedding_dim=2048)
    groups = _optimizer(wanted, model, proxies).param_groups
    assert [g["lr"] for g in groups] == pytest.approx([1.4e-4, 1.4e-4, 2.8e-4, 1.4e-2])
    with torch.no_grad():
        x = torch.rand(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))
        z = model.eval()(x)
        assert z.shape == (2, 512)
        assert torch.allclose(z.norm(dim=1), torch.ones(2), atol=1e-5)
        assert model.project(z).shape == (2, 2048)


def test_the_second_setting_freezes_only_statistics_and_halves_the_backbones_rate(photos):
    wanted = spec("256", "cub", photos).replace(lr=8e-5)
    model = build_model(wanted, build_seeded_backbone(wanted), 2048)
    model.train()
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert not any(m.training for m in norms)
    assert all(m.weight.requires_grad for m in norms)
    assert isinstance(model.norm, torch.nn.LayerNorm)
    assert not list(model.norm.parameters())
    assert isinstance(model.projector, torch.nn.Identity)
    optimizer = _optimizer(wanted, model, baselines.build("contrastive", num_classes=3, embedding_dim=512))
    assert type(optimizer) is torch.optim.Adam
    assert [g["lr"] for g in optimizer.param_groups] == pytest.approx([4e-5, 8e-5])
