"""Frozen features: computed once, shared, and exactly what the backbone would have given."""

import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from trees import photo

from benchmark.__main__ import main
from benchmark.datasets import open_dataset
from benchmark.datasets._dataset import ArraySource, Dataset
from benchmark.images import transforms
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec
from benchmark.training import features as module
from benchmark.training.features import features
from benchmark.training.model import POOLS, build_seeded_backbone

SPEC = RunSpec(
    dataset="birds", lane="frozen", backbone="convnet", image_size=16, resize=20, augmentation="crop", pooling="max"
)


@pytest.fixture
def birds(tmp_path):
    for c in range(6):
        for i in range(4):
            photo(tmp_path / "birds" / f"class{c}" / f"{i}.png", 10 * c + i)
    return open_dataset(str(tmp_path / "birds"), tmp_path)


def stored(root) -> list[str]:
    return sorted(path.name for path in (root / "features").rglob("*.npy"))


def test_features_are_what_the_backbone_gives_for_each_image(birds, tmp_path):
    found = features(birds, SPEC, tmp_path)
    backbone = build_seeded_backbone(SPEC)
    mean, std = backbone.mean[0], backbone.std[0]
    for index in range(len(birds)):
        pixels = transforms.evaluation(SPEC)(birds.source.read(index), np.zeros(transforms.DRAWS))
        x = torch.tensor(pixels / 255.0, dtype=torch.float32).permute(2, 0, 1).mean(0, keepdim=True)[None]
        with torch.no_grad():
            expected = POOLS["max"](backbone.module.eval()((x - mean) / std))[0].numpy()
        assert np.allclose(found.views[0][index], expected, rtol=1e-4, atol=1e-5)
    assert found.dim == backbone.out_features
    assert isinstance(found.views[0], np.memmap)


def test_nothing_is_computed_twice(birds, tmp_path, monkeypatch):
    before = np.array(features(birds, SPEC, tmp_path).views[0])
    monkeypatch.setattr(module, "_network", lambda *_: pytest.fail("computed again"))
    for same in (SPEC, SPEC.replace(lr=1.0, method="triplet", embedding_dim=8, layer_norm=True)):
        assert (features(birds, same, tmp_path).views[0] == before).all()


@pytest.mark.parametrize(
    "other", [{"image_size": 8}, {"pooling": "average"}, {"resize_square": True}, {"seed": 1}, {"resize": 24}], ids=str
)
def test_another_transform_or_other_weights_are_other_features(other, birds, tmp_path):
    features(birds, SPEC, tmp_path)
    features(birds, SPEC.replace(**other), tmp_path)
    assert len(stored(tmp_path)) == 2


def test_other_images_are_other_features(birds, tmp_path):
    before = np.array(features(birds, SPEC, tmp_path).views[0])
    photo(tmp_path / "birds" / "class0" / "0.png", 99, (60, 50))
    after = features(open_dataset(str(tmp_path / "birds"), tmp_path), SPEC, tmp_path).views[0]
    assert (before[0] != after[0]).any()
    assert np.allclose(before[1:], after[1:], rtol=1e-4, atol=1e-5)


def test_views_are_augmented_and_more_of_them_keep_the_first(birds, tmp_path):
    two = features(birds, SPEC.replace(views=2), tmp_path)
    three = features(birds, SPEC.replace(views=3), tmp_path)
    assert len(stored(tmp_path)) == 3
    for a, b in zip(two.views, three.views, strict=False):
        assert (a == b).all()
    i = birds.train
    assert (three.views[0][i] != three.views[1][i]).any(axis=1).all()
    assert (three.views[1][i] != three.views[2][i]).any(axis=1).all()
    picked = three.rows(i[:3], view=np.array([0, 1, 2]))
    assert (picked == np.stack([three.views[v][i[v]] for v in range(3)])).all()


def test_replaced_images_have_the_features_of_their_distractors(birds, tmp_path):
    for i in range(3):
        photo(tmp_path / "web" / f"{i}.png", 200 + i, (33, 44))
    noisy = SPEC.replace(image_noise=0.5, distractors=str(tmp_path / "web"))
    found = features(birds, noisy, tmp_path)
    assert found.distractors is not None
    assert found.distractors.shape == (3, found.dim)
    rows = found.rows(np.array([0, 1, 2]), np.array([-1, 2, -1]))
    assert (rows[0] == found.views[0][0]).all()
    assert (rows[1] == found.distractors[2]).all()


