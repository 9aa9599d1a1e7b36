"""A collapsed run is seen: cosines, effective rank, hubness and distance histograms mean what they say."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from retrieval_oracles import cosines
from scipy.stats import skew
from small_sets import SmallSet, small_sets

from benchmark.evaluation import distance_histograms, health
from benchmark.evaluation import health as health_function


def _normal(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


@settings(max_examples=200, deadline=None)
@given(small_sets(separate=False))
def test_cosines_and_histograms_equal_a_loop_over_pairs(data: SmallSet):
    x, y = data.query, data.query_labels
    s = cosines(x, x)
    pairs = {"positive": [], "negative": []}
    for i, j in itertools.combinations(range(len(x)), 2):
        pairs["positive" if y[i] == y[j] else "negative"].append(s[i, j])
    found = health(x, y)
    both = pairs["positive"] + pairs["negative"]
    assert found["mean_cosine"] == pytest.approx(np.mean(both) if both else 0, abs=1e-9)
    for name, values in pairs.items():
        assert found[f"{name}_cosine"] == pytest.approx(np.mean(values) if values else 0, abs=1e-9)
    histograms = distance_histograms(x, y, bins=7)
    for name, values in pairs.items():
        assert sum(histograms[name]) == len(values)


def test_histograms_put_pairs_where_their_distance_is():
    x, y = _normal(200, 5), np.arange(200) % 7
    found = distance_histograms(x, y, bins=40)
    s = cosines(x, x)
    i, j = np.triu_indices(200, 1)
    distance = np.sqrt(2 - 2 * s[i, j])
    for name, mask in (("positive", y[i] == y[j]), ("negative", y[i] != y[j])):
        assert found[name] == np.histogram(distance[mask], found["edges"])[0].tolist()


def test_effective_rank_counts_the_directions_in_use():
    labels = np.arange(400) // 4
    assert health(np.ones((400, 16)), labels)["effective_rank"] == pytest.approx(1, abs=1e-5)
    assert health(np.eye(16)[np.arange(400) % 16], labels)["effective_rank"] == pytest.approx(16)
    plane = _normal(400, 2) @ _normal(2, 16)
    assert 1 < health(plane, labels)["effective_rank"] < 2.001


def test_hubness_is_the_skewness_of_how_often_a_sample_is_near():
    x, labels = _normal(300, 40), np.arange(300) // 4
    s = cosines(x, x)
    np.fill_diagonal(s, -np.inf)
    nearest = np.argsort(-s, axis=1)[:, :10]
    assert health(x, labels)["hubness"] == pytest.approx(skew(np.bincount(nearest.ravel(), minlength=300)))
    with_hub = x + 3  # a common direction makes what lies along it near to everything
    assert health(with_hub, labels)["hubness"] > health(x, labels)["hubness"]


def test_large_sets_are_judged_by_whole_classes_and_always_the_same():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(5000, 8, generator=generator), torch.arange(5000) % 1000
    first, second = (distance_histograms(x, y) for _ in range(2))
    assert first == second
    assert sum(first["positive"]) >= 4090 // 5 * 10  # 10 pairs in each class of 5
    assert health_function(x, y) == health_function(x, y)


def test_degenerate_sets_have_finite_health():
    for x, y in (([[1.0, 2.0]], [0]), (np.zeros((4, 3)), [0, 0, 1, 1]), (np.ones((2, 1)), [0, 1])):
        assert all(np.isfinite(list(health(x, y).values())))
