"""Contextual re-ranking is that of the equations, over the whole test set or one query against a gallery."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval_oracles import cosines, reranked
from small_sets import KINDS, SmallSet, small_sets

from benchmark.errors import UserError
from benchmark.evaluation import neighbours, retrieval_metrics

KS = (1, 3)
TOLD_APART = tuple(kind for kind in KINDS if kind != "tight")  # β scales scores, and with them what is a tie


@settings(max_examples=250, deadline=None)
@given(small_sets(kinds=TOLD_APART), st.integers(1, 30), st.sampled_from([0.0, 0.1, 0.5, 0.9]))
def test_reranking_equals_the_equations(data: SmallSet, k: int, beta: float):
    found = retrieval_metrics(*data.arguments, ks=KS, rerank=(k,), beta=beta)
    expected, queries = reranked(*data.arguments, KS, k, beta)
    assert {name: found[f"rerank{k}/{name}"] for name in expected} == pytest.approx(expected, abs=1e-10)
    assert found[f"rerank{k}/queries"] == queries


@settings(max_examples=60, deadline=None)
@given(small_sets(), st.integers(2, 12))
def test_several_k_in_one_pass_are_those_of_one_each(data: SmallSet, k: int):
    together = retrieval_metrics(*data.arguments, rerank=(k, 1, 2 * k))
    for each in (k, 1, 2 * k):
        assert retrieval_metrics(*data.arguments, rerank=(each,)).items() <= together.items()


@pytest.mark.parametrize("options", [{"rerank": (5,), "beta": 0.0}, {"rerank": (1,)}])
def test_without_weight_or_neighbours_the_ranking_stays(options: dict):
    x, y = np.random.default_rng(0).standard_normal((60, 4)), np.arange(60) % 7
    for given_to_both in ((x, y), (x[:20], y[:20], x[20:], y[20:])):
        found = retrieval_metrics(*given_to_both, **options)
        for name, value in retrieval_metrics(*given_to_both).items():
            assert found[f"rerank{options['rerank'][0]}/{name}"] == pytest.approx(value, abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(small_sets(), st.integers(1, 12))
def test_neighbour_lists_hold_all_that_are_as_near_as_the_last(data: SmallSet, k: int):
    s = cosines(data.query, data.query if data.gallery is None else data.gallery)
    if data.gallery is None:
        np.fill_diagonal(s, -np.inf)
    lists = neighbours(data.query, data.gallery, k=k)
    for i, row in enumerate(s):
        last = np.sort(row)[::-1][min(k, len(row)) - 1]
        expected = {j for j in range(len(row)) if row[j] >= last - 1e-12 and row[j] > -np.inf}
        assert set(lists.index[i][lists.cosine[i] > -np.inf].tolist()) == expected


def test_a_weight_outside_0_to_1_is_refused():
    with pytest.raises(UserError, match="beta = 2"):
        retrieval_metrics(np.eye(3), [0, 0, 1], rerank=(2,), beta=2)
