"""Your own data as a folder of class folders."""

import pytest
from trees import photo

from benchmark.datasets import open_dataset
from benchmark.errors import UserError


def fill(root, places, images=2):
    for p, place in enumerate(places):
        for i in range(images):
            photo(root / place / f"{i}.png", 10 * p + i)
    return str(root)


def test_folders_are_classes(tmp_path):
    dataset = open_dataset(fill(tmp_path / "birds", ["a", "b", "c", "d"]), tmp_path)
    assert (dataset.name, dataset.levels, dataset.names[0]) == ("birds", ("class",), ("a", "b", "c", "d"))
    assert len(dataset.train) == len(dataset.query) == 4


def test_folders_around_them_are_coarser_levels(tmp_path):
    dataset = open_dataset(fill(tmp_path, ["x/a", "x/b", "y/a", "y/c"]), tmp_path)
    assert dataset.levels == ("class", "coarse")
    assert dataset.names == (("a", "b", "a", "c"), ("x", "y"))  # a of x is not a of y


def test_train_and_test_folders_are_the_split(tmp_path):
    dataset = open_dataset(fill(tmp_path, ["train/a", "train/b", "test/c", "test/d"]), tmp_path)
    assert {dataset.names[0][i] for i in dataset.labels[dataset.train, 0]} == {"a", "b"}


def test_train_and_test_folders_with_the_same_classes_say_so(tmp_path):
    name = fill(tmp_path, ["train/a", "train/b", "test/a", "test/b"])
    with pytest.raises(UserError, match="2 classes are in training and in test"):
        open_dataset(name, tmp_path)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([], "it holds no images"),
        (["a", "b", "."], "lies at another depth"),
        (["a", "b/c"], "lies at another depth"),
        (["a", "b"], "too few to split by class"),
    ],
)
def test_a_folder_that_is_no_data_set_says_what_is_expected(places, message, tmp_path):
    (tmp_path / "birds").mkdir()
    with pytest.raises(UserError, match=message):
        open_dataset(fill(tmp_path / "birds", places), tmp_path)
