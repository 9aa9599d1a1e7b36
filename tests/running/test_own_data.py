"""Your own data in the paper's studies: in a setting that suits them, on all their classes, and no surprise run by run."""

from pathlib import Path

import pytest
from PIL import Image

from benchmark.__main__ import main
from benchmark.errors import UserError
from benchmark.planning import plan, study

TINY = ["backbone=convnet", "pretrained=false", "image_size=16", "resize=16"]


def table(folder: Path, classes: int = 12, side: int = 90) -> str:
    lines = ["path,label"]
    (folder / "img").mkdir()
    for c in range(classes):
        for i in range(4):
            Image.new("RGB", (side + 10, side), (20 * c, 50 * i, 0)).save(folder / "img" / f"{c}_{i}.png")
            lines.append(f"img/{c}_{i}.png,bird {c}")
    (folder / "birds.csv").write_text("\n".join(lines))
    return str(folder / "birds.csv")


def specs(chosen):
    return [task.spec for family in plan.families(chosen) for task in family.known({}).tasks]


@pytest.mark.parametrize(("side", "setting"), [(90, "frozen"), (30, "small")])
def test_counts_of_the_embedded_letters_do_not_apply_to_other_data(side, setting, tmp_path):
    name = table(tmp_path, side=side)
    chosen = study.load("main", "quick", only_datasets=[name], data=tmp_path)
    assert chosen.setting == setting
    assert {(spec.train_classes, spec.test_classes, spec.lane) for spec in specs(chosen)} == {
        (0, 0, "frozen" if setting == "frozen" else "end_to_end")
    }
    asked = study.load("main", "quick", ["setting=glyphs", "train_classes=3"], [name], data=tmp_path)
    assert {spec.train_classes for spec in specs(asked)} == {3}


def test_the_papers_photos_have_a_setting_for_two_cores_and_letters_keep_theirs():
    assert study.load("main", "laptop", only_datasets=["cars?missing=skip"]).setting == "photos"
    assert study.load("main", "laptop", only_datasets=["glyphs"]).setting == "glyphs"
    assert study.load("main", "paper", only_datasets=["cub"]).setting == "224"
    with pytest.raises(UserError, match=r"settings of their own \(glyphs glyphs, cub photos\)"):
        study.load("main", "laptop", only_datasets=["glyphs", "cub"])


def test_run_says_first_what_it_runs_on_and_makes_features_before_runs(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["run", "main", "--datasets", table(tmp_path), "--methods", "untrained", "--jobs", "1"]
    command += [f"--set={text}" for text in (*TINY, "seeds=1", 'protocols=["test"]')]
    assert main(command) == 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].endswith("birds.csv: train 24 images of 6 label; test 24 images of 6 label; setting frozen")
    assert lines[1] == "images are column 'path', classes 'label'; split by class"
    assert "48 images to do, 0 are there, 1 workers" in lines[3]


def test_what_no_run_could_do_is_one_error_before_the_first(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["run", "main", "--datasets", table(tmp_path, classes=6), "--methods", "untrained"]
    assert main([*command, "--set=seeds=1"]) == 2
    told = capfd.readouterr().err
    assert "validation_share = 0.2 of 3 training classes" in told
    assert told.count("error") == 1
    assert not list((tmp_path / "results").rglob("runs/*.parquet"))


def test_what_only_the_final_runs_see_is_asked_for_and_made_before_the_first_trial(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noise = '[{ name = "clean" }, { name = "noisy", image_noise = 0.5, distractors = "web" }]'
    Path("noisy.toml").write_text(
        f'title = "Noise"\ndatasets = ["{table(tmp_path)}"]\nmethods = ["contrastive"]\nsetting = "frozen"\nseeds = 1\n'
        f"[vary]\ncondition = {noise}\n[tuning]\nlr = [1e-3, 1e-2]\ntrials = 2\nextend = false\n"
    )
    command = ["run", "noisy.toml", "--data", ".", "--jobs", "1"]
    command += [f"--set={text}" for text in (*TINY, "epochs=1", "batches_per_epoch=1", "batch_size=4", "per_class=2")]
    assert main(command) == 2
    assert "web" in capfd.readouterr().err
    assert not list(Path("results").glob("runs/**/*.parquet"))  # no trial was spent on it
    Path("web").mkdir()
    for i in range(3):
        Image.new("RGB", (90, 90), (9 * i, 0, 90)).save(f"web/{i}.png")
    assert main(command) == 0
    lines = [line for line in capfd.readouterr().err.splitlines() if "images to do" in line]
    assert "3 images to do, 48 are there" in lines[-1]
