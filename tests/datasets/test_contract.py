"""What every data set owes to the rest of the harness, whatever its layout on disk."""

from importlib import import_module

import numpy as np
import pytest
from trees import TREES

from benchmark import datasets
from benchmark.datasets._dataset import Dataset
from benchmark.errors import UserError


@pytest.fixture(params=TREES)
def dataset(request, open_tree) -> Dataset:
    return open_tree(request.param)


def test_labels_are_contiguous_and_named_on_every_level(dataset):
    for level in range(len(dataset.levels)):
        ids = np.unique(dataset.labels[:, level])
        assert ids.tolist() == list(range(len(dataset.names[level])))
    assert dataset.labels.dtype == np.int64


def test_no_class_is_trained_on_and_judged(dataset):
    fine = dataset.labels[:, 0]
    assert not set(fine[dataset.train]) & set(fine[dataset.test])
    sides = np.concatenate([dataset.train, dataset.test])
    assert sorted(sides.tolist()) == list(range(len(dataset)))


def test_a_class_has_one_parent_on_every_coarser_level(dataset):
    for level in range(1, len(dataset.levels)):
        pairs = {tuple(row) for row in dataset.labels[:, [0, level]].tolist()}
        assert len(pairs) == len(dataset.names[0])


def test_every_image_is_read_as_bytes_of_one_depth(dataset):
    for index in range(len(dataset)):
        image = dataset.source.read(index)
        assert image.dtype == np.uint8
        assert image.ndim == 3
        assert image.shape[2] == (1 if dataset.name == "omniglot" else 3)


@pytest.mark.parametrize("tree", TREES)
def test_the_fingerprint_knows_the_data_and_not_its_place(tree, tmp_path):
    name, build = TREES[tree]
    module = import_module(f"benchmark.datasets.{name}")
    here, there = (module.open(build(tmp_path / place), expect=None) for place in ("here", "there"))
    assert here.fingerprint == there.fingerprint
    assert str(tmp_path) not in here.summary()


@pytest.mark.parametrize("tree", TREES)
def test_a_part_of_the_data_is_not_taken_for_the_whole(tree, tmp_path):
    name, build = TREES[tree]
    root = build(tmp_path)
    with pytest.raises(UserError, match=r"is not whole .* instead of .* again"):
        datasets.open_dataset(name, root)


def test_every_photo_data_set_says_which_archive_holds_it():
    for name in datasets.names():
        module = import_module(f"benchmark.datasets.{name}")
        assert name == "glyphs" or "https://" in module.ARCHIVE
        assert datasets.summaries()[name]
