"""The paper's photos: true names and index lines, data that lack some photos, and the real files where they are."""

import os
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from trees import TREES, cars_original, cifar100, cub

from benchmark.commands.doctor import identical, survey
from benchmark.datasets import cars, open_dataset
from benchmark.datasets import cub as birds
from benchmark.errors import UserError

LISTS = Path(__file__).parent / "lists"
COUNTS = {  # images; classes of each level, of training and of query
    "cub": (5_864, 5_924, (100, 29, 13), (100, 20, 6)),
    "cars?missing=skip": (8_048, 8_122, (98, 14, 9), (98, 35, 9)),
    "inshop": (25_882, 14_218, (3_997, 23, 2), (3_985, 23, 2)),
}


@pytest.fixture(scope="session")
def photos() -> Path:
    """The real photos, for tests that skip where they are absent."""
    folder = Path(os.environ.get("BENCHMARK_DATA", "no such folder"))
    if not folder.is_dir():
        pytest.skip("no photos; set BENCHMARK_DATA to the data folder")
    return folder


def by_level(dataset, side) -> tuple[int, ...]:
    return tuple(len(np.unique(dataset.labels[side, level])) for level in range(len(dataset.levels)))


def test_cub_opens_under_the_true_names_of_its_200_birds(tmp_path):
    folder, listed, labels = tmp_path / "CUB_200_2011", [], []
    for c, line in enumerate((LISTS / "cub.txt").read_text().splitlines(), 1):
        name, count = line.split()
        (folder / "images" / name).mkdir(parents=True)
        for i in range(int(count)):
            (folder / "images" / name / f"{i}.jpg").touch()
            listed.append(f"{len(listed) + 1} {name}/{i}.jpg")
            labels.append(f"{len(listed)} {c}")
    (folder / "images.txt").write_text("\n".join(listed))
    (folder / "image_class_labels.txt").write_text("\n".join(labels))
    dataset = open_dataset("cub", tmp_path)
    assert {"Green Violetear", "Artic Tern"} <= set(dataset.names[0])
    train, test, trained, judged = COUNTS["cub"]
    assert (len(dataset.train), len(dataset.query)) == (train, test)
    assert (by_level(dataset, dataset.train), by_level(dataset, dataset.query)) == (trained, judged)
    assert dataset.notes == ()
    (folder / "images" / "001.Black_footed_Albatross" / "0.jpg").unlink()
    message = r"1 of 11,788 images .*001\.Black_footed_Albatross/0\.jpg.*CUB_200_2011\.tgz.*cub\?missing=skip"
    with pytest.raises(UserError, match=message):
        open_dataset("cub", tmp_path)
    assert open_dataset("cub?missing=skip", tmp_path).missing == 1


def test_every_car_has_its_make_and_body_and_the_papers_counts():
    counted = [line.split(" ", 1) for line in (LISTS / "cars.txt").read_text().splitlines()]
    images = [int(count) for count, _ in counted]
    assert (sum(images[:98]), sum(images[98:])) == tuple(cars.COUNTS.values())[:2]
    makes, bodies = ({f(name) for _, name in counted} for f in (cars.make, cars.body))
    assert (len(makes), len(bodies), "Other" in bodies) == (49, 9, False)


def test_a_bird_that_nobody_knows_does_not_keep_the_others_from_opening(tmp_path):
    root = cub(tmp_path)
    for index in root.rglob("images.txt"):
        index.write_text(index.read_text().replace("Brown_Pelican", "Great_Dodo"))
    (root / "CUB_200_2011/images/100.Brown_Pelican").rename(root / "CUB_200_2011/images/100.Great_Dodo")
    for photo in (root / "CUB_200_2011/images/100.Great_Dodo").iterdir():
        photo.rename(photo.with_name(photo.name.replace("Brown_Pelican", "Great_Dodo")))
    dataset = birds.open(root, expect=None)
    assert "unknown" in dataset.names[1]
    assert dataset.notes == ("no family is known for the bird 'Great_Dodo'; its coarser levels are 'unknown'",)


