"""What cannot be judged is refused with a sentence that says why, not with NaN or a traceback from deep inside."""

import numpy as np
import pytest
import torch

from benchmark.errors import UserError
from benchmark.evaluation import distance_histograms, health, recall_at_1, retrieval_metrics

X = np.random.default_rng(0).standard_normal((6, 3))
Y = [0, 0, 1, 1, 2, 2]


def _with(value: float) -> np.ndarray:
    x = X.copy()
    x[4, 1] = value
    return x


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((_with(np.nan), Y), "NaN or infinity in 1 of 6 rows .first: row 4"),
        ((_with(np.inf), Y), "NaN or infinity"),
        ((X, Y, _with(-np.inf), Y), "gallery embeddings hold NaN"),
        ((X[:0], []), "empty"),
        ((X[:, :0], Y), "empty"),
        ((X, Y, X[:0], []), "gallery embeddings are empty"),
        ((X[0], Y), "expected .n, d."),
        ((X, Y[:4]), "6 query embeddings but 4 query labels"),
        ((X, Y, X, Y[:2]), "6 gallery embeddings but 2 gallery labels"),
        ((X, Y, X[:, :2], Y), "query embeddings have 3 dimensions, gallery embeddings 2"),
        ((X, Y, X), "both gallery and gallery_labels"),
        ((X, Y, None, Y), "both gallery and gallery_labels"),
        ((X, np.array(Y) + 0.5), "expected integers"),
        ((X, torch.tensor(Y).float()), "expected integers"),
        ((X, list("aabbcc")), "not integers"),
        ((X, [True, True, False, False, True, False]), "expected integers"),
        ((X, [[0], [0, 1], [1], [1], [2], [2]]), "not integers"),
        ((X, np.zeros((6, 2, 2), dtype=int)), "expected .n,. or .n, levels."),
        ((X, np.stack([Y, Y], 1), X, Y), "query labels have 2 levels, gallery labels 1"),
        ((["a", "b"], [0, 1]), "array of numbers"),
        ((X + 1j, Y), "real numbers"),
    ],
)
def test_bad_input_is_named(arguments: tuple, message: str):
    for function in (retrieval_metrics, recall_at_1):
        with pytest.raises(UserError, match=message):
            function(*arguments)
    if len(arguments) == 2:
        for function in (health, distance_histograms):
            with pytest.raises(UserError, match=message):
                function(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ks": (0,)}, "ks = .0,."),
        ({"ks": (1.5,)}, "expected integers from 1 on"),
        ({"rerank": (-1,)}, "rerank = "),
        ({"levels": ("a",)}, "expected 2 different names"),
        ({"levels": ("a", "a")}, "expected 2 different names"),
    ],
)
def test_bad_options_are_named(options: dict, message: str):
    with pytest.raises(UserError, match=message):
        retrieval_metrics(X, np.stack([Y, Y], axis=1), **options)
