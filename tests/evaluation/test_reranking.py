"""Contextual re-ranking is that of the equations, over the whole test set or one query against a gallery."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval_oracles import cosines, reranked
from small_sets import SmallSet, small_sets

from benchmark.errors import UserError
from benchmark.evaluation import neighbours, retrieval_metrics

KS = (1, 3)


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
