"""Training the last stage on what lies before it, computed once: the gradients are those of end-to-end training."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

import baselines
from benchmark.datasets import open_dataset
from benchmark.errors import UserError
from benchmark.images import transforms
from benchmark.spec import RunSpec
from benchmark.training import features as module
from benchmark.training.inputs import open_inputs
from benchmark.training.model import build_backbone, build_model, build_seeded_backbone
from benchmark.training.run import run
from benchmark.training.training_set import training_view

SPEC = RunSpec(
    dataset="photos", lane="stage", trainable="9", backbone="convnet", image_size=32, resize=36, augmentation="crop",
    views=3, embedding_dim=16, batch_size=8, per_class=2, epochs=2, batches_per_epoch=3, batch_norm="frozen",
)  # fmt: skip


@pytest.fixture
def photos(tmp_path):
    for c in range(6):
        for i in range(4):
            place = tmp_path / "photos" / f"class{c}" / f"{i}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.random.Generator(np.random.PCG64(10 * c + i)).integers(0, 256, (5, 6, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((60, 50)).save(place)
    return tmp_path


def opened(root, spec=SPEC):
    dataset = open_dataset(str(root / "photos"), root)
    view = training_view(dataset, spec)
    inputs, backbone, width = open_inputs(spec, dataset, view, root, torch.device("cpu"))
    return dataset, view, inputs, build_model(spec, backbone, width)


def test_gradients_are_those_of_end_to_end_training_with_the_earlier_stages_frozen(photos):
    dataset, view, inputs, model = opened(photos)
    batch = np.array([0, 1, 4, 5, 8, 9, 10, 11])
    [maps] = inputs.train(1, [batch])
    which = module_views(batch)
    whole = build_seeded_backbone(SPEC, photos)
    whole.module.eval()
    pictures = [picture(dataset, int(view.indices[i]), int(v)) for i, v in zip(batch, which, strict=True)]
    x = whole.normalised(torch.stack(pictures))
    end_to_end = build_model(SPEC, whole, whole.out_features)
    assert torch.equal(end_to_end.embedding.weight, model.embedding.weight)
    loss = baselines.build("contrastive", num_classes=3, embedding_dim=16)
    labels = torch.from_numpy(view.labels[batch])
    for network, seen in ((model, maps), (end_to_end, x)):
        network.train()
        loss(network.project(network(seen)), labels).backward()
    trained = dict(end_to_end.backbone.named_parameters())
    compared = 0
    for name, parameter in model.named_parameters():
        if parameter.grad is None:
            continue
        other = trained[name.removeprefix("backbone.")] if name.startswith("backbone.") else None
        expected = dict(end_to_end.named_parameters())[name].grad if other is None else other.grad
        assert torch.allclose(parameter.grad, expected, rtol=2e-2, atol=2e-3 * float(expected.abs().max())), name
        compared += 1
    assert compared >= 3  # the last convolution, the embedding's weight and bias


def test_a_stage_in_bfloat16_has_nearly_the_same_gradients_and_its_embeddings_stay_in_single_precision(photos):
    _, view, inputs, model = opened(photos)
    short = opened(photos, SPEC.replace(precision="bfloat16"))[3]
    batch = np.array([0, 1, 4, 5, 8, 9, 10, 11])
    [maps] = inputs.train(1, [batch])
    loss = baselines.build("contrastive", num_classes=3, embedding_dim=16)
    for network in (model, short):
        network.train()
        z = network(maps)
        assert z.dtype == torch.float32
        assert torch.allclose(z.norm(dim=1), torch.ones(len(batch)), atol=1e-6)
        loss(z, torch.from_numpy(view.labels[batch])).backward()
    assert not torch.equal(short(maps), model(maps))  # it is in effect
    for (name, parameter), other in zip(model.named_parameters(), short.parameters(), strict=True):
        if parameter.grad is not None:
            assert other.grad is not None
            assert other.grad.dtype == torch.float32
            assert F.cosine_similarity(parameter.grad.flatten(), other.grad.flatten(), dim=0) > 0.999, name


def test_a_run_says_in_which_precision_it_was_made(photos):
    spec = SPEC.replace(dataset=str(photos / "photos"), precision="bfloat16")
    first, again = (run(spec, data=photos) for _ in range(2))
    assert (first["status"], first["precision_used"]) == ("ok", "bfloat16")
    assert (first["curve"], first["metrics"]) == (again["curve"], again["metrics"])


def module_views(batch):
    from benchmark.seeds import numpy_generator

    return numpy_generator("augment", SPEC.phase, SPEC.seed, 1).integers(SPEC.views, size=len(batch))


def picture(dataset, index: int, view: int) -> torch.Tensor:
    """A view of an image as it is stored, from the definition: its draws by its chunk and place."""
    from benchmark.images.loading import _draws

    chosen = np.arange(len(dataset)) if view == 0 else dataset.train
    place = int(np.flatnonzero(chosen == index)[0])
    draws = _draws(module.BATCH, "features", "view", view, place // module.CHUNK, place % module.CHUNK // module.BATCH)
    transform = transforms.training(SPEC) if view else transforms.evaluation(SPEC)
    pixels = transform(dataset.source.read(index), draws[place % module.BATCH])
    return torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1).float() / 255


def test_a_run_trains_the_stage_and_the_same_spec_gives_the_same_numbers(photos):
    spec = SPEC.replace(dataset=str(photos / "photos"))
    first, again = (run(spec, data=photos) for _ in range(2))
    assert first["status"] == "ok"
    assert (first["curve"], first["metrics"]) == (again["curve"], again["metrics"])
    frozen = run(spec.replace(lane="frozen", trainable=""), data=photos)
    assert first["curve"][-1] != frozen["curve"][-1]  # type: ignore[index]


def test_maps_are_kept_in_half_precision_and_the_disk_is_asked_first(photos, monkeypatch):
    dataset, _, _, _ = opened(photos)
    [plain, *views] = module.parts(dataset, SPEC, photos)
    assert plain.kept.array().dtype == np.float16
    assert plain.kept.array().shape == (24, 4, 4, 64)
    assert len(views) == 2
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: type("Disk", (), {"free": 1000}))
    other = SPEC.replace(image_size=48)
    with pytest.raises(UserError, match=r"need 0\.0 GB .* are free; make room .*features --clean"):
        module.features(dataset, other, photos)


@pytest.mark.parametrize(
    ("name", "at"), [("resnet50_caffe", "layer4"), ("efficientnet_lite0", "blocks.6"), ("resnet10t", "layer3")]
)
def test_a_backbone_cut_in_two_is_the_same_network(name, at):
    backbone = build_backbone(name, pretrained=False)
    backbone.module.eval()
    before, after = backbone.cut(at)
    x = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        assert torch.equal(after.module(before.module(x)), backbone.module(x))


def test_a_part_that_is_not_there_is_named():
    with pytest.raises(UserError, match=r"unknown part of the backbone to train .* 'layer5'; did you mean 'layer4'"):
        build_backbone("resnet50", pretrained=False).cut("layer5")
    with pytest.raises(UserError, match="lane = 'stage' with trainable = ''"):
        RunSpec(dataset="cub", lane="stage")
