"""What was retrieved: tables and figures of it show the images that the runs kept, or say that they are not at hand."""

import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image
from study_factory import METHODS, write_study

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from retrieval_factory import neighbours

from benchmark.__main__ import main
from benchmark.datasets import open_dataset
from benchmark.errors import UserError
from plots.catalogue import entries
from plots.data import Results
from plots.retrieved import COARSE, RIGHT, WRONG, Album, confused_pairs, retrieved

FOUND, _ = entries()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    root, data = tmp_path_factory.mktemp("retrieved"), tmp_path_factory.mktemp("data")
    write_study(root, seeds=2, retrieved=lambda method, seed: neighbours(data, method, seed))
    return Results(root, "quick", data=data)


def test_a_neighbour_is_right_coarsely_right_or_wrong(kept):
    (one,) = retrieved(kept)
    assert one.methods == list(METHODS)
    dataset = one.album.opened
    for query, row, grades in zip(one.queries, one.first("triplet"), one.grades("triplet"), strict=True):
        for index, grade in zip(row, grades, strict=True):
            same = dataset.labels[query] == dataset.labels[index]
            assert grade == (RIGHT if same[0] else COARSE if same[1:].any() else WRONG)


def test_the_queries_on_which_methods_differ_most_come_first(kept):
    (one,) = retrieved(kept)
    order = one.telling(["untrained", "contextual"])
    hits = {name: (one.grades(name) == RIGHT).sum(axis=1) for name in one.methods}
    gaps = abs(hits["contextual"] - hits["untrained"])[order]
    assert gaps[:5].mean() > gaps[-5:].mean()
    assert sorted(order) == list(range(len(one.queries)))


def test_shares_of_confusions_are_counted_over_seeds_and_against_the_others(kept):
    (one,) = retrieved(kept)
    pairs = confused_pairs(one)
    row = pairs[pairs["share"] > 0].iloc[0]
    asked = [i for i, q in enumerate(one.queries) if one.labels[int(q)][0] == row["query"]]
    nearest = [found[i, 0] for found in one.found[row["method"]].values() for i in asked]
    taken = [one.labels[int(index)][0] == row["taken"] for index in nearest]
    assert row["share"] == pytest.approx(sum(taken) / len(taken))
    assert row["images"] * len(one.found[row["method"]]) == len(taken)
    rest = pairs[
        (pairs["query"] == row["query"]) & (pairs["taken"] == row["taken"]) & (pairs["method"] != row["method"])
    ]
    assert row["others"] == pytest.approx(rest["share"].mean())


def test_confusions_are_a_table_with_names_of_classes(kept):
    (table,) = FOUND["confusions"].produce(kept)
    dataset = next(retrieved(kept)).album.opened
    assert {row.cells["query"].text for row in table.rows()} <= set(dataset.names[0])
    assert "40 queries" in " ".join(table.caption)
    assert all(row.cells["asked"].text.endswith(" × 2") for row in table.rows())  # a share of few is seen to be one
    assert table.ran


@pytest.mark.parametrize("name", ["neighbours", "confused_classes"])
def test_what_was_retrieved_is_drawn(kept, name):
    drawing = FOUND[name].produce(kept)
    assert drawing.figure.axes
    assert "glyphs, protocol test" in drawing.caption


def test_older_results_without_neighbours_say_what_to_run(tmp_path):
    write_study(tmp_path, seeds=2)
    for name in ("confusions", "neighbours", "confused_classes"):
        with pytest.raises(UserError, match="benchmark run main"):
            FOUND[name].produce(Results(tmp_path, "quick"))


def test_photos_that_are_not_at_hand_are_numbers_in_the_table_and_no_figure(tmp_path, kept):
    """The made-up neighbours are letters; as a data set whose folder is gone they have no images and no names."""
    data = kept.data
    write_study(tmp_path, datasets=("cub",), seeds=2, retrieved=lambda method, seed: neighbours(data, method, seed))
    results = Results(tmp_path, "quick", data=tmp_path / "nothing")
    (table,) = FOUND["confusions"].produce(results)
    assert table.rows()[0].cells["query"].text.startswith("class ")
    with pytest.raises(UserError, match="--data"):
        FOUND["neighbours"].produce(results)


