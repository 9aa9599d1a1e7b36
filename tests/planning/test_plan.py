"""What a reader would lose if tuning were not fair: the comparison. Laws of planning, on generated studies."""

import dataclasses
import math
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.errors import UserError
from benchmark.planning import plan as planner
from benchmark.planning import study
from benchmark.planning.plan import Family, Known
from benchmark.planning.study import Study, Tuning
from benchmark.planning.tuning import FEWEST_RATES, Search, Trial, best, rates
from benchmark.results.store import Outcome
from benchmark.spec import RunSpec

METHODS = ("contrastive", "triplet", "contextual", "proxy_anchor")


def made(tuning: Tuning | None, **changes) -> Study:
    told = {"seeds": 2, "datasets": ("glyphs",), "methods": METHODS, "setting": "glyphs"} | changes
    return Study("made", "made.toml", "quick", "Made", tuning=tuning, **told)


def outcome(score: float | None, status: str = "ok") -> Outcome:
    return Outcome(status, score, 1.0, (), 1)


def finish(family: Family, judge, outcomes: dict | None = None) -> tuple[Known, dict[str, Outcome]]:
    """Runs a family to its end with made-up scores."""
    outcomes = dict(outcomes or {})
    while True:
        known = family.known(outcomes)
        missing = [task.spec for task in known.tasks if task.spec.run_id not in outcomes]
        if not missing:
            assert not known.waiting
            return known, outcomes
        outcomes |= {spec.run_id: judge(spec) for spec in missing}


def peak(at: dict[str, float]):
    return lambda spec: outcome(0.9 - 0.1 * abs(math.log10(spec.lr / at[spec.method])))


