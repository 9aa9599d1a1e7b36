"""Each statistic keeps its promise: nominal coverage, false claims, power and bias, by simulation."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from benchmark.seeds import numpy_generator
from plots import stats
from plots.tables.protocol_gap import compared

RUNS = 2000  # a nominal 95 % then lies within ±1.5 points of itself in all but 2 of 1000 simulations
FEWER = 300  # of what takes longer: within ±4 points


def share(events) -> float:
    return float(np.mean(list(events)))


def covers(interval, value) -> bool:
    return interval.low <= value <= interval.high


@pytest.mark.parametrize("n", [2, 5, 10])
def test_the_interval_in_a_cell_covers_the_true_mean_as_often_as_it_says(n):
    x = numpy_generator("interval", n).normal(3.0, 2.0, (RUNS, n))
    assert share(covers(stats.t_interval(row), 3.0) for row in x) == pytest.approx(0.95, abs=0.015)


def test_one_seed_has_no_interval_and_no_seed_no_mean():
    assert np.isnan(stats.t_interval([0.5]).half)
    assert stats.t_interval([0.5, np.nan]).n == 1
    assert np.isnan(stats.t_interval([]).mean)


def seeds_by_methods(generator, runs, n, methods, shift=0.0):
    """Scores of equal methods that share the luck of each seed; the first is better by `shift` deviations."""
    noise = generator.normal(size=(runs, n, methods)) + 3 * generator.normal(size=(runs, n, 1))
    noise[:, :, 0] += shift
    names = [f"m{i}" for i in range(methods)]
    return [pd.DataFrame(x, columns=names) for x in noise]


@pytest.mark.parametrize(("methods", "n", "deviations"), [(6, 5, "equal"), (6, 3, "unequal"), (38, 5, "equal")])
def test_the_true_best_is_rarely_called_separable_from_the_best(methods, n, deviations):
    """All means are equal: the hardest case, in which each is a true best; one of them is looked at."""
    generator = numpy_generator("equal", methods, n, deviations)
    noise = generator.normal(size=(RUNS // 2, n, methods)) + 3 * generator.normal(size=(RUNS // 2, n, 1))
    noise *= 1 if deviations == "equal" else np.geomspace(1, 20, methods)
    false = share(stats.separable(pd.DataFrame(scores))["separable"].iloc[0] for scores in noise)
    assert false <= 0.05 + 0.02


def test_one_method_far_below_37_others_is_told_apart_with_five_seeds():
    """The table of all methods has many rows and few seeds; `untrained` must not pass for the best there."""
    tables = seeds_by_methods(numpy_generator("far below"), FEWER, 5, 38, shift=-10.0)
    told = [stats.separable(table)["separable"] for table in tables]
    assert share(one["m0"] for one in told) > 0.99
    assert share(one.drop("m0").mean() for one in told) < 0.05


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 9))
def test_who_is_told_apart_depends_on_neither_order_nor_the_luck_of_seeds_and_survives_without_the_worst(
    seed, n, methods
):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, methods)) + np.linspace(0, 8, methods)
    scores = pd.DataFrame(x, columns=[f"m{i}" for i in range(methods)])
    told = stats.separable(scores)
    shuffled = scores.iloc[:, generator.permutation(methods)].iloc[generator.permutation(n)]
    luck = scores + generator.normal(size=(n, 1)) * 10
    for other in (shuffled, luck):
        again = stats.separable(other).loc[told.index]
        assert np.allclose(again["p"], told["p"])
        assert (again["separable"] == told["separable"]).all()
    worst = scores.mean().idxmin()
    fewer = stats.separable(scores.drop(columns=worst))["separable"]
    assert fewer[told["separable"].drop(worst)].all()
    assert not told.loc[scores.mean().idxmax(), "separable"]


def test_separable_is_what_the_paired_tests_say_one_by_one():
    scores = seeds_by_methods(numpy_generator("literal"), 1, 5, 7, shift=2.0)[0]
    scores.iloc[0, 1] = scores.iloc[3:, 2] = np.nan  # runs that failed
    for name, p in stats.separable(scores)["p"].items():
        tests = [stats.paired(scores[other], scores[name]) for other in scores if other != name]
        above = [one.p / 2 if one.mean > 0 else 1 - one.p / 2 for one in tests]
        assert p == pytest.approx(min(1.0, 6 * min(above)))


def test_too_few_shared_seeds_tell_nothing_apart_and_three_equal_differences_do():
    base = pd.Series([60.0, 70.0, 65.0])
    constant = pd.DataFrame({"a": base + 5, "b": base, "equal": base + 5})
    assert list(stats.separable(constant)["separable"]) == [False, True, False]
    assert not stats.separable(constant[:2])["separable"].any()  # two seeds that agree are a coincidence
    apart = pd.DataFrame({"a": [90.0, 90.1, 90.0, np.nan, np.nan], "b": [np.nan, np.nan, 1.0, 1.1, 1.0]})
    assert not stats.separable(apart)["separable"].any()  # one shared seed
    assert not stats.separable(constant[["b"]])["separable"].any()  # nobody to be compared with


def test_pairing_by_seed_finds_a_difference_that_the_luck_of_seeds_hides():
    tables = seeds_by_methods(numpy_generator("shifted"), 200, 10, 4, shift=3.0)
    assert share(stats.separable(table)["separable"].sum() == 3 for table in tables) > 0.9


def test_methods_are_compared_on_the_seeds_that_both_have():
    scores = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan], "b": [0.0, 1.1, 1.9, 50.0]})
    told = stats.separable(scores)
    assert told.loc["a", "n"] == 3
    assert told.loc["a", "difference"] == pytest.approx(-1.0)  # to b, which has the best mean by its fourth seed
    assert (told.loc["b", "separable"], told.loc["a", "separable"]) == (True, False)


def test_two_seeds_that_agree_by_rounding_separate_nothing():
    same = pd.Series([0.50, 0.60])
    assert stats.paired(same + 0.01, same).p == 1.0
    assert stats.paired(same, same).p == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_lies_between_the_raw_p_and_bonferroni_and_keeps_the_order(p):
    adjusted = stats.holm(p)
    assert np.all(adjusted >= np.array(p) - 1e-12)
    assert np.all(adjusted <= np.minimum(np.array(p) * len(p), 1) + 1e-12)
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= -1e-12)


@pytest.mark.parametrize(("effect", "n"), [(0.0, 3), (0.8, 5), (2.0, 5)])
def test_the_probability_of_improvement_covers_the_truth(effect, n):
    x = numpy_generator("improvement", effect, n).normal(effect, 1.0, (FEWER, n))
    truth = norm.cdf(effect)
    found = [stats.probability_of_improvement(pd.Series(row), pd.Series(np.zeros(n))) for row in x]
    assert share(p.low <= truth <= p.high for p in found) == pytest.approx(0.95, abs=0.04)


def test_a_method_that_always_wins_by_far_improves_for_sure_and_one_seed_says_nothing():
    far = pd.Series([100.0, 101.0, 99.0, 100.5])
    assert stats.probability_of_improvement(far, far * 0).low > 0.99
    alone = stats.probability_of_improvement(far[:1], far[:1] * 0)
    assert (alone.low, alone.high) == (0.0, 1.0)


@pytest.mark.parametrize("effect", [0.6, 1.2])
def test_the_seeds_to_add_give_the_power_that_was_asked_for(effect):
    n = 100  # large enough that the correction for few seeds is nil
    seen = pd.Series(np.r_[np.full(n // 2, -1.0), np.full(n // 2, 1.0)])
    seen = seen / seen.std() + effect
    generator = numpy_generator("power", effect)
    needed = next(k for k in itertools.count(3) if stats.power_of_t(effect, k) >= 0.8)
    assert stats.more_seeds(seen, seen * 0) == max(0, needed - n)
    hits = share(
        stats.separable(pd.DataFrame({"a": generator.normal(effect, 1, needed), "b": 0.0})).loc["b", "separable"]
        for _ in range(600)
    )
    assert hits == pytest.approx(0.8, abs=0.05)


def test_the_seeds_to_add_tell_a_method_apart_among_many():
    """Planned against the best alone; that the others may tell it apart, too, only helps."""
    methods, effect = 20, 1.5 / np.sqrt(2)
    alpha = stats.ALPHA / (methods - 1)
    needed = next(k for k in itertools.count(3) if stats.power_of_t(effect, k, alpha) >= 0.8)
    noise = numpy_generator("power of many").normal(size=(FEWER, needed, methods)) + np.r_[-1.5, np.zeros(methods - 1)]
    assert share(stats.separable(pd.DataFrame(x))["separable"].iloc[0] for x in noise) >= 0.8


def test_the_more_alike_two_methods_are_the_more_seeds_are_asked_for():
    base = pd.Series([0.0, 1.0, -1.0, 0.5, -0.5])
    asked = [stats.more_seeds(base + shift, base * 0) for shift in (3.0, 1.0, 0.5, 0.2)]
    assert asked == sorted(asked)
    assert stats.more_seeds(base + 1e-6, base * 0) is None
    assert stats.more_seeds(base[:2] + 1, base[:2] * 0) is None
    assert stats.more_seeds(base - 3.0, base * 0) is None  # no seeds would show it above


def test_the_gap_between_protocols_covers_the_truth_and_says_when_the_ranking_changes():
    generator = numpy_generator("gap")
    hits = []
    for _ in range(FEWER):
        luck = generator.normal(size=(5, 1)) * 3
        test = pd.DataFrame(luck + generator.normal(size=(5, 2)) + [10.5, 20.5], columns=["a", "b"])
        validation = pd.DataFrame(luck + generator.normal(size=(5, 2)) + [10.0, 20.0], columns=["a", "b"])
        gap = compared(test, validation)
        hits.append(abs(gap.loc["a", "difference"] - 0.5) <= gap.loc["a", "half"])
        assert not gap["changed"].any()
    assert share(hits) == pytest.approx(0.95, abs=0.04)
    swapped = compared(test, validation.rename(columns={"a": "b", "b": "a"}))
    assert swapped["changed"].all()


def test_a_robustness_slope_covers_the_truth_and_its_difference_is_paired_by_seed():
    generator = numpy_generator("slope")
    levels = np.array([0.0, 0.05, 0.1, 0.2])
    hits, differences = [], []
    for _ in range(FEWER):
        luck = generator.normal(size=(5, 1)) * 5
        a = pd.DataFrame(80 + luck - 20 * levels + generator.normal(size=(5, 4)), columns=levels)
        b = pd.DataFrame(80 + luck - 30 * levels + generator.normal(size=(5, 4)), columns=levels)
        hits.append(covers(stats.t_interval(stats.slopes(a, per=0.1)), -2.0))
        gap = stats.paired(stats.slopes(a, per=0.1), stats.slopes(b, per=0.1))
        differences.append(abs(gap.mean - 1.0) <= gap.half)
    assert share(hits) == pytest.approx(0.95, abs=0.04)
    assert share(differences) == pytest.approx(0.95, abs=0.04)


def test_a_seed_without_every_level_does_not_bend_a_slope():
    scores = pd.DataFrame({0.0: [1.0, 1.0], 0.1: [0.9, np.nan], 0.2: [0.8, 0.0]})
    assert list(stats.slopes(scores)) == pytest.approx([-1.0])
    assert stats.slopes(scores[[0.0]]).empty


def judged(truth, deviation, n, runs, spread=True, name="verdict"):
    """The words on simulated seeds: ours with this true difference to the paper's, both with this deviation."""
    generator = numpy_generator(name, truth, deviation, n, runs, spread)
    words = []
    for _ in range(RUNS):
        ours = stats.t_interval(80 + truth + deviation * generator.normal(size=n))
        theirs = 80 + deviation * generator.normal(size=runs)
        known = float(theirs.std(ddof=1)) if spread and runs > 1 else None
        words.append(stats.judge(ours, stats.Published(float(theirs.mean()), known, runs)).word)
    return {word: words.count(word) / RUNS for word in ("reproduced", "above", "below", "undecided")}


