"""CUB: a wrong split, family or count would make every number incomparable with the literature."""

import csv

import pytest
from trees import BIRDS, cub

from benchmark.datasets import cub as module
from benchmark.errors import UserError


def test_the_first_hundred_species_train_and_the_others_test(open_tree):
    dataset = open_tree("cub")
    assert dataset.levels == ("species", "family", "order")
    train = {dataset.names[0][i] for i in dataset.labels[dataset.train, 0]}
    assert train == {bird[4:].replace("_", " ") for bird in BIRDS if int(bird[:3]) <= 100}
    assert dataset.names[0] == tuple(bird[4:].replace("_", " ") for bird in BIRDS)  # in the order of the numbers
    assert dataset.gallery is None


def test_family_and_order_come_from_the_name(open_tree):
    dataset = open_tree("cub")
    found = {
        dataset.names[0][fine]: (dataset.names[1][family], dataset.names[2][order])
        for fine, family, order in dataset.labels.tolist()
    }
    assert found["House Sparrow"] == ("Passeridae", "Passeriformes")
    assert found["Tree Sparrow"] == ("Passerellidae", "Passeriformes")
    assert found["Red legged Kittiwake"] == ("Laridae", "Charadriiformes")  # the known slip of the cited table


def test_the_whole_taxonomy_agrees_with_the_shared_table(shared_data):
    with (shared_data / "cub_hierarchy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200
    different = {row["species"] for row in rows if module.taxonomy(row["species"]) != (row["family"], row["order"])}
    # The table has the junco under the family's old name but its new number.
    assert different == {"Dark_eyed_Junco"}
    families, orders = zip(*(module.taxonomy(row["species"]) for row in rows), strict=True)
    assert (len(set(orders)), len(set(families))) == (13, 37)
    assert (len(set(orders[100:])), len(set(families[100:]))) == (6, 20)


def test_a_damaged_index_says_which_entry(tmp_path):
    folder = cub(tmp_path) / "CUB_200_2011"
    (folder / "image_class_labels.txt").write_text("1 1\n2\n")
    with pytest.raises(UserError, match=r"image_class_labels.txt.*entry 2 is '2', expected 2 columns"):
        module.open(tmp_path, expect=None)
