"""What a user would lose: a network that is not the one the setting describes."""

import os

import pytest
import torch

import baselines
from benchmark.datasets import pinned_weights
from benchmark.errors import UserError
from benchmark.planning.expand import resolved
from benchmark.planning.identity import Identity
from benchmark.planning.settings import setting
from benchmark.planning.study import load
from benchmark.spec import RunSpec
from benchmark.training.model import POOLS, build_backbone, build_model, build_seeded_backbone, gem
from benchmark.training.trainer import _optimizer


def make(**fields):
    spec = RunSpec(**({"dataset": "glyphs"} | fields))
    backbone = build_seeded_backbone(spec)
    return spec, build_model(spec, backbone, backbone.out_features)


def test_pooling_follows_its_definition():
    maps = torch.rand(2, 3, 4, 5, dtype=torch.float64)
    literal = torch.stack([torch.stack([(m**3).mean() ** (1 / 3) for m in image]) for image in maps])
    assert torch.allclose(gem(maps), literal)
    assert torch.equal(POOLS["avg_max"](maps), POOLS["average"](maps) + POOLS["max"](maps))


def test_embeddings_are_unit_vectors_and_only_training_sees_the_projector():
    _, model = make(projector="linear", projector_dim=96)
    z = model(torch.rand(5, 1, 32, 32))
    assert z.shape == (5, 64)
    assert model.project(z).shape == (5, 96) == (5, model.out_dim)
    for x in (z, model.project(z)):
        assert torch.allclose(x.norm(dim=1), torch.ones(5), atol=1e-5)


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_state_alone():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    states = [make(seed=s)[1].state_dict() for s in (0, 0, 1)]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(states[0].values(), states[1].values(), strict=True))
    assert not torch.equal(states[0]["embedding.weight"], states[2]["embedding.weight"])


@pytest.mark.parametrize(
    ("mode", "statistics_move", "affine_trains"),
    [("train", True, True), ("statistics", False, True), ("frozen", False, False)],
)
def test_batch_norm_modes_freeze_what_they_say(mode, statistics_move, affine_trains):
    _, model = make(batch_norm=mode)
    norm = next(m for m in model.backbone.modules() if isinstance(m, torch.nn.BatchNorm2d))
    before = norm.running_mean.clone()
    model.train()
    model(torch.rand(8, 1, 32, 32)).sum().backward()
    assert torch.equal(norm.running_mean, before) != statistics_move
    assert norm.weight.requires_grad == affine_trains


