"""Spoiled data must be the same for every method, nested, countable, and leave the test side alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from benchmark.datasets._dataset import ArraySource, Dataset
from benchmark.errors import UserError
from benchmark.spec import RunSpec
from benchmark.training import training_set as corruption


def make(classes: int = 20, images: int = 10, distractors: bool = True) -> Dataset:
    """Images whose first pixel is their number; ten super-labels; the first half of the classes trains."""
    n = classes * images
    fine = np.arange(n) // images
    array = np.zeros((n, 4, 4, 1), dtype=np.uint8)
    array[:, 0, 0, 0] = np.arange(n) % 200
    return Dataset(
        name="toy",
        levels=("class", "super"),
        labels=np.stack([fine, fine % 10], axis=1),
        names=(tuple(f"class {i}" for i in range(classes)), tuple(f"super {i}" for i in range(10))),
        train=np.flatnonzero(fine < classes // 2),
        query=np.flatnonzero(fine >= classes // 2),
        source=ArraySource(array),
        fingerprint="toy",
        distractors=ArraySource(np.full((7, 4, 4, 1), 255, dtype=np.uint8)) if distractors else None,
    )


def spec(**fields: object) -> RunSpec:
    return RunSpec(dataset="toy").replace(**fields)


def changed(**fields: object) -> set[tuple[int, str, str]]:
    dataset = make()
    view = corruption.training_view(dataset, spec(**fields))
    return {(c.index, c.kind, c.now) for c in corruption.changes(dataset, view)}


def test_an_unspoiled_view_is_the_training_side():
    dataset = make()
    view = corruption.training_view(dataset, spec())
    assert view.indices.tolist() == dataset.train.tolist()
    assert view.labels.tolist() == dataset.labels[dataset.train, 0].tolist()
    assert view.classes == 10
    assert (view.replaced == -1).all()
    assert corruption.changes(dataset, view) == []
    assert corruption.training_source(dataset, view) is dataset.source


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["label_noise", "image_noise"]),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 5),
    st.sampled_from(["test", "validation"]),
)
def test_a_larger_share_holds_the_smaller_one(kind, one, other, seed, protocol):
    small, large = sorted([one, other])
    fields = {"seed": seed, "protocol": protocol, "label_noise_excludes_true": True}
    assert changed(**{kind: small}, **fields) <= changed(**{kind: large}, **fields)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.37, 1.0])
def test_exactly_the_given_share_is_spoiled(share):
    assert len(changed(image_noise=share)) == round(share * 100)
    assert len(changed(label_noise=share, label_noise_excludes_true=True)) == round(share * 100)


def test_every_method_sees_the_same_damage_and_other_seeds_other_damage():
    fields = {"label_noise": 0.3, "image_noise": 0.3}
    first = changed(**fields, method="contrastive", lr=1e-3, epochs=3)
    assert first == changed(**fields, method="proxy_nca", lr=1e-5, epochs=9)
    assert first != changed(**fields, seed=1)
    assert first != changed(**fields, phase="tune")


def test_a_random_label_may_be_the_true_one_unless_excluded():
    dataset = make(classes=4, images=500)
    kept = corruption.training_view(dataset, spec(label_noise=1.0))
    assert 0.3 < (kept.labels == kept.true_labels).mean() < 0.7  # one of two classes, drawn at random
    other = corruption.training_view(dataset, spec(label_noise=1.0, label_noise_excludes_true=True))
    assert not (other.labels == other.true_labels).any()


def test_random_labels_are_spread_evenly_over_the_training_classes():
    dataset = make(classes=20, images=400)
    for excludes in (False, True):
        view = corruption.training_view(dataset, spec(label_noise=1.0, label_noise_excludes_true=excludes))
        counts = np.bincount(view.labels, minlength=10)
        assert len(counts) == 10
        assert counts.min() > 300
        assert counts.max() < 500


def test_a_wrong_label_brings_the_super_label_of_its_class():
    dataset = make()
    view = corruption.training_view(dataset, spec(label_noise=0.5))
    assert view.levels[:, 0].tolist() == view.class_ids[view.labels].tolist()
    assert view.levels[:, 1].tolist() == (view.labels % 10).tolist()


def test_replaced_images_are_distractors_and_all_others_stay():
    dataset = make()
    noisy = spec(image_noise=0.2)
    view = corruption.training_view(dataset, noisy)
    source = corruption.training_source(dataset, view)
    for index, other in zip(view.indices.tolist(), view.replaced.tolist(), strict=True):
        expected = dataset.source.read(index) if other < 0 else np.full((4, 4, 1), 255)
        assert (source.read(index) == expected).all()
    assert len(set(view.replaced[view.replaced >= 0])) == 7  # each distractor once before one comes twice
    assert all((source.read(int(i)) == dataset.source.read(int(i))).all() for i in dataset.query)


def test_any_folder_of_images_can_be_the_distractors(tmp_path):
    for i, size in enumerate([(30, 20), (9, 40), (4, 4)]):
        Image.new("RGB", size, (255, 255, 255)).save(tmp_path / f"{i}.png")
    dataset = make(distractors=False)
    noisy = spec(image_noise=0.1, distractors=str(tmp_path))
    view = corruption.training_view(dataset, noisy)
    source = corruption.training_source(dataset, view)
    replaced = view.indices[view.replaced >= 0]
    assert len(replaced) == 10
    assert all((source.read(int(i)) == 255).all() for i in replaced)  # cropped and resized to fit


def test_distractors_are_found_below_the_data_folder_and_no_more_are_read_than_could_be_needed(tmp_path):
    dataset = make(distractors=False)
    (tmp_path / "cars").mkdir()
    for i in range(len(dataset.train) + 1):
        Image.new("L", (4, 4), 255).save(tmp_path / "cars" / f"{i:03}.png")
    view = corruption.training_view(dataset, spec(image_noise=0.5, distractors="cars"), tmp_path)
    assert view.distractors is not None
    assert len(dataset.train) // 3 <= len(view.distractors) <= len(dataset.train) // 2


def test_image_noise_without_distractors_says_what_to_set(tmp_path):
    with pytest.raises(UserError, match="has no distractors of its own; set distractors = "):
        corruption.training_view(make(distractors=False), spec(image_noise=0.1))
    with pytest.raises(UserError, match="is not a folder with images"):
        corruption.training_view(make(), spec(image_noise=0.1, distractors=str(tmp_path)))


@pytest.mark.parametrize(("limit", "classes"), [(0, 10), (5, 5), (0.5, 5), (0.9, 9), (10, 10)])
def test_limited_data_keeps_the_first_classes(limit, classes):
    dataset = make()
    view = corruption.training_view(dataset, spec(train_classes=limit))
    assert view.class_ids.tolist() == list(range(classes))
    assert len(view.indices) == 10 * classes
    query, gallery = corruption.test_indices(dataset, spec(test_classes=limit))
    assert np.unique(dataset.labels[query, 0]).tolist() == list(range(10, 10 + classes))
    assert gallery is None


@pytest.mark.parametrize("limit", [11, 1, 2.5, 0.01, -3])
def test_an_impossible_limit_says_what_is_possible(limit):
    with pytest.raises(UserError, match=r"expected 0 .all., a share below 1, or a number from 2 to 10"):
        corruption.training_view(make(), spec(train_classes=limit))


def test_held_out_classes_are_never_trained_on_and_clean():
    dataset = make()
    noisy = spec(protocol="validation", validation_share=0.2, label_noise=0.5, image_noise=0.5)
    view = corruption.training_view(dataset, noisy)
    held = corruption.validation_indices(dataset, noisy)
    assert view.classes == 8
    assert len(held) == 20
    assert not set(dataset.labels[held, 0]) & set(view.class_ids)
    assert sorted([*view.indices, *held]) == dataset.train.tolist()
    assert not {c.index for c in corruption.changes(dataset, view)} & set(held.tolist())


def test_the_hold_out_is_the_same_for_every_seed_and_phase_and_within_the_limit():
    dataset = make()
    kept = [
        corruption.validation_indices(dataset, spec(protocol="validation", seed=s, phase=p)).tolist()
        for s, p in ((0, "final"), (3, "final"), (0, "tune"))
    ]
    assert kept[0] == kept[1] == kept[2]
    limited = spec(protocol="validation", train_classes=5, validation_share=0.4)
    assert dataset.labels[corruption.validation_indices(dataset, limited), 0].max() < 5
    assert len(corruption.validation_indices(dataset, spec())) == 0


def test_too_few_classes_to_hold_out_says_so():
    with pytest.raises(UserError, match="at least 2 must be held out and 2 remain"):
        corruption.training_view(make(), spec(protocol="validation", train_classes=3))