def test_photos_that_are_absent_are_refused_or_left_out_and_counted(tmp_path):
    root = cars_original(tmp_path)
    whole = cars.open(root, expect=None)
    (root / "cars" / "car_ims" / "000003.jpg").unlink()
    with pytest.raises(UserError, match=r"1 of 12 images are missing .*000003\.jpg.*cars\?missing=skip"):
        cars.open(root, expect=None)
    rest = cars.open(root, expect=None, missing="skip")
    assert (rest.missing, len(rest)) == (1, 11)
    assert "1 images are missing and left out" in rest.summary()
    assert rest.fingerprint != whole.fingerprint
    assert [rest.names[0][i] for i in rest.labels[:, 0]] == [
        whole.names[0][i] for i in np.delete(whole.labels[:, 0], 2)
    ]
    with pytest.raises(UserError, match=r"unknown value of the option missing 'jump'; .*skip"):
        cars.open(root, expect=None, missing="jump")
    with pytest.raises(UserError, match=r"'glyphs\?missing=skip' has no option 'missing'; it has script"):
        open_dataset("glyphs?missing=skip", tmp_path)


def test_doctor_counts_identical_photos_across_classes(tmp_path):
    root = cars_original(tmp_path)
    folder = root / "cars" / "car_ims"
    for copy in ("000002.jpg", "000003.jpg"):  # of the same class, and of another
        (folder / copy).write_bytes((folder / "000001.jpg").read_bytes())
    (folder / "000012.jpg").write_bytes((folder / "000011.jpg").read_bytes())
    assert identical(cars.open(root, expect=None)) == (2, 1)


def test_looking_at_data_runs_nothing_and_writes_nothing(tmp_path, monkeypatch):
    for name in ("cifar100", "omniglot"):
        TREES[name][1](tmp_path)
        monkeypatch.setattr(f"benchmark.datasets.{name}.open.__defaults__", (None,))
    before = sorted(tmp_path.rglob("*"))
    found = {name: text.partition(";")[0] for _, name, text in survey(tmp_path)}
    assert (found["cifar100"], found["omniglot"]) == ("whole", "whole")
    assert sorted(tmp_path.rglob("*")) == before


class Command:
    def __init__(self, text: str) -> None:
        self.text = text

    def __reduce__(self):
        return os.system, (self.text,)


@pytest.mark.parametrize("file", ["meta", "train"])
def test_a_crafted_archive_cannot_run_a_command(file, tmp_path, monkeypatch):
    folder = cifar100(tmp_path) / "cifar-100-python"
    (folder / file).write_bytes(pickle.dumps(Command(f"touch {tmp_path / 'run'}")))
    monkeypatch.setattr("benchmark.datasets.cifar100.open.__defaults__", (None,))
    with pytest.raises(UserError, match=r"cannot be read \(it asks for .*system, which is no data\)"):
        open_dataset("cifar100", tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", COUNTS)
def test_the_real_photos_have_the_papers_counts_on_every_level(name, photos):
    dataset = open_dataset(name, photos)
    train, query, trained, judged = COUNTS[name]
    assert (len(dataset.train), len(dataset.query)) == (train, query)
    assert (by_level(dataset, dataset.train), by_level(dataset, dataset.query)) == (trained, judged)
    assert dataset.source.read(0).shape[2] == 3
    assert dataset.missing == (15 if name.startswith("cars") else 0)


def test_the_real_cub_has_as_many_photos_of_each_bird_as_listed(photos):
    dataset = open_dataset("cub", photos)
    counts = Counter(file.split("/")[0] for file in dataset.source.files)
    assert [f"{name} {counts[name]}" for name in sorted(counts)] == (LISTS / "cub.txt").read_text().splitlines()