@pytest.mark.parametrize(
    ("n", "runs", "spread"), [(3, 3, True), (5, 3, True), (10, 3, True), (5, 6, False), (5, 1, False)]
)
def test_equal_numbers_are_called_different_in_at_most_one_case_of_twenty(n, runs, spread):
    for deviation in (0.2, 1.0, 3.0):
        told = judged(0.0, deviation, n, runs, spread)
        assert told["above"] + told["below"] <= 0.05 + 0.015


def test_few_noisy_seeds_reproduce_nothing():
    told = judged(0.0, 2.0, 3, 3)
    assert told["reproduced"] < 0.01
    assert told["undecided"] > 0.9
    assert stats.judge(stats.t_interval([80.0]), stats.Published(80.0, 0.3, 3)).word == "undecided"


def test_many_seeds_reproduce_what_is_equal_and_tell_what_is_not():
    assert judged(0.0, 0.5, 20, 20)["reproduced"] > 0.95
    assert judged(2.0, 0.5, 10, 6)["above"] > 0.95
    assert judged(-2.0, 0.5, 10, 6)["below"] > 0.95


def test_the_seeds_that_would_decide_do_decide_if_the_difference_stays():
    values = np.array([-1.0, 1.0] * 4)
    told = stats.judge(stats.t_interval(80.7 + values), stats.Published(80.0, 0.1, 10))
    assert told.word == "undecided"
    more = np.resize(values, told.seeds) * np.std(values, ddof=1)
    more = (more - more.mean()) / more.std(ddof=1) * np.std(values, ddof=1)
    assert stats.judge(stats.t_interval(80.7 + more), stats.Published(80.0, 0.1, 10)).word == "above"
    hopeless = stats.judge(stats.t_interval(80.7 + values), stats.Published(80.0, 9.0, 3))
    assert hopeless.seeds is None  # the paper's own spread is too large
