"""Cars-196 in both layouts that people have on their disks."""

import csv

import pytest
from trees import CARS, cars_devkit

from benchmark.datasets import cars as makes
from benchmark.datasets import cars as module
from benchmark.errors import UserError


@pytest.mark.parametrize("tree", ["cars, original", "cars, devkit"])
def test_both_layouts_give_the_same_models_and_split(tree, open_tree):
    dataset = open_tree(tree)
    assert dataset.levels == ("model", "make", "body")
    assert dataset.names[0] == tuple(CARS.values())
    train = {dataset.names[0][i] for i in dataset.labels[dataset.train, 0]}
    assert train == {name for number, name in CARS.items() if number <= 98}
    assert len(dataset.train) == len(dataset.query) == 6  # original train and test images pooled
    of = {dataset.names[0][m]: (dataset.names[1][a], dataset.names[2][b]) for m, a, b in dataset.labels.tolist()}
    assert of["AM General Hummer SUV 2000"] == ("AM General", "SUV")
    assert of["Acura Integra Type R 2001"] == ("Acura", "Coupe")
    assert of["smart fortwo Convertible 2012"] == ("smart", "Convertible")


def test_make_and_body_of_all_196_agree_with_the_shared_table(shared_data):
    with (shared_data / "cars_hierarchy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 196
    assert [makes.make(row["name"]) for row in rows] == [row["make_from_name"] for row in rows]
    assert [makes.body(row["name"]) for row in rows] == [row["body"] for row in rows]
    train, test = ({makes.make(row["name"]) for row in side} for side in (rows[:98], rows[98:]))
    assert len(train | test) == 49
    assert not train & test


def test_a_devkit_without_test_labels_says_which_file_has_them(tmp_path):
    root = cars_devkit(tmp_path)
    (root / "stanford_cars" / "devkit" / "cars_test_annos_withlabels.mat").unlink()
    with pytest.raises(UserError, match=r"cars_test_annos_withlabels\.mat is neither in"):
        module.open(root, expect=None)


def test_a_damaged_annotation_file_is_named(tmp_path):
    root = cars_devkit(tmp_path)
    (root / "stanford_cars" / "devkit" / "cars_meta.mat").write_bytes(b"MATLAB 5.0 MAT-file, cut off")
    with pytest.raises(UserError, match=r"cars_meta\.mat.*cannot be read"):
        module.open(root, expect=None)


def test_the_papers_counts_are_enforced():
    assert module.COUNTS["training images"] == 8_054
    assert module.COUNTS["test images"] == 8_131