@pytest.mark.parametrize(("name", "side"), [("224", 224), ("256", 256)])
def test_the_papers_resnet50_settings_build_step_and_embed(name, side):
    fields = setting(name, "cub") | {"pretrained": False}
    spec, model = make(**fields, seed=0)
    loss = baselines.build("proxy_anchor", num_classes=3, embedding_dim=model.out_dim)
    model.train()
    x = torch.rand(2, 3, side, side)
    features = model.features(x)
    assert features.shape == (2, 2048)
    z = model.embed(features)
    assert z.shape == (2, 512)
    assert model.project(z).shape == (2, 2048 if name == "224" else 512)
    optimizer = _optimizer(spec.replace(lr=1e-4), model, loss)
    rates = [group["lr"] for group in optimizer.param_groups]
    if name == "224":
        assert rates == pytest.approx([1e-4, 1e-4, 2e-4, 1e-2])  # backbone, embedding, projector, proxies
        assert isinstance(optimizer, torch.optim.AdamW)
    else:
        assert rates == pytest.approx([5e-5, 1e-4, 1e-2])
        assert isinstance(model.norm, torch.nn.LayerNorm)
        assert not model.norm.elementwise_affine
    before = model.embedding.weight.clone()
    model.project(z)[0].sum().backward()
    optimizer.step()
    assert not torch.equal(before, model.embedding.weight)
    norms = [m for m in model.backbone.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert norms
    assert not any(m.training for m in norms)
    assert all(m.weight.requires_grad == (name == "256") for m in norms)
    assert optimizer.defaults["weight_decay"] == 1e-4


def test_lite0_weights_from_the_package_are_the_imagenet_ones():
    backbone = build_backbone("efficientnet_lite0", pretrained=True)
    again = build_backbone("efficientnet_lite0", pretrained=True)
    backbone.module.eval(), again.module.eval()
    x = torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        a, b = backbone.module(x), again.module(x)
    assert a.shape[:2] == (1, 1280)
    assert torch.equal(a, b)


def test_any_timm_name_works_and_a_wrong_one_is_refused():
    assert build_backbone("resnet10t", pretrained=False).out_features == 512
    with pytest.raises(UserError, match="unknown backbone 'resnet51x'"):
        build_backbone("resnet51x", pretrained=False)
    with pytest.raises(UserError, match="no pretrained weights"):
        build_backbone("convnet", pretrained=True)


def test_weights_of_a_file_are_those_of_the_network(tmp_path):
    file = tmp_path / "weights.pt"
    net = build_backbone("resnet10t", pretrained=False).module.net
    torch.save(net.state_dict(), file)
    for given in (str(file), "weights.pt"):  # as it stands, and below the data folder
        spec = RunSpec(dataset="cub", backbone="resnet10t", weights=given)
        found = build_seeded_backbone(spec, tmp_path).module.net
        for name, tensor in net.state_dict().items():
            assert torch.equal(found.state_dict()[name], tensor)


def test_weights_that_do_not_fit_are_named_tensor_by_tensor(tmp_path):
    net = build_backbone("resnet10t", pretrained=False).module.net
    state = {k: v for k, v in net.state_dict().items() if k != "bn1.weight"}
    state |= {"more": torch.zeros(1), "bn1.bias": torch.zeros(3)}
    torch.save(state, tmp_path / "other.pt")
    message = r"bn1\.weight is missing, more is not in the backbone, bn1\.bias has shape \(3,\) instead of \(64,\)"
    with pytest.raises(UserError, match=message):
        build_backbone("resnet10t", pretrained=False, weights=tmp_path / "other.pt")
    with pytest.raises(UserError, match=r"'none\.pt': there is no such file"):
        build_seeded_backbone(RunSpec(dataset="cub", backbone="resnet10t", weights="none.pt"), tmp_path)


def test_a_file_of_weights_cannot_run_a_command(tmp_path):
    class Command:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'run'}",)

    torch.save({"conv1.weight": Command()}, tmp_path / "weights.pt")
    with pytest.raises(UserError, match="cannot be read as a table of tensors"):
        build_backbone("resnet50", pretrained=True, weights=tmp_path / "weights.pt")
    assert not (tmp_path / "run").exists()


def test_the_content_of_weights_is_part_of_a_run_and_none_change_no_run_id(tmp_path):
    assert "weights" not in RunSpec(dataset="glyphs").canonical()
    study = load("main", "quick", ["weights=weights.pt"])
    found = set()
    for content in (b"one", b"two!"):
        (tmp_path / "weights.pt").write_bytes(content)
        found.add(resolved(study, "glyphs", "contrastive", "test", {}, Identity(tmp_path)))
    assert len({spec.run_id for spec in found}) == 2
    assert {spec.weights.partition("@")[0] for spec in found} == {"weights.pt"}
    old = next(spec for spec in found if spec.weights != pinned_weights("weights.pt", tmp_path))
    with pytest.raises(UserError, match=r"weights\.pt' have the content .* --set weights=weights\.pt"):
        build_seeded_backbone(old, tmp_path)


def test_the_original_resnet_has_its_strides_pooling_and_input(tmp_path):
    from torchvision.models import resnet50

    torch.save(resnet50().state_dict(), tmp_path / "weights.pt")  # the same names and shapes as torchvision's
    backbone = build_backbone("resnet50_caffe", pretrained=True, weights=tmp_path / "weights.pt")
    torchvisions = build_backbone("resnet50", pretrained=False)
    strides = [layer[0].conv1.stride + layer[0].conv2.stride for layer in backbone.module[5:8]]
    assert strides == [(2, 2, 1, 1)] * 3
    assert {m.eps for m in backbone.module.modules() if isinstance(m, torch.nn.BatchNorm2d)} == {1e-3}
    x = torch.rand(1, 3, 64, 64)
    assert backbone.module[:4](x).shape[-1] == 16 == torchvisions.module[:4](x).shape[-1]
    y = torch.zeros(1, 1, 5, 5)
    y[..., 0, 0] = 1
    assert backbone.module[3](y).flatten().tolist() == [1, 0, 0, 0]  # windows begin at the edge, not before it
    pixels = torch.tensor([123.68, 116.779, 103.939]).view(1, 3, 1, 1) / 255
    assert torch.allclose(backbone.normalised(pixels + 1 / 255), torch.ones(1, 3, 1, 1), atol=1e-3)
    with pytest.raises(UserError, match="no weights to download; set weights"):
        build_backbone("resnet50_caffe", pretrained=True)