def test_letters_have_features_and_moved_views_too(tmp_path):
    array = numpy_generator("letters").integers(0, 256, (8, 20, 20, 1), dtype=np.uint8)
    fine = np.arange(8) // 2
    letters = Dataset(
        name="letters",
        levels=("letter",),
        labels=fine[:, None],
        names=(("a", "b", "c", "d"),),
        train=np.flatnonzero(fine < 2),
        query=np.flatnonzero(fine >= 2),
        source=ArraySource(array),
        fingerprint="letters",
        distractors=ArraySource(255 - array[:3]),
    )
    found = features(letters, SPEC.replace(augmentation="affine", views=2, image_noise=0.5), tmp_path)
    assert (found.views[0][:4] != found.views[1][:4]).any(axis=1).all()
    assert found.distractors is not None
    assert len(found.distractors) == 3


def test_a_failure_in_the_middle_costs_its_chunk_and_leaves_nothing_that_looks_finished(birds, tmp_path, monkeypatch):
    whole = np.array(features(birds, SPEC, tmp_path / "whole").views[0])
    monkeypatch.setattr(module, "CHUNK", 16)
    picture = birds.source.path(20).read_bytes()
    birds.source.path(20).write_bytes(b"broken" + bytes(len(picture) - 6))
    with pytest.raises(ValueError, match="cannot be decoded"):
        features(birds, SPEC, tmp_path)
    assert stored(tmp_path) == []
    birds.source.path(20).write_bytes(picture)
    [part] = module.parts(birds, SPEC, tmp_path)
    assert part.kept.done() == 16
    read: list[int] = []
    monkeypatch.setattr(type(birds.source), "read", reading(read, type(birds.source).read))
    assert (features(birds, SPEC, tmp_path).views[0] == whole).all()  # in other chunks, the same numbers
    assert set(read) == set(range(16, 24))  # the first chunk was kept
    assert not list((tmp_path / "features").rglob("*.part"))
    assert not list((tmp_path / "features").rglob("*.chunks"))


def reading(seen: list[int], read):
    def noted(self, index: int) -> np.ndarray:
        seen.append(index)
        return read(self, index)

    return noted


MAKE = (
    "import sys; from pathlib import Path; from benchmark.datasets import open_dataset;"
    "from benchmark.training import features as module; from benchmark.spec import RunSpec; module.CHUNK = 16;"
    "root = Path(sys.argv[1]); spec = RunSpec.from_json(sys.argv[2]);"
    "print(module.features(open_dataset(sys.argv[3], root), spec, root).views[1].tobytes().hex()[-2000:])"
)


def test_features_do_not_depend_on_how_many_processes_made_them_nor_on_kills(birds, tmp_path):
    spec = SPEC.replace(views=2)
    outputs = []
    for place, processes, kill in (("one", 1, False), ("three", 3, False), ("killed", 2, True)):
        command = [sys.executable, "-c", MAKE, str(tmp_path / place), spec.canonical(), str(tmp_path / "birds")]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
        if kill:
            marks = tmp_path / place / "features"
            while not list(marks.rglob("*.done")) and started[0].poll() is None:
                time.sleep(0.01)
            started[0].kill()
            started[0].wait(60)
            started = started[1:]
        outputs += [process.communicate(timeout=120)[0] for process in started]
    assert len(set(outputs)) == 1
    assert len(outputs[0]) > 1000


def test_the_command_shows_how_far_it_is_and_cleans_up(birds, tmp_path, capfd):
    command = ["features", str(tmp_path / "birds"), "--data", str(tmp_path), "--setting", "frozen", "--jobs", "2"]
    command += [f"--set={field}={getattr(SPEC, field)}" for field in ("backbone", "image_size", "pooling")]
    command += ["--set=pretrained=false", "--set=views=2"]
    assert main(command) == 0
    told = capfd.readouterr()
    assert "features of" in told.err
    assert "36 images to do, 0 are there, 2 workers, 0.0 GB" in told.err  # 24, and 12 of training once more
    assert "plain: " in told.out
    assert "view 1: " in told.out
    assert len(stored(tmp_path)) == 2
    assert main(command) == 0
    assert "images to do" not in capfd.readouterr().err
    assert main([*command[:4], "--clean"]) == 0
    assert stored(tmp_path) == []


def test_imagenet_weights_that_install_like_a_package_see_photos(birds, tmp_path):
    spec = SPEC.replace(backbone="efficientnet_lite0", pretrained=True, image_size=32, resize=36, pooling="average")
    found = features(birds, spec, tmp_path)
    assert found.views[0].shape == (24, 1280)
    assert np.isfinite(found.views[0]).all()
    assert (features(birds, spec.replace(seed=5), tmp_path).views[0] == found.views[0]).all()
    assert len(stored(tmp_path)) == 1  # trained weights do not depend on the seed
