"""Your own data as a table: what can be wrong with it is said in one line that names the row and the remedy."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import photo

from benchmark.datasets import open_dataset
from benchmark.datasets._own import by_class
from benchmark.errors import UserError

SPLIT = ["train", "train", "test", "test"]


def write(folder: Path, header: str, rows: list[list[str]], name: str = "birds.csv") -> str:
    for number, row in enumerate(rows):
        if not row[0].startswith((".", "/")):
            photo(folder / row[0], number)
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    return str(folder / name)


def rows(classes: int = 4, images: int = 2) -> list[list[str]]:
    return [[f"images/{c}_{i}.png", f"bird {c}"] for c in range(classes) for i in range(images)]


def test_path_and_label_are_enough(tmp_path):
    dataset = open_dataset(write(tmp_path, "path,label", rows()), tmp_path)
    assert dataset.levels == ("label",)
    assert dataset.names[0] == ("bird 0", "bird 1", "bird 2", "bird 3")
    assert (len(dataset.train), len(dataset.query)) == (4, 4)
    assert dataset.source.read(7).shape == (30, 40, 3)


def test_a_given_split_and_coarser_levels_are_kept(tmp_path):
    table = [[*row, f"order {i // 4}", SPLIT[i // 2]] for i, row in enumerate(rows())]
    dataset = open_dataset(write(tmp_path, "path,label,order,split", table), tmp_path)
    assert dataset.levels == ("label", "order")
    assert dataset.train.tolist() == [0, 1, 2, 3]
    assert dataset.query.tolist() == [4, 5, 6, 7]


def test_query_and_gallery_are_kept_apart(tmp_path):
    sides = ["train"] * 4 + ["query", "gallery"] * 2
    table = [[*row, side] for row, side in zip(rows(), sides, strict=True)]
    dataset = open_dataset(write(tmp_path, "path,label,split", table), tmp_path)
    assert dataset.query.tolist() == [4, 6]
    assert dataset.gallery is not None
    assert dataset.gallery.tolist() == [5, 7]


def test_parquet_with_numbers_for_labels_sorts_them_as_numbers(tmp_path):
    write(tmp_path, "path,label", rows(12, 2))
    frame = pd.DataFrame({"path": [row[0] for row in rows(12, 2)], "label": np.arange(24) // 2})
    frame.to_parquet(tmp_path / "birds.parquet")
    dataset = open_dataset(str(tmp_path / "birds.parquet"), tmp_path)
    assert dataset.names[0] == tuple(str(i) for i in range(12))


def test_a_name_is_looked_for_below_the_data_folder_too(tmp_path):
    write(tmp_path, "path,label", rows())
    assert open_dataset("birds.csv", tmp_path).name == f"{tmp_path.name}/birds.csv"


def test_the_same_seed_gives_the_same_split_and_another_another(tmp_path):
    name = write(tmp_path, "path,label", rows(10, 2))
    first, again, other = (open_dataset(f"{name}?split=class&seed={s}", tmp_path).train for s in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()
    ordered = open_dataset(f"{name}?split=order", tmp_path).train
    assert ordered.tolist() == list(range(10))


def test_a_split_that_is_not_by_class_says_how_to_get_one(tmp_path):
    table = [[*row, ("train", "test")[i % 2]] for i, row in enumerate(rows())]
    name = write(tmp_path, "path,label,split", table)
    with pytest.raises(UserError, match=r"4 classes are in training and in test.*birds\.csv\?split=class"):
        open_dataset(name, tmp_path)
    assert len(open_dataset(f"{name}?split=class", tmp_path).train) == 4


def test_a_class_column_by_another_name_is_found_or_asked_for(tmp_path):
    assert open_dataset(write(tmp_path, "path,fine", rows()), tmp_path).levels == ("fine",)
    name = write(tmp_path, "path,sku", rows())
    with pytest.raises(UserError, match=r"no column 'label'; it has path, sku.*\?label=COLUMN"):
        open_dataset(name, tmp_path)
    assert open_dataset(f"{name}?label=sku", tmp_path).levels == ("sku",)


@pytest.mark.parametrize(
    ("header", "table", "message"),
    [
        ("file,label", rows(), r"no column 'path'; it has file, label"),
        ("path,label", [], r"has no rows"),
        ("path,label", [*rows(), ["images/0_0.png", "bird 3"]], r"'images/0_0.png' is in rows 2 and 10"),
        ("path,label", [*rows(), ["../outside.png", "bird 3"]], r"row 10: path '../outside.png' leaves the folder"),
        ("path,label", [*rows(), ["/etc/passwd", "bird 3"]], r"row 10: path '/etc/passwd' leaves the folder"),
        ("path,label", [*rows(), ["images/x.png", ""]], r"column 'label' is empty in row 10"),
        ("path,label", rows(2), r"2 classes, 2 of them with more than one image, are too few"),
        ("path,label,split", [[*r, "val"] for r in rows()], r"split 'val' is none of train, test, query, gallery"),
        (
            "path,label,width",
            [[*r, str(i)] for i, r in enumerate(rows())],
            r"column 'width' is no coarser level, since class 'bird 0' has 2 values",
        ),
    ],
)
def test_a_table_that_is_wrong_says_where(header, table, message, tmp_path):
    with pytest.raises(UserError, match=message):
        open_dataset(write(tmp_path, header, table), tmp_path)


def test_images_that_are_not_there_are_counted(tmp_path):
    name = write(tmp_path, "path,label", rows())
    (tmp_path / "images" / "0_0.png").unlink()
    with pytest.raises(UserError, match=r"1 of 8 images are missing .*0_0\.png.*relative to the index file"):
        open_dataset(name, tmp_path)


def test_a_file_that_is_no_table_is_named(tmp_path):
    (tmp_path / "birds.parquet").write_bytes(b"not a table")
    with pytest.raises(UserError, match=r"birds\.parquet' cannot be read as a table"):
        open_dataset(str(tmp_path / "birds.parquet"), tmp_path)


def test_a_class_with_one_image_trains_since_it_cannot_be_judged(tmp_path):
    table = [*rows(6), ["images/lonely.png", "rare bird"]]
    for seed in range(5):
        dataset = open_dataset(write(tmp_path, "path,label", table) + f"?seed={seed}", tmp_path)
        assert 12 in dataset.train


@given(st.lists(st.integers(0, 6), min_size=30, max_size=60), st.integers(0, 100))
def test_a_split_by_class_never_shares_a_class_nor_loses_an_image(labels, seed):
    fine = np.unique(np.array([*labels, 0, 0, 1, 1, 2, 2, 3, 3]), return_inverse=True)[1]
    sides = by_class(fine, "class", seed)
    train, test = np.flatnonzero(sides == "train"), np.flatnonzero(sides == "test")
    assert sorted([*train, *test]) == list(range(len(fine)))
    assert not set(fine[train]) & set(fine[test])
    assert min(np.bincount(fine[test])[np.unique(fine[test])]) > 1


def test_changed_images_change_the_fingerprint(tmp_path):
    name = write(tmp_path, "path,label", rows())
    before = open_dataset(name, tmp_path).fingerprint
    photo(tmp_path / "images" / "0_0.png", 99, (90, 70))
    assert open_dataset(name, tmp_path).fingerprint != before


def test_shuffled_labels_and_another_split_change_the_fingerprint(tmp_path):
    table = [[*row, SPLIT[i // 2]] for i, row in enumerate(rows())]
    first = open_dataset(write(tmp_path, "path,label,split", table), tmp_path).fingerprint
    shuffled = [[path, f"bird {(i // 2 + 1) % 4}", SPLIT[(i // 2 + 1) % 4]] for i, (path, *_) in enumerate(table)]
    moved = [[path, label, SPLIT[3 - i // 2]] for i, (path, label, _) in enumerate(table)]
    prints = {open_dataset(write(tmp_path, "path,label,split", t), tmp_path).fingerprint for t in (shuffled, moved)}
    assert len(prints | {first}) == 3


@pytest.mark.parametrize("column", ["splt", "Split", "spilt", "splits", "SPLIT"])
def test_a_misspelt_split_is_not_taken_for_a_coarser_level(column, tmp_path):
    table = [[*row, SPLIT[i // 2]] for i, row in enumerate(rows())]
    with pytest.raises(UserError, match=f"column '{column}' looks like the split, which is called 'split'"):
        open_dataset(write(tmp_path, f"path,label,{column}", table), tmp_path)


def test_a_split_under_any_other_name_is_known_by_its_values(tmp_path):
    table = [[*row, SPLIT[i // 2]] for i, row in enumerate(rows())]
    with pytest.raises(UserError, match="column 'partition' looks like the split"):
        open_dataset(write(tmp_path, "path,label,partition", table), tmp_path)


@pytest.mark.parametrize("header", ["Path,label", "paths,label", "path,Label", "path,lable"])
def test_near_misses_of_path_and_label_get_the_right_spelling(header, tmp_path):
    right = "path" if header.endswith(",label") else "label"
    with pytest.raises(UserError, match=f"has no column '{right}'.* meant\\? Then write '{right}'"):
        open_dataset(write(tmp_path, header, rows()), tmp_path)


def test_every_column_is_told_what_it_is(tmp_path):
    table = [[*row, f"order {i // 4}"] for i, row in enumerate(rows())]
    notes = open_dataset(write(tmp_path, "path,label,order", table), tmp_path).notes
    assert notes == ("images are column 'path', classes 'label', coarser levels 'order'; split by class",)


def test_na_none_and_null_are_labels(tmp_path):
    labels = ["NA", "None", "null", "nan"]
    table = [[path, labels[i // 2]] for i, (path, _) in enumerate(rows())]
    assert sorted(open_dataset(write(tmp_path, "path,label", table), tmp_path).names[0]) == sorted(labels)


def test_a_folder_that_begins_with_two_dots_does_not_leave_the_table(tmp_path):
    table = [[f"..birds/{i}.png", label] for i, (_, label) in enumerate(rows())]
    for i, (path, _) in enumerate(table):
        photo(tmp_path / path, i)
    assert len(open_dataset(write(tmp_path, "path,label", table), tmp_path)) == 8


def test_missing_images_of_a_table_can_be_left_out(tmp_path):
    name = write(tmp_path, "path,label", rows(images=3))
    (tmp_path / "images" / "0_0.png").unlink()
    with pytest.raises(UserError, match=r"1 of 12 images are missing.*birds\.csv\?missing=skip"):
        open_dataset(name, tmp_path)
    dataset = open_dataset(f"{name}?missing=skip", tmp_path)
    assert (len(dataset), dataset.missing) == (11, 1)
