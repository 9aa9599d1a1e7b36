"""mini-iNaturalist: the split is ours, so it must stay what it is for ever."""

from collections import Counter

import pytest
from trees import SPECIES

from benchmark.datasets import inat as module
from benchmark.errors import UserError

SIZES = {  # species of each super-category in the real data set, 10,000 in all
    "Plants": 4271, "Insects": 2526, "Birds": 1486, "Fungi": 341, "Reptiles": 313, "Mammals": 246,
    "Ray-finned Fishes": 183, "Amphibians": 170, "Mollusks": 169, "Arachnids": 153, "Animalia": 142,
}  # fmt: skip


def test_half_of_each_super_category_trains(open_tree):
    dataset = open_tree("inat")
    assert dataset.levels[0] == "species"
    assert dataset.levels[dataset.super_level] == "super-category"
    assert set(dataset.names[-1]) == {"Animalia", "Birds", "Fungi", "Mollusks", "Plants"}
    sides: list[Counter[str]] = [Counter(), Counter()]
    for side, indices in zip(sides, (dataset.train, dataset.query), strict=True):
        for _, coarse in {(r[0], r[-1]) for r in dataset.labels[indices].tolist()}:
            side[dataset.names[-1][coarse]] += 1
    assert sides[0] == {"Animalia": 1, "Birds": 2, "Fungi": 1, "Mollusks": 1, "Plants": 1}
    assert sides[1] == {"Birds": 1, "Plants": 1}


def test_a_genus_name_used_for_a_bird_and_a_plant_is_two_genera(open_tree):
    dataset = open_tree("inat")
    assert dataset.names[1].count("Oenanthe") == 2


def test_the_real_sizes_give_the_papers_split():
    supers = [name for name, size in SIZES.items() for _ in range(size)]
    in_train = module._half([f"{i:05d}" for i in range(10_000)], supers)
    assert int(in_train.sum()) == module.COUNTS["training classes"] == 5_003
    assert int((~in_train).sum()) == module.COUNTS["test classes"] == 4_997
    assert module.COUNTS["training images"] == 50 * 5_003
    again = module._half([f"{i:05d}" for i in range(10_000)], supers)
    assert (in_train == again).all()


def test_a_folder_without_its_taxonomy_is_named():
    assert module.lineage(SPECIES[0])[-1] == "terrestris"
    with pytest.raises(UserError, match="'birds' of train_mini"):
        module.lineage("birds")
