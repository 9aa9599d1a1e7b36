"""R@k, mAP and mAP@R are those of the paper's definitions, whatever the embeddings."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN
from retrieval_oracles import retrieval
from small_sets import SmallSet, small_sets

from benchmark.evaluation import recall_at_1, retrieval_metrics

KS = (1, 2, 5, 100)  # 100: larger than any gallery here


@settings(max_examples=2000, deadline=None)
@given(small_sets())
def test_metrics_equal_the_definitions(data: SmallSet):
    expected, queries = retrieval(*data.arguments, KS)
    found = retrieval_metrics(*data.arguments, ks=KS)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert (found["queries"], found["excluded"]) == (queries, len(data.query) - queries)


@settings(max_examples=400, deadline=None)
@given(small_sets())
def test_the_fast_recall_at_1_is_the_same_number(data: SmallSet):
    assert recall_at_1(*data.arguments) == retrieval_metrics(*data.arguments, ks=(1,))["R@1"]


@settings(max_examples=150, deadline=None)
@given(small_sets(), st.integers(0, 2**32))
def test_no_metric_depends_on_the_order_of_the_samples(data: SmallSet, seed: int):
    generator = np.random.default_rng(seed)
    q = generator.permutation(len(data.query))
    g = None if data.gallery is None else generator.permutation(len(data.gallery))
    shuffled = [data.query[q], data.query_labels[q]]
    shuffled += [None, None] if g is None else [data.gallery[g], data.gallery_labels[g]]
    assert retrieval_metrics(*shuffled) == pytest.approx(retrieval_metrics(*data.arguments), abs=1e-12)


@pytest.mark.parametrize(("per_class", "noise"), [(6, 2.0), (6, 1e6), (40, 2.0)])
def test_agrees_with_pytorch_metric_learning(per_class: int, noise: float):
    generator = torch.Generator().manual_seed(per_class)
    labels = torch.arange(1200)[torch.randperm(1200, generator=generator)] // per_class
    x = torch.randn(1200, 32, generator=generator)[labels] + noise * torch.randn(1200, 32, generator=generator)
    x = torch.nn.functional.normalize(x, dim=1)
    theirs = {"R@1": "precision_at_1", "mAP": "mean_average_precision", "mAP@R": "mean_average_precision_at_r"}
    calculator = AccuracyCalculator(include=tuple(theirs.values()), k=None, knn_func=CustomKNN(LpDistance()))
    for given_to_both in ((x, labels), (x[:300], labels[:300], x[300:], labels[300:])):
        found, expected = retrieval_metrics(*given_to_both), calculator.get_accuracy(*given_to_both)
        for ours, name in theirs.items():
            assert found[ours] == pytest.approx(expected[name], abs=1e-6), ours


def test_a_collapsed_embedding_scores_nothing_even_with_sorted_labels():
    found = retrieval_metrics(np.ones((100, 8)), np.arange(100) // 5)
    assert found["R@1"] == 0
    assert found["mAP"] < 0.05


def test_perfect_embeddings_score_one():
    labels = np.arange(60) % 10
    found = retrieval_metrics(np.eye(10)[labels], labels, ks=(1, 5))
    assert [found[name] for name in ("R@1", "R@5", "mAP", "mAP@R")] == [1, 1, 1, 1]


def test_queries_without_a_positive_are_counted_and_never_nan():
    x = np.random.default_rng(0).standard_normal((6, 3))
    some = retrieval_metrics(x, [0, 0, 0, 1, 2, 3])
    assert (some["queries"], some["excluded"]) == (3, 3)
    none = retrieval_metrics(x, [0, 0, 0, 1, 1, 1], x + 1, [5, 5, 6, 7, 8, 9])
    assert (none["queries"], none["excluded"], none["R@1"], none["mAP"]) == (0, 6, 0, 0)
    assert recall_at_1(x, range(6)) == 0
    assert retrieval_metrics(x[:1], [0])["excluded"] == 1
