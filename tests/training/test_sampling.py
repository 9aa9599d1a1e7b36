"""What a user would lose: classes or images that are never seen, or batches that a loss cannot use."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.errors import UserError
from benchmark.seeds import numpy_generator
from benchmark.training.sampling import balanced, batches, shuffled

class_sizes = st.lists(st.integers(1, 9), min_size=1, max_size=14)


def take(stream, n):
    return list(itertools.islice(stream, n))


@settings(max_examples=200, deadline=None)
@given(class_sizes, st.integers(1, 5), st.integers(1, 6))
def test_every_batch_holds_k_of_each_of_its_classes(sizes, per_class, room):
    labels = np.repeat(np.arange(len(sizes)) * 3 + 1, sizes)  # ids with gaps
    stream = balanced(labels, per_class * room, per_class, numpy_generator("test"))
    for batch in take(stream, 5):
        found, counts = np.unique(labels[batch], return_counts=True)
        assert len(found) == min(room, len(sizes))
        assert (counts == per_class).all()


@settings(max_examples=100, deadline=None)
@given(class_sizes, st.integers(1, 4), st.integers(1, 5))
def test_no_class_comes_again_before_all_others_have_come(sizes, per_class, room):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    room = min(room, len(sizes))
    stream = balanced(labels, per_class * room, per_class, numpy_generator("test"))
    seen = np.zeros(len(sizes), dtype=int)
    for batch in take(stream, 3 * len(sizes)):
        seen[np.unique(labels[batch])] += 1
        assert seen.max() - seen.min() <= 2  # a batch that spans two rounds may be one ahead in the next


@settings(max_examples=100, deadline=None)
@given(class_sizes, st.integers(1, 4))
def test_no_image_comes_again_before_its_class_is_used_up(sizes, per_class):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    stream = balanced(labels, per_class * len(sizes), per_class, numpy_generator("test"))
    times = np.zeros(len(labels), dtype=int)
    for batch in take(stream, 12):
        np.add.at(times, batch, 1)
        for c in range(len(sizes)):
            assert times[labels == c].max() - times[labels == c].min() <= 1


@given(st.integers(1, 40), st.integers(1, 17))
def test_shuffling_shows_every_image_equally_often_and_drops_none(n, batch_size):
    everything = np.concatenate(take(shuffled(n, batch_size, numpy_generator("test")), 3 * n))
    times = np.bincount(everything[: len(everything) // n * n], minlength=n)
    assert (times == times[0]).all()


def test_the_same_generator_gives_the_same_batches():
    labels = np.repeat(np.arange(20), 6)
    streams = [batches("balanced", labels, None, 16, 4, numpy_generator("seed", 3)) for _ in range(2)]
    for a, b in zip(take(streams[0], 30), take(streams[1], 30), strict=True):
        assert (a == b).all()


def test_what_cannot_be_sampled_is_refused_with_a_reason():
    labels = np.repeat(np.arange(4), 3)
    with pytest.raises(UserError, match="holds no class"):
        next(balanced(labels, 3, 4, numpy_generator("test")))
    with pytest.raises(UserError, match="empty"):
        batches("shuffle", labels[:0], None, 4, 2, numpy_generator("test"))
    with pytest.raises(UserError, match="super-labels"):
        batches("hierarchical", labels, None, 8, 2, numpy_generator("test"))
