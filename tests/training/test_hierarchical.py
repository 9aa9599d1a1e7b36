"""Hierarchical sampling: two super-labels a batch, every sample of an epoch in its place or counted."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.errors import UserError
from benchmark.seeds import numpy_generator
from benchmark.training.sampling import arrange, hierarchical


def arranged(labels, supers, batch_size=16, per_class=2, seed=0):
    return arrange(labels, supers, batch_size, per_class, numpy_generator("test", seed))


def groups(sizes: list[int], supers: int) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return labels, labels % supers


def test_each_half_is_of_one_super_label_and_the_halves_differ():
    labels, supers = groups([6] * 60, 5)
    for batch in arranged(labels, supers):
        first, second = set(supers[batch[:8]]), set(supers[batch[8:]])
        assert len(first) == len(second) == 1
        assert first != second


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=20, max_size=60),
    st.integers(1, 5),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 99),
)
def test_nothing_is_lost_beyond_what_cannot_fill_a_half_batch(sizes, number, per_class, seed):
    labels, supers = groups(sizes, number)
    places = {s: sum(-(-n // per_class) for c, n in enumerate(sizes) if c % number == s) for s in range(number)}
    if not any(count >= 8 // per_class for count in places.values()):
        return
    batches = arranged(labels, supers, 16, per_class, seed)
    in_groups = [group for batch in batches for group in batch.reshape(-1, per_class)]
    for s in range(number):  # fewer groups of a super-label are left than would fill another half-batch
        used = {tuple(sorted(group)) for group in in_groups if supers[group[0]] == s}
        assert len(used) > places[s] - 8 // per_class


def test_each_group_is_of_one_class_and_a_class_is_filled_up_from_itself():
    labels, supers = groups([5, 3, 1, 7] * 15, 3)
    for group in arranged(labels, supers, 24, 4).reshape(-1, 4):
        assert len(set(labels[group])) == 1
        size = int((labels == labels[group[0]]).sum())
        assert len(set(group)) == min(4, size)  # repeats only where the class is smaller than a group


def test_a_super_label_that_outweighs_all_others_is_used_up_too():
    labels, supers = groups([8] * 40, 1)
    supers = (labels >= 36).astype(np.int64)  # 36 classes against 4
    batches = arranged(labels, supers)
    assert (supers[batches[:, 0]] == supers[batches[:, 8]]).any()  # both halves from it
    assert len(np.unique(batches)) == len(labels)


def test_the_same_seed_gives_the_same_batches_and_epochs_differ():
    labels, supers = groups([6] * 40, 4)
    one, again, other = (
        np.stack(list(islice(hierarchical(labels, supers, 16, 2, numpy_generator(s)), 40))) for s in (1, 1, 2)
    )
    assert (one == again).all()
    assert (one != other).any()
    per_epoch = len(arranged(labels, supers))
    assert (one[:5] != one[per_epoch : per_epoch + 5]).any()


@pytest.mark.parametrize(("batch_size", "per_class"), [(10, 4), (15, 1), (12, 4)])
def test_a_batch_whose_halves_cannot_hold_whole_classes_says_so(batch_size, per_class):
    labels, supers = groups([8] * 20, 2)
    with pytest.raises(UserError, match=f"must be a multiple of {2 * per_class}"):
        arranged(labels, supers, batch_size, per_class)


def test_too_few_samples_for_any_half_batch_says_so():
    labels, supers = groups([2] * 4, 4)
    with pytest.raises(UserError, match="no super-label fills half of batch_size = 64"):
        arranged(labels, supers, 64, 2)
