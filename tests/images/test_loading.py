"""From image to tensor: the numbers must not depend on threads, on order, or on what was read before."""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from trees import photo

from benchmark.datasets._dataset import ArraySource, FileSource
from benchmark.errors import UserError
from benchmark.images import loading, transforms
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec

SPEC = RunSpec(dataset="photos", image_size=24, resize=28, augmentation="crop", crop_scale=0.16)


@pytest.fixture
def source(tmp_path) -> FileSource:
    files = [f"{i}.jpg" for i in range(20)]
    for i, file in enumerate(files):
        photo(tmp_path / file, i, (50 + i, 40))
    return FileSource(tmp_path, files)


def draws(seed: int = 0) -> np.ndarray:
    return numpy_generator(seed).random(transforms.DRAWS)


def load(source, batches, transform=None, workers=0, key=("a",)) -> list[torch.Tensor]:
    return list(loading.batches(source, batches, transform or transforms.training(SPEC), workers, key))


def test_threads_change_no_pixel(source):
    batches = [np.arange(20), np.arange(19, -1, -1), np.array([3, 3, 3])]
    alone = load(source, batches)
    for workers in (1, 2, 5):
        for one, other in zip(alone, load(source, batches, workers=workers), strict=True):
            assert torch.equal(one, other)


def test_a_picture_depends_on_its_place_and_not_on_the_others(source):
    whole = load(source, [np.arange(10), np.arange(10, 20)])
    other = load(source, [np.array([5] * 10), np.arange(10, 20)])
    assert torch.equal(whole[1], other[1])
    assert torch.equal(whole[0][5], other[0][5])
    assert not torch.equal(other[0][4], other[0][5])  # the same image twice in a batch is cropped twice
    assert not torch.equal(whole[0], load(source, [np.arange(10)], key=("b",))[0])


def test_tensors_are_what_a_network_takes(source):
    x = load(source, [np.arange(4)])[0]
    assert x.shape == (4, 3, 24, 24)
    assert x.dtype == torch.float32
    assert 0 <= x.min() < x.max() <= 1


@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_image_stops_the_loader_and_names_its_file(source, workers):
    source.path(7).write_bytes(source.path(7).read_bytes()[:300])
    with pytest.raises(UserError, match=r"7\.jpg"):
        load(source, [np.arange(5), np.arange(5, 10), np.arange(10, 20)], workers=workers)


def test_a_loader_that_is_left_early_ends_and_reads_no_further(source):
    read: list[int] = []

    class Counted:
        def __len__(self):
            return len(source)

        def read(self, index):
            read.append(index)
            return source.read(index)

    before = threading.active_count()
    found = loading.batches(Counted(), [np.arange(20)] * 50, transforms.training(SPEC), 2)
    next(found)
    found.close()
    assert threading.active_count() == before
    assert len(read) <= 20 * (loading.PREFETCH + 2)  # of 1,000: what was asked for, and what was fetched ahead


def test_evaluation_resizes_the_shorter_side_and_takes_the_centre():
    image = np.zeros((56, 112, 3), dtype=np.uint8)
    image[:, 28:84] = 255  # the middle half
    seen = transforms.evaluation(SPEC)(image, draws())
    assert seen.shape == (24, 24, 3)
    assert seen.min() == 255
    square = SPEC.replace(resize_square=True)
    assert transforms.evaluation_step(square)(image).shape == (28, 28, 3)
    assert transforms.evaluation_step(SPEC)(image).shape == (28, 56, 3)


def test_resizing_agrees_with_pil_to_one_grey_level(tmp_path):
    image = np.asarray(Image.open(photo(tmp_path / "x.png", 5, (80, 61))))
    ours = transforms.FirstStep(28)(image)
    theirs = np.asarray(Image.fromarray(image).resize((36, 28), Image.Resampling.BILINEAR))
    assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1


@given(st.integers(1, 400), st.integers(1, 400), st.floats(0.05, 1), st.integers(0, 50))
def test_a_random_crop_lies_in_the_image_with_the_size_it_promises(height, width, scale, seed):
    top, left, h, w = transforms.crop_box(height, width, scale, draws(seed))
    assert 0 <= top <= top + h <= height
    assert 0 <= left <= left + w <= width
    assert h > 0
    assert w > 0
    if min(height, width) > 100 and max(height, width) < 1.3 * min(height, width):
        assert h * w >= (scale - 0.03) * height * width
        assert 0.7 < w / h < 1.4


def test_crops_are_as_large_and_as_often_flipped_as_torchvisions():
    """Means over many draws against torchvision's own RandomResizedCrop, which draws from the global state."""
    from torchvision.transforms import RandomResizedCrop

    image = torch.zeros(3, 300, 400)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = np.array([RandomResizedCrop.get_params(image, [0.16, 1.0], [3 / 4, 4 / 3]) for _ in range(3000)])
    ours = np.array([transforms.crop_box(300, 400, 0.16, draws(i)) for i in range(3000)])
    assert np.allclose(ours.mean(0), theirs.mean(0), rtol=0, atol=5)  # pixels; three standard errors
    assert np.allclose(ours.std(0), theirs.std(0), rtol=0, atol=5)
    ramp = np.repeat(np.arange(100, dtype=np.uint8)[None, :, None], 90, axis=0).repeat(3, axis=2)
    flips = [transforms.training(SPEC)(ramp, draws(i)) for i in range(400)]
    share = np.mean([f[0, 0, 0] > f[0, -1, 0] for f in flips])
    assert 0.4 < share < 0.6


def test_grey_images_stay_grey():
    source = ArraySource(np.arange(4 * 64 * 64, dtype=np.uint32).astype(np.uint8).reshape(4, 64, 64, 1))
    for transform in (transforms.training(SPEC), transforms.evaluation(SPEC)):
        assert load(source, [np.arange(4)], transform)[0].shape == (4, 1, 24, 24)