def test_a_growing_gallery_is_drawn_as_a_line_per_method(tmp_path):
    cost = {"contextual": 0.02, "triplet": 0.01}
    write_study(
        tmp_path, "distractors", methods=tuple(cost), protocols=("validation",), seeds=3,
        more_metrics=lambda method, seed: {f"distractors{m}/R@1": 0.7 - cost[method] * m for m in (1, 5, 10)},
    )  # fmt: skip
    drawing = FOUND["distractors"].produce(Results(tmp_path, "quick"))
    (axis,) = drawing.figure.axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "2", "6", "11"]
    assert "up to 11 times its size" in drawing.caption
    assert "Protocol validation" in drawing.caption


def test_transfer_is_a_matrix_with_the_mean_rank_over_targets(tmp_path):
    worse = {"": 0.0, "cub": -0.1, "cars": -0.2}
    variations = tuple({"judged_on": name} for name in worse)
    write_study(
        tmp_path, "transfer", methods=("contrastive", "contextual"), variations=variations, seeds=3,
        shift=lambda variation, dataset: worse[variation["judged_on"]],
    )  # fmt: skip
    (table,) = FOUND["transfer"].produce(Results(tmp_path, "quick"))
    assert [column.title for column in table.columns] == ["glyphs", "cub", "cars", "mean rank"]
    rows = {row.title: row.cells for row in table.rows()}
    assert rows["Contextual"]["rank"].value == 1
    assert rows["Contrastive"]["rank"].value == 2
    gap = rows["Contextual"]["glyphs"].value - rows["Contextual"]["cars"].value
    assert gap == pytest.approx(20)


def test_the_caption_of_transfer_names_what_the_data_sets_differ_in(tmp_path):
    crops = {"cub": 0.12, "cars": 0.16}
    variations = tuple({"judged_on": name, "augmentation": "crop", "crop_scale": crop} for name, crop in crops.items())
    write_study(tmp_path, "transfer", methods=("contrastive", "contextual"), variations=variations, seeds=3)
    (table,) = FOUND["transfer"].produce(Results(tmp_path, "quick"))
    assert "crop (scale 0.12/0.16–1)" in " ".join(table.caption)


def test_thumbnails_are_of_the_images_that_runs_saw_or_are_not_shown(tmp_path, kept):
    (one,) = retrieved(kept)
    index, labels = next(iter(one.labels.items()))
    others = Album("glyphs", one.album.data, one.labels | {index: tuple(label + 1 for label in labels)})
    assert one.album.opened is not None
    assert others.opened is None


def test_photos_that_were_left_out_do_not_hide_the_others(tmp_path):
    cell = {"queries": [0], "found": [[1] * 10], "cosine": [[0.5] * 10], "labels": {"0": [0], "1": [0]}}
    write_study(tmp_path, datasets=("cars?missing=skip",), seeds=1, retrieved=lambda method, seed: cell)
    (one,) = retrieved(Results(tmp_path, "quick", data=tmp_path))
    assert (one.dataset, one.album.dataset) == ("cars", "cars?missing=skip")


def test_archived_classes_keep_their_names_where_the_photos_are_not_at_hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("crow", "lark", "tern", "wren")
    for name in names:
        (tmp_path / "birds" / name).mkdir(parents=True)
        for i in range(2):
            Image.new("RGB", (8, 8), (i, i, i)).save(tmp_path / "birds" / name / f"{i}.png")
    birds = open_dataset("./birds", tmp_path)
    query, near = (int(i) for i in birds.test[:2])
    labels = {str(i): [int(birds.labels[i, 0])] for i in (query, near)}
    cell = {"queries": [query], "found": [[near] * 10], "cosine": [[0.5] * 10], "labels": labels}
    write_study(
        tmp_path / "results", scale="photos", datasets=("./birds",), seeds=1, separate=True,
        stored={"fingerprint": birds.fingerprint}, retrieved=lambda method, seed: cell,
    )  # fmt: skip
    assert main(["archive", "--scale", "photos", "--data", str(tmp_path)]) == 0
    shutil.rmtree(tmp_path / "birds")

    def named() -> list[str]:
        (one,) = retrieved(Results(tmp_path / "results", "photos", data=tmp_path))
        assert one.album.opened is None
        return [one.album.name(0, label) for label in range(4)]

    assert named() == list(names)
    (file,) = (tmp_path / "results" / "reference" / "classes").iterdir()
    file.write_bytes(file.read_bytes()[:40])  # cut off: as if there were none
    assert named() == ["class 0", "class 1", "class 2", "class 3"]
