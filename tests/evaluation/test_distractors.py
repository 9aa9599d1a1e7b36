"""R@1 among distractors is R@1 on the larger gallery, whatever the embeddings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval_oracles import cosines
from small_sets import SmallSet, small_sets

from benchmark.errors import UserError
from benchmark.evaluation import recall_among_distractors, recall_at_1


@settings(max_examples=150, deadline=None)
@given(small_sets(separate=True), st.booleans())
def test_it_is_the_recall_on_the_larger_gallery(data: SmallSet, alone: bool):
    """The gallery of a small set serves as distractors of its queries, and its labels as those of no query."""
    query, labels, others = data.query, data.query_labels, data.gallery
    half = len(query) if alone else len(query) // 2
    gallery, of_gallery = (None, None) if alone else (query[half:], labels[half:])
    query, of_query = query[:half], labels[:half]
    if not len(query) or (gallery is not None and not len(gallery)):
        return
    counts = [0, len(others) // 2, len(others)]
    found = recall_among_distractors(query, of_query, others, counts, gallery, of_gallery)
    for count, value in zip(counts, found, strict=True):
        scores = cosines(query, np.concatenate([query if alone else gallery, others[:count]]))
        assert value == pytest.approx(_literal(scores, of_query, of_query if alone else of_gallery, alone))
    assert found[0] == recall_at_1(query, of_query, gallery, of_gallery)


def _literal(scores: np.ndarray, labels: np.ndarray, of_gallery: np.ndarray, alone: bool) -> float:
    hits = []
    for i, row in enumerate(scores):
        positive = np.zeros(len(row), dtype=bool)
        positive[: len(of_gallery)] = of_gallery == labels[i]
        there = np.arange(len(row)) != i if alone else np.ones(len(row), dtype=bool)
        if (positive & there).any():
            rivals = row[there & ~positive]
            hits.append(row[there & positive].max() > max(rivals, default=-2) + 1e-12)
    return float(np.mean(hits)) if hits else 0.0


def test_more_distractors_never_help_and_a_copy_of_a_query_takes_its_place():
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((300, 16)), np.arange(300) // 6
    found = recall_among_distractors(x, y, generator.standard_normal((3000, 16)), range(0, 3001, 500))
    assert found == sorted(found, reverse=True)
    assert recall_among_distractors(x, y, x, [0, 300])[1] == 0


def test_too_few_distractors_are_refused():
    with pytest.raises(UserError, match="from 0 to 2"):
        recall_among_distractors(np.eye(3), [0, 0, 1], np.eye(3)[:2], [5])
