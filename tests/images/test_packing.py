"""Packs: faster, and otherwise as if they were not there, even after a crash in the middle."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from trees import photo

from benchmark.__main__ import main
from benchmark.datasets import open_dataset
from benchmark.images import loading, packing, transforms
from benchmark.images.transforms import FirstStep
from benchmark.planning import settings
from benchmark.spec import RunSpec

SQUARE = {"image_size": 24, "resize": 28, "train_resize": 28, "resize_square": True, "augmentation": "crop"}


@pytest.fixture
def folder(tmp_path):
    for c in range(6):
        for i in range(4):
            photo(tmp_path / "birds" / f"class{c}" / f"{i}.jpg", 10 * c + i, (40 + 3 * c, 45 + i))
    return tmp_path / "birds"


def spec(**fields: object) -> RunSpec:
    return RunSpec(dataset="birds").replace(**fields)


def make(dataset, wanted: RunSpec, root) -> None:
    for step, indices in packing.needed(wanted, dataset):
        assert list(packing.pack(dataset, step, indices, root))[-1] == len(indices)


@pytest.mark.parametrize("fields", [SQUARE, SQUARE | {"resize_square": False}, SQUARE | {"train_resize": 0}])
def test_a_pack_changes_no_pixel_that_training_or_evaluation_sees(fields, folder, tmp_path):
    dataset, wanted = open_dataset(str(folder), tmp_path), spec(**fields)
    assert packing.sources(dataset, wanted, tmp_path) == (dataset.source, dataset.source)
    make(dataset, wanted, tmp_path)
    train, judged = packing.sources(dataset, wanted, tmp_path)
    assert isinstance(train, packing.PackedSource)
    assert isinstance(judged, packing.PackedSource)
    everything = [np.arange(len(dataset))]
    for packed, transform in ((train, transforms.training(wanted)), (judged, transforms.evaluation(wanted))):
        files, mapped = (
            next(loading.pixel_batches(s, everything, transform, key=("k",))) for s in (dataset.source, packed)
        )
        assert (files == mapped).all()


def test_each_setting_packs_what_it_reads(folder, tmp_path):
    dataset = open_dataset(str(folder), tmp_path)
    names = {}
    for name, data in (("224", "cub"), ("256", "cub"), ("256", "sop")):
        steps = packing.needed(spec(**settings.setting(name, data)), dataset)
        names[name, data] = [(step.name, len(indices)) for step, indices in steps]
    # Crops come from the full image unless the setting resizes it first; only training images need that resize.
    assert names["224", "cub"] == names["256", "cub"] == [("full", 24)]
    assert names["256", "sop"] == [("shorter288", len(dataset.train)), ("square288", 24)]


def test_other_data_or_an_unfinished_pack_is_not_used(folder, tmp_path):
    dataset, wanted = open_dataset(str(folder), tmp_path), spec(**SQUARE)
    step, indices = packing.needed(wanted, dataset)[0]
    unfinished = packing.pack(dataset, step, indices, tmp_path)
    next(unfinished)
    unfinished.close()
    assert packing.packed(dataset, step, tmp_path) is None
    make(dataset, wanted, tmp_path)
    photo(folder / "class0" / "0.jpg", 77, (90, 90))
    assert packing.packed(open_dataset(str(folder), tmp_path), step, tmp_path) is None


def test_a_killed_pack_goes_on_where_it_stopped(tmp_path):
    for c in range(4):
        for i in range(100):
            photo(tmp_path / "birds" / f"class{c}" / f"{i}.jpg", 100 * c + i, (220, 200))
    command = [sys.executable, "-m", "benchmark", "pack", str(tmp_path / "birds"), "--data", str(tmp_path)]
    process = subprocess.Popen([*command, "--side", "150"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    dataset = open_dataset(str(tmp_path / "birds"), tmp_path)
    place = packing.pack_folder(dataset, FirstStep(150), tmp_path)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        if (place / "index.part").exists() and (place / "index.part").stat().st_size:
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if (place / "index.part").exists():  # killed in the middle, as it nearly always is
        with (place / "images.bin").open("ab") as file:
            file.write(b"half an image")  # as a crash between the two files leaves it
        before = (place / "index.part").stat().st_size // packing.RECORD.itemsize
        assert before > 0
        started = next(packing.pack(dataset, FirstStep(150), np.arange(400), tmp_path))
        assert started == before
    assert main([*command[3:], "--side", "150"]) == 0
    assert main([*command[3:], "--side", "150", "--check"]) == 0
    found = packing.packed(dataset, FirstStep(150), tmp_path)
    assert found is not None
    for index in (0, 63, 64, 399):
        assert (found.read(index) == FirstStep(150)(dataset.source.read(index))).all()


def test_damage_is_found_by_the_checksums(folder, tmp_path, capsys):
    command = ["pack", str(folder), "--data", str(tmp_path), "--side", "20"]
    assert main(command) == 0
    assert main([*command, "--check"]) == 0
    assert "24 images, all as written" in capsys.readouterr().out
    dataset = open_dataset(str(folder), tmp_path)
    pixels = packing.pack_folder(dataset, FirstStep(20), tmp_path) / "images.bin"
    damaged = bytearray(pixels.read_bytes())
    damaged[100] ^= 255
    pixels.write_bytes(damaged)
    assert main([*command, "--check"]) == 2
    assert "1 images of" in capsys.readouterr().err


def test_the_description_names_no_place_on_this_machine(folder, tmp_path):
    dataset, wanted = open_dataset(str(folder), tmp_path), spec(**SQUARE)
    make(dataset, wanted, tmp_path)
    for about in (tmp_path / "packed").rglob("pack.json"):
        assert str(tmp_path) not in about.read_text()
        assert json.loads(about.read_text())["dataset"] == "birds"


def test_glyphs_need_no_pack(data, capsys):
    assert main(["pack", "glyphs", "--data", str(data)]) == 0
    assert "nothing to pack" in capsys.readouterr().out


def test_a_disk_without_room_says_how_much_is_needed(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    assert main(["pack", str(folder), "--data", str(tmp_path)]) == 2
    assert "needs about 0.0 GB and 0.0 GB are free" in capsys.readouterr().err
