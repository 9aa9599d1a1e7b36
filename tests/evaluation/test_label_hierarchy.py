"""Each level of the labels is judged as if it were alone, and the hierarchical metrics follow their definitions."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from retrieval_oracles import chained, cosines, hierarchical
from small_sets import KINDS, embeddings

from benchmark.evaluation import retrieval_metrics


@st.composite
def hierarchies(draw) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, kind = draw(st.integers(2, 24)), draw(st.integers(1, 5)), draw(st.sampled_from(KINDS))
    fine = generator.integers(0, 9, n)
    middle = generator.integers(0, 4, 9)[fine]
    coarse = generator.integers(0, 2, 4)[middle]
    labels = np.stack([fine, middle, coarse], axis=1)[:, : draw(st.integers(2, 3))]
    return embeddings(kind, n, d, generator), labels


@settings(max_examples=250, deadline=None)
@given(hierarchies())
def test_hierarchical_metrics_equal_their_definitions(data: tuple[np.ndarray, np.ndarray]):
    x, labels = data
    assume(not chained(cosines(x, x)))
    found = retrieval_metrics(x, labels)
    expected = hierarchical(x, labels)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(hierarchies())
def test_every_level_is_judged_as_if_it_were_alone(data: tuple[np.ndarray, np.ndarray]):
    x, labels = data
    together = retrieval_metrics(x, labels, rerank=(3,))
    for level in range(labels.shape[1]):
        for name, value in retrieval_metrics(x, labels[:, level], rerank=(3,)).items():
            assert together[f"{name}/{level}"] == value


def test_levels_are_named_in_the_keys():
    x = np.random.default_rng(0).standard_normal((8, 4))
    labels = np.stack([np.arange(8) // 2, np.arange(8) // 4], axis=1)
    found = retrieval_metrics(x, labels, ks=(1,), levels=("species", "family"))
    assert {"R@1/species", "mAP/species", "mAP@R/family", "excluded/family", "H-AP", "ASI", "NDCG"} <= set(found)


def test_levels_that_are_no_hierarchy_are_judged_one_by_one():
    """A car has a make and a body type; neither contains the other."""
    x = np.random.default_rng(0).standard_normal((40, 4))
    labels = np.stack([np.arange(40) // 2, np.arange(40) % 3, np.arange(40) % 4], axis=1)
    found = retrieval_metrics(x, labels, levels=("class", "make", "body type"))
    assert "mAP/body type" in found
    assert "H-AP" not in found


def test_a_perfect_hierarchy_scores_one():
    order = np.arange(16)
    x = np.cumsum(np.eye(16), axis=0)[:, ::-1] * 1.0  # nested sums: neighbours in order are neighbours in space
    labels = np.stack([order // 16, order // 16], axis=1)
    found = retrieval_metrics(x, labels)
    assert [found[name] for name in ("H-AP", "ASI", "NDCG")] == pytest.approx([1, 1, 1])