tunings = st.builds(
    Tuning,
    lr=st.sampled_from([(1e-4, 1e-2), (1e-5, 3.2e-4)]),
    trials=st.integers(1, 19),
    seeds=st.integers(1, 2),
    sampler=st.sampled_from(["tpe", "grid", "random"]),
    batch=st.integers(1, 5),
    extra=st.booleans(),
    extend=st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(tuning=tunings, bests=st.lists(st.floats(-6, 0), min_size=4, max_size=4))
def test_every_method_has_the_same_budget_and_range(tuning: Tuning, bests: list[float]):
    at = {method: 10.0**exponent for method, exponent in zip(METHODS, bests, strict=True)}
    (family,) = planner.families(made(tuning))
    known, _ = finish(family, peak(at))
    rows = [task.ledger_row() for task in known.tasks]
    assert len({(row["lr_low"], row["lr_high"], row["extended"]) for row in rows}) == 1
    extensions = set()
    for method in METHODS:
        trials = {row["trial"]: row for row in rows if row["method"] == method and row["phase"] == "tune"}
        group = next(group for group in family.groups if group.method == method)
        assert group.search is not None
        assert group.search.budget <= tuning.trials
        extensions.add(len(trials) - group.search.budget)
        assert all(row["lr_low"] <= row["lr"] <= row["lr_high"] for row in trials.values())
        assert sum(row["chosen"] for row in trials.values()) == 1
        finals = [row for row in rows if row["method"] == method and row["phase"] == "final"]
        assert sorted(row["seed"] for row in finals) == [0, 1]
        chosen = next(row for row in trials.values() if row["chosen"])
        assert {(row["lr"], row["params"]) for row in finals} == {(chosen["lr"], chosen["params"])}
    assert len(extensions) == 1, "a range is extended for all methods or for none"
    assert max(extensions) <= 2
    assert tuning.extend or extensions == {0}


@settings(max_examples=20, deadline=None)
@given(
    sampler=st.sampled_from(["tpe", "random", "grid"]), order=st.randoms(use_true_random=False), width=st.integers(1, 7)
)
def test_trials_do_not_depend_on_workers_or_on_who_finishes_first(sampler: str, order: random.Random, width: int):
    tuning = Tuning(lr=(1e-4, 1e-2), trials=9, sampler=sampler, batch=3)
    study = made(tuning, methods=("contrastive", "contextual"))
    score = peak({"contrastive": 2e-3, "contextual": 4e-4})
    straight, _ = finish(planner.families(study)[0], score)
    family, outcomes = planner.families(study)[0], {}
    while missing := [t.spec for t in family.known(outcomes).tasks if t.spec.run_id not in outcomes]:
        order.shuffle(missing)
        outcomes |= {spec.run_id: score(spec) for spec in missing[:width]}
    assert [t.ledger_row() for t in family.known(outcomes).tasks] == [t.ledger_row() for t in straight.tasks]


def test_tuning_seeds_and_final_seeds_are_disjoint():
    (family,) = planner.families(made(Tuning(lr=(1e-4, 1e-2), trials=3, seeds=2)))
    known, _ = finish(family, peak(dict.fromkeys(METHODS, 1e-3)))
    assert {task.spec.phase for task in known.tasks if task.trial >= 0} == {"tune"}
    assert {task.spec.phase for task in known.tasks if task.trial < 0} == {"final"}


def test_a_best_rate_at_the_edge_extends_the_range_once_and_is_flagged_if_it_still_is():
    tuning = Tuning(lr=(1e-4, 1e-2), trials=3, sampler="grid")
    at = dict.fromkeys(METHODS, 1e-3) | {"triplet": 1e-9}
    known, _ = finish(planner.families(made(tuning))[0], peak(at))
    rows = [task.ledger_row() for task in known.tasks]
    tried = {row["lr"] for row in rows if row["phase"] == "tune"}
    assert tried == {1e-5, 1e-4, 1e-3, 1e-2}, "one grid step lower, once"
    assert {row["edge"] for row in rows if row["method"] == "triplet"} == {"low"}
    assert {row["edge"] for row in rows if row["method"] != "triplet"} == {""}
    assert {row["extended"] for row in rows} == {True}


def rates_of(known: Known, method: str) -> list[float]:
    found = {t.trial: t.spec.lr for t in known.tasks if t.spec.method == method and t.trial >= 0}
    return [found[trial] for trial in sorted(found)]


def test_a_second_parameter_costs_no_rates_and_the_first_half_of_the_rates_is_the_same_for_all():
    tuning = Tuning(lr=(1e-4, 1e-2), trials=12, extend=False)
    (family,) = planner.families(made(tuning))
    known, _ = finish(family, peak(dict.fromkeys(METHODS, 1e-3)))
    found = {method: rates_of(known, method) for method in METHODS}
    assert {len(set(lrs)) for lrs in found.values()} == {12}, "as many rates as trials"
    assert len({tuple(lrs[:6]) for lrs in found.values()}) == 1
    lam = {t.spec.params["lam"] for t in known.tasks if t.spec.method == "contextual"}
    assert len(lam) == 12, "drawn jointly, between the values of any list"
    proxy = {t.spec.proxy_lr for t in known.tasks if t.spec.method == "proxy_anchor" and t.trial >= 0}
    assert len(proxy) == 12, "proxies have a rate of their own"
    assert {t.spec.proxy_lr for t in known.tasks if t.spec.method == "triplet"} == {100.0}


def test_tpe_looks_where_scores_are_high():
    tuning = Tuning(lr=(1e-5, 1e-1), trials=30, extend=False)
    (family,) = planner.families(made(tuning, methods=("triplet",)))
    known, _ = finish(family, peak({"triplet": 1e-3}))
    lrs = rates_of(known, "triplet")
    off = [abs(math.log10(lr / 1e-3)) for lr in lrs]
    assert sum(off[-9:]) / 9 < sum(off[:15]) / 15 / 2


def test_a_grid_spends_its_budget_on_fewer_rates_over_the_same_range():
    tuning = Tuning(lr=(1e-4, 1e-2), trials=9, sampler="grid")
    known = planner.families(made(tuning, methods=("contextual", "triplet")))[0].known({})
    assert len(set(rates_of(known, "triplet"))) == 9
    assert sorted(set(rates_of(known, "contextual"))) == [1e-4, 1e-3, 1e-2]
    assert len({t.point for t in known.tasks if t.spec.method == "contextual"}) >= FEWEST_RATES


def test_a_best_value_at_an_end_of_its_range_is_flagged_whichever_it_is():
    tuning = Tuning(lr=(1e-4, 1e-2), trials=12, extend=False)
    (family,) = planner.families(made(tuning, methods=("contextual", "proxy_anchor")))
    score = lambda spec: outcome(spec.params.get("lam", 0.0) + math.log10(spec.proxy_lr) / 10)  # noqa: E731
    known, _ = finish(family, score)
    ends = {t.spec.method: t.ledger_row()["ends"] for t in known.tasks}
    assert ends == {"contextual": '{"lam":"high"}', "proxy_anchor": '{"proxy_lr":"high"}'}


def test_what_the_study_fixes_or_varies_is_not_tuned():
    tuning = Tuning(lr=(1e-4, 1e-2), trials=9)
    for changes in ({"params": {"contextual": {"lam": 0.5}}}, {"vary": {"contextual.lam": (0.2, 0.7)}}):
        family = planner.families(made(tuning, methods=("contextual",), **changes))[0]
        assert all("lam" not in group.search.extra for group in family.groups if group.search)
    known, _ = finish(family, peak({"contextual": 1e-3}))
    finals = [task for task in known.tasks if task.trial < 0]
    assert {(task.variation, task.spec.params["lam"]) for task in finals} == {
        ('{"contextual.lam":0.2}', 0.2),
        ('{"contextual.lam":0.7}', 0.7),
    }


def test_variations_are_tuned_once_at_their_first_value_or_each():
    vary = {"label_noise": (0.0, 0.1, 0.2)}
    once = Tuning(lr=(1e-4, 1e-2), trials=3)
    each = dataclasses.replace(once, each=("label_noise",))
    (family,) = planner.families(made(once, vary=vary))
    assert {task.spec.label_noise for task in family.known({}).tasks} == {0.0}
    (family,) = planner.families(made(each, vary=vary))
    assert {task.spec.label_noise for task in family.known({}).tasks} == {0.0, 0.1, 0.2}


def test_a_condition_is_run_on_the_data_sets_that_it_names_whatever_their_options():
    vary = {"condition": ({"name": "clean"}, {"name": "fewer", "train_classes": 50, "on": ["cub"]})}
    found = {
        family.groups[0].finals[0][1].dataset: [variation for variation, _ in family.groups[0].finals]
        for family in planner.families(made(None, vary=vary, datasets=("cub?split=class", "cars"), setting="photos"))
    }
    assert found == {
        "cub?split=class": ['{"condition":"clean"}', '{"condition":"fewer"}'],
        "cars": ['{"condition":"clean"}'],
    }
    with pytest.raises(UserError, match=r"nothing of vary\.condition is run on 'cars'"):
        planner.families(made(None, vary={"condition": vary["condition"][1:]}, datasets=("cars",), setting="photos"))


def test_variations_tuned_apart_have_equal_budgets_even_where_one_of_them_extends_the_range():
    tuning = Tuning(lr=(1e-4, 1e-2), trials=4, each=("label_noise",))
    (family,) = planner.families(made(tuning, vary={"label_noise": (0.0, 0.2)}, methods=("triplet",)))
    known, _ = finish(family, lambda spec: outcome(-spec.lr if spec.label_noise else -abs(spec.lr - 1e-3)))
    rows = [task.ledger_row() for task in known.tasks if task.trial >= 0]
    assert {(row["trials"], row["lr_low"]) for row in rows} == {(5, rows[0]["lr_low"])}
    assert rows[0]["lr_low"] < 1e-4


def test_equal_scores_are_won_by_the_lower_rate_and_failures_never_win():
    trials = [
        Trial(0, {"lr": 1e-2}, "ok", 0.5),
        Trial(1, {"lr": 1e-3}, "ok", 0.5),
        Trial(2, {"lr": 1e-4}, "diverged"),
        Trial(3, {"lr": 1e-5}, "failed"),
    ]
    assert best(trials) is trials[1]
    assert best(trials[2:]) is trials[2]
    assert best(trials[3:]) is None


@given(low=st.floats(1e-6, 1e-2), ratio=st.floats(1.5, 1e4), count=st.integers(1, 30))
def test_rates_rise_from_end_to_end(low: float, ratio: float, count: int):
    found = rates(low, low * ratio, count)
    assert len(found) == count
    assert found == sorted(found)
    if count > 1:
        assert math.isclose(found[0], low, rel_tol=1e-4)
        assert math.isclose(found[-1], low * ratio, rel_tol=1e-4)


def test_one_trial_has_no_edge():
    search = Search(Tuning(lr=(1e-4, 1e-2), trials=1), {}, "x")
    assert search.edge([Trial(0, {"lr": 1e-3}, "ok", 0.5)]) == ""


def test_the_same_value_written_differently_is_the_same_run():
    def ids(**changes):
        return {t.spec.run_id for f in planner.families(made(None, **changes)) for t in f.known({}).tasks}

    assert ids(fields={"lr": 1}) == ids(fields={"lr": 1.0})
    assert ids(params={"contextual": {"alpha": 10}}) == ids(params={"contextual": {"alpha": 10.0}}) == ids()
    assert ids(params={"contextual": {"k": 4.0}}) == ids()


def test_seeds_made_fast_are_the_seeds_of_replace():
    (family,) = planner.families(made(None, seeds=3))
    for task in family.known({}).tasks:
        spec = task.spec
        again = RunSpec.from_json(spec.canonical())
        assert again == spec
        assert again.run_id == spec.run_id


def test_the_untrained_row_is_not_tuned_and_has_every_seed():
    (family,) = planner.families(made(Tuning(lr=(1e-4, 1e-2)), methods=("untrained", "triplet"), seeds=4))
    mine = [task for task in family.known({}).tasks if task.spec.method == "untrained"]
    assert [(task.trial, task.spec.seed) for task in mine] == [(-1, s) for s in range(4)]


def test_proxy_losses_shuffle_unless_the_study_says_otherwise():
    def samplers(**changes):
        told = {"methods": ("proxy_anchor", "triplet"), "setting": "224", "datasets": ("sop",)} | changes
        families = planner.families(made(None, **told))
        return {t.spec.method: t.spec.sampler for f in families for t in f.known({}).tasks}

    assert samplers() == {"proxy_anchor": "shuffle", "triplet": "hierarchical"}
    assert samplers(fields={"sampler": "balanced"}) == {"proxy_anchor": "balanced", "triplet": "balanced"}


def test_planning_ten_thousand_runs_needs_neither_torch_nor_data_nor_pandas():
    code = (
        "import sys; from benchmark.__main__ import main;"
        "main(['plan', 'main', '--set', 'tuning=false', '--set', 'seeds=800', '--results', '/nowhere']);"
        "print([m for m in ('torch', 'numpy', 'pandas', 'optuna', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_matching_of_maps_is_refused_when_a_study_keeps_none():
    with pytest.raises(UserError, match=r"diml\.toml: diml = \(10, 100\) matches feature maps, .* setting = 'stage'"):
        planner.families(study.load("diml", "laptop", ["setting=photos"]))


@pytest.mark.parametrize("name", study.names())
@pytest.mark.parametrize("scale", study.SCALES)
def test_every_study_can_be_planned_and_gives_all_that_it_compares_the_same_budget(name: str, scale: str):
    for family in planner.families(study.load(name, scale)):
        assert family.known({}).tasks
        searches = [group.search for group in family.groups if group.search]
        assert len({(search.budget, search.tuning.lr, search.name) for search in searches}) <= 1
        first = {tuple(point["lr"] for point in search.ask([])) for search in searches}
        assert len(first) <= 1, "the rates of the Sobol half"
