"""CIFAR-100, Aircraft, Omniglot and Flowers: torchvision's files, but class-disjoint and with their hierarchies."""

import socket

import numpy as np
import pytest

from benchmark.datasets import open_dataset
from benchmark.errors import UserError


def test_cifar_pools_its_parts_and_keeps_its_coarse_labels(open_tree):
    dataset = open_tree("cifar100")
    assert len(dataset) == 32
    assert dataset.names[1] == ("animal", "machine")
    assert dataset.source.read(25)[0, 0].tolist() == [1, 0, 0]  # the second test image, red first
    assert {dataset.names[0][i] for i in dataset.labels[dataset.train, 0]} == {f"thing{i}" for i in range(4)}


def test_aircraft_has_three_levels_and_loses_the_line_with_its_owner(open_tree):
    dataset = open_tree("aircraft")
    assert dataset.levels == ("variant", "family", "manufacturer")
    assert [len(names) for names in dataset.names] == [4, 3, 2]
    assert "F-16A/B" in dataset.names[0]
    assert dataset.source.read(0).shape == (30, 60, 3)


def test_omniglot_trains_on_the_background_alphabets_with_white_ink(open_tree):
    dataset = open_tree("omniglot")
    assert {dataset.names[1][i] for i in dataset.labels[dataset.train, 1]} == {"Greek", "Latin"}
    assert len(dataset.names[0]) == 8
    assert dataset.source.read(0).shape == (105, 105, 1)


def test_flowers_splits_its_numbered_classes(open_tree):
    dataset = open_tree("flowers")
    assert {dataset.names[0][i] for i in dataset.labels[dataset.train, 0]} == {"flower 1", "flower 2", "flower 51"}


def test_small_images_are_decoded_once_and_mapped(open_tree):
    for tree in ("cifar100", "omniglot"):
        assert isinstance(open_tree(tree).source.array, np.memmap)


@pytest.mark.parametrize("name", ["cifar100", "aircraft", "omniglot", "flowers"])
def test_without_a_network_the_error_says_what_to_fetch(name, tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise OSError("network is unreachable")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(UserError, match=rf"data set {name} is not in .* cannot be downloaded .* fetch .*https://"):
        open_dataset(name, tmp_path)
