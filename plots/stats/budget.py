"""What tuning buys: the expected best score after so many trials, from one finished random search."""

from collections.abc import Iterable

import numpy as np
from scipy.special import gammaln

# Holds for random search only: grid points and TPE trials are not exchangeable, so "the best of 3 of them"
# means nothing.


def expected_best(scores: Iterable[float]) -> np.ndarray:
    """E[best of k trials] for k = 1 … N, unbiased: the mean over all k-subsets, without enumerating them.

    The i-th smallest of N is the best of a k-subset in C(i−1, k−1) of C(N, k) cases. A failed trial is −inf
    or NaN and counts as a trial that scores the worst seen.
    """
    x = np.asarray(list(scores), dtype=float)
    if len(x) == 0 or not np.isfinite(x).any():
        return np.full(len(x), np.nan)
    x = np.sort(np.where(np.isfinite(x), x, x[np.isfinite(x)].min()))
    n = len(x)
    i, k = np.arange(1, n + 1)[None, :], np.arange(1, n + 1)[:, None]  # (1, n), (n, 1)

    def log_choose(top: np.ndarray | int, bottom: np.ndarray) -> np.ndarray:
        return gammaln(np.add(top, 1)) - gammaln(bottom + 1) - gammaln(np.subtract(top, bottom) + 1)

    possible = i >= k
    weights = np.exp(log_choose(np.where(possible, i - 1, k - 1), k - 1) - log_choose(n, k))
    return np.where(possible, weights, 0.0) @ x
