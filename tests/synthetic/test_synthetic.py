"""The experiments that explain the loss: their laws, and that they are written once, whole and the same every time."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.contextual import contextual_similarity
from benchmark import synthetic
from benchmark.errors import UserError
from benchmark.seeds import numpy_generator
from benchmark.synthetic import gradient_picture, inconsistent_labels, rolling_point, toy_circles


@pytest.fixture(autouse=True)
def one_thread():
    """As in the command: networks this small are slower with more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_rolling_point_is_pulled_home_all_the_way():
    angles, labels = rolling_point.points()
    own, other = angles[rolling_point.MOVED + 1 :].mean(), angles[: rolling_point.MOVED].mean()
    way = [rolling_point.rolled("context", angles, labels, a) for a in np.linspace(other, own, 30)]
    values, gradients = np.array(way).T
    assert values[0] > 0
    assert values[-1] == pytest.approx(0, abs=1e-9)  # the minimum is reached
    moving = values > 1e-9
    assert (gradients[moving] > 0).all()
    assert (gradients >= 0).all()


def test_the_contrastive_loss_pulls_the_point_home_too():
    angles, labels = rolling_point.points()
    value, gradient = rolling_point.rolled("contrast", angles, labels, np.pi / 2)
    assert value > 0
    assert gradient > 0


@pytest.mark.parametrize("space", toy_circles.SPACES)
def test_step_1_alone_learns_clean_circles(space):
    x, labels = toy_circles.circles(0.0, 60, numpy_generator("test circles"))
    before = toy_circles.mean_ap(toy_circles.embed(toy_circles.untrained(0), x, space), labels)
    after = toy_circles.mean_ap(toy_circles.embed(toy_circles.trained(0.0, 0, space, steps=250), x, space), labels)
    assert before < 0.5  # chance is 0.2
    assert after > before + 0.1


def test_map_of_the_toy_counts_each_query_once():
    z = torch.tensor([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [1.2, 0.0]])
    assert toy_circles.mean_ap(z, torch.tensor([0, 0, 1, 1])) == 1.0
    # Of each point, the only other one of its class is third: average precision 1/3; or second: 1/2.
    assert toy_circles.mean_ap(z, torch.tensor([0, 1, 0, 1])) == pytest.approx((1 / 2 + 1 / 3 + 1 / 3 + 1 / 2) / 4)


def cosines(seed: int, n: int = 14) -> torch.Tensor:
    z = torch.from_numpy(numpy_generator("cosines", seed).normal(size=(n, 3)))
    return torch.nn.functional.normalize(z) @ torch.nn.functional.normalize(z).T


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_the_two_parts_of_the_picture_are_the_gradient_of_step_2(seed):
    s = cosines(seed)
    near = gradient_picture.neighbourhoods((2 - 2 * s).numpy())
    i, j = (int(index) for index in np.argwhere(near & ~np.eye(len(near), dtype=bool))[seed % 7])
    s = s.clone().requires_grad_()
    w = contextual_similarity(s, gradient_picture.K, gradient_picture.EPS, gradient_picture.ALPHA, "no_query_expansion")
    w[i, j].backward()
    gradient = (-0.5 * s.grad).numpy()  # of D = 2 − 2s
    ranking, from_i, from_j = gradient_picture.parts(near, i, j)
    np.testing.assert_allclose(gradient[i], ranking + from_i, atol=1e-6)
    np.testing.assert_allclose(gradient[j], from_j, atol=1e-6)


def test_step_1_pushes_wrong_neighbours_and_pulls_missing_ones():
    near = np.array([[True, True, False, False]])
    same = np.array([[True, False, True, False]])
    gradient = gradient_picture.step1_gradient(near, same, 0)
    assert gradient[0] == 0
    assert gradient[1] < 0  # pushed away
    assert gradient[2] > 0  # pulled
    assert gradient[3] == 0


def test_the_contrastive_gradient_never_goes_against_a_label():
    labels = np.repeat(np.arange(4), 4)
    s = cosines(3, 16).float()
    same = labels[:, None] == labels[None, :]
    gradient = gradient_picture.contrast_gradient(s, labels)
    assert (gradient[same] >= 0).all()
    assert (gradient[~same] <= 0).all()


def test_twins_of_other_classes_are_found_and_others_are_not():
    images = numpy_generator("images").integers(0, 256, size=(40, 8, 8, 1), dtype=np.uint8)
    labels = np.arange(40) // 4
    images[30] = images[2]  # of another class
    images[5] = images[4]  # of the same class
    images[20] = images[11]
    images[20, 0, 0, 0] ^= 0x80  # one pixel differs
    assert inconsistent_labels.equal_pairs(images, labels) == [(2, 30)]
    assert inconsistent_labels.similar_pairs(images, labels)[0] == (11, 20)


@pytest.fixture
def short_roll(monkeypatch):
    monkeypatch.setattr(rolling_point, "STEPS", 5)


def test_an_experiment_is_written_once_and_again_with_the_same_bytes(tmp_path, short_roll):
    path = tmp_path / "synthetic" / "rolling_point.parquet"
    assert synthetic.make("rolling_point", tmp_path, tmp_path)
    first = path.read_bytes()
    assert not synthetic.make("rolling_point", tmp_path, tmp_path)
    assert synthetic.make("rolling_point", tmp_path, tmp_path, again=True)
    assert path.read_bytes() == first
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_damaged_or_outdated_table_is_made_anew(tmp_path, short_roll, monkeypatch):
    path = tmp_path / "synthetic" / "rolling_point.parquet"
    path.parent.mkdir()
    path.write_bytes(b"PAR1 half a file")
    assert synthetic.make("rolling_point", tmp_path, tmp_path)
    monkeypatch.setattr(synthetic, "RECIPE", -1)
    assert synthetic.make("rolling_point", tmp_path, tmp_path)


def test_what_came_with_the_project_is_not_made_again(tmp_path, short_roll):
    assert synthetic.make("rolling_point", tmp_path, tmp_path)
    (tmp_path / "synthetic").rename(tmp_path / "moved")
    (tmp_path / "reference").mkdir()
    (tmp_path / "moved").rename(tmp_path / "reference" / "synthetic")
    assert not synthetic.make("rolling_point", tmp_path, tmp_path)


def test_a_misspelt_experiment_names_the_right_one():
    with pytest.raises(UserError, match="rolling_point"):
        synthetic.key("roling_point")


def test_the_command_lists_and_skips_without_torch(tmp_path):
    code = (
        "import sys; from benchmark.__main__ import main; "
        f"assert main(['synthetic', '--list', '--results', {str(tmp_path)!r}]) == 0; "
        "import benchmark.synthetic as s; [s.key(n) for n in s.VERSIONS]; assert 'torch' not in sys.modules"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == sorted(synthetic.VERSIONS)
