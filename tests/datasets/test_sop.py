"""Stanford Online Products: split by product, super-labels from the folders."""

import pytest
from trees import sop

from benchmark.datasets import sop as module
from benchmark.errors import UserError


def test_split_and_categories_are_those_of_the_index_files(open_tree):
    dataset = open_tree("sop")
    assert dataset.levels == ("product", "category")
    assert dataset.names[1] == ("bicycle", "chair")
    assert (len(dataset.train), len(dataset.query)) == (18, 12)
    assert {dataset.names[0][i] for i in dataset.labels[dataset.train, 0]} == {str(i) for i in range(1, 7)}


def test_a_missing_index_file_is_named(tmp_path):
    root = sop(tmp_path)
    (root / "Stanford_Online_Products" / "Ebay_test.txt").unlink()
    with pytest.raises(UserError, match=r"Ebay_test\.txt.*missing; unpack Stanford_Online_Products\.zip"):
        module.open(root, expect=None)


def test_the_papers_counts_are_enforced():
    assert module.COUNTS == {
        "training images": 59_551,
        "test images": 60_502,
        "training classes": 11_318,
        "test classes": 11_316,
    }
