"""What a user would lose: an embedded data set that is not what it says, or not there."""

import numpy as np
import pytest

from benchmark.datasets import open_dataset
from benchmark.datasets._dataset import ArraySource, ceiling


@pytest.fixture(scope="module")
def glyphs(data):
    return open_dataset("glyphs", data)


def test_letters_of_five_scripts_in_at_least_twelve_typefaces(glyphs):
    assert len(glyphs.names[0]) > 1300
    assert set(glyphs.names[2]) == {"ARMENIAN", "CYRILLIC", "GEORGIAN", "GREEK", "LATIN"}
    assert np.bincount(glyphs.labels[:, 0]).min() >= 12


def test_no_class_is_on_both_sides_and_every_script_is_on_each(glyphs):
    train, test = glyphs.labels[glyphs.train], glyphs.labels[glyphs.query]
    assert not set(train[:, 0]) & set(test[:, 0])
    assert set(train[:, 2]) == set(test[:, 2]) == set(range(5))


def test_the_hierarchy_joins_accents_and_case_to_their_base_letter(glyphs):
    base = {glyphs.names[0][c]: glyphs.names[1][b] for c, b in np.unique(glyphs.labels[:, :2], axis=0)}
    assert base["A"] == base["á"] == base["Å"] == "LATIN A"
    assert base["Α"] == base["ά"] == "GREEK ALPHA"
    assert base["я"] == "CYRILLIC YA"


def test_images_show_something_and_are_not_cut_off(glyphs):
    images = glyphs.source.array
    assert (images.max(axis=(1, 2, 3)) > 128).all()
    border = np.concatenate([images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]], axis=1)
    assert (border.max(axis=(1, 2)) > 0).mean() < 0.001


def test_drawing_again_beside_the_rest_of_a_killed_run_gives_the_same_data(glyphs, tmp_path):
    (tmp_path / "glyphs").mkdir()
    (tmp_path / "glyphs" / "letters-000000000000.tmp").write_bytes(b"killed while drawing")
    again = open_dataset("glyphs", tmp_path)
    assert again.fingerprint == glyphs.fingerprint
    assert isinstance(again.source, ArraySource)
    assert (again.source.array == glyphs.source.array).all()


def test_the_ceiling_counts_images_that_only_other_classes_match():
    images = np.array([0, 0, 1, 1, 1, 2], dtype=np.uint8).reshape(6, 1, 1, 1)
    # 0 and 0: two classes, both lost; 1, 1, 1: classes a, a, b: b is lost; 2: alone, not lost
    assert ceiling(images, np.array([0, 1, 0, 0, 1, 2])) == pytest.approx(1 - 3 / 6)


def test_homoglyphs_keep_the_ceiling_below_one(glyphs):
    assert 0.85 < ceiling(glyphs.source.array[glyphs.query], glyphs.labels[glyphs.query, 0]) < 0.99


def test_distractors_are_no_letters(glyphs):
    assert len(glyphs.distractors) > 1000
    letters = {image.tobytes() for image in glyphs.source.array}
    same = sum(image.tobytes() in letters for image in glyphs.distractors.array)
    assert same / len(glyphs.distractors) < 0.05  # signs that look like letters exist, but are few
