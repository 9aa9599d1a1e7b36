"""Small sets of embeddings with everything that real ones have: ties, duplicates, singletons, collapse, zero rows."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

KINDS = ("whole", "float32", "float64", "duplicates", "half", "collapsed", "zeros", "tight")


@dataclass(frozen=True)
class SmallSet:
    query: np.ndarray
    query_labels: np.ndarray
    gallery: np.ndarray | None
    gallery_labels: np.ndarray | None

    @property
    def arguments(self) -> tuple:
        return self.query, self.query_labels, self.gallery, self.gallery_labels


def embeddings(kind: str, n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    normal = generator.standard_normal((n, d))
    if kind == "whole":  # few directions, so that similarities tie without being equal vectors
        return generator.integers(-2, 3, (n, d)).astype(np.float32)
    if kind == "duplicates":
        return generator.standard_normal((3, d)).astype(np.float32)[generator.integers(0, 3, n)]
    if kind == "collapsed":  # one direction, at any length
        return np.outer(generator.uniform(0.5, 2, n), np.arange(1, d + 1))
    if kind == "zeros":
        return normal * (generator.random((n, 1)) < 0.5)
    if kind == "tight":  # distances near what float32 can tell apart
        return (1 + 1e-4 * normal).astype(np.float32)
    return normal.astype({"float32": np.float32, "float64": np.float64, "half": np.float16}[kind])


@st.composite
def small_sets(draw, separate: bool | None = None, kinds: tuple[str, ...] = KINDS) -> SmallSet:
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind, d, classes = draw(st.sampled_from(kinds)), draw(st.integers(1, 6)), draw(st.integers(1, 8))
    n, m = draw(st.integers(1, 24)), draw(st.integers(1, 24))
    x = embeddings(kind, n + m, d, generator)  # both sets at once: duplicates across them
    y = generator.integers(-classes, classes, n + m)
    if draw(st.booleans()) if separate is None else separate:
        return SmallSet(x[:n], y[:n], x[n:], y[n:])
    return SmallSet(x[:n], y[:n], None, None)
