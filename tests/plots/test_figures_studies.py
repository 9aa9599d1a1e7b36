"""Every figure of the paper that is made of training runs: on the real plans of its study, whole, partial and empty."""

import figure_factory
import pytest
from figure_factory import rehearse

from benchmark.errors import UserError
from benchmark.planning import study
from plots.__main__ import write
from plots.catalogue import entries
from plots.data import Results

FIGURES = [
    "overfitting", "convergence", "rolling_point", "gradient_picture", "robustness", "ablation_lambda_gamma",
    "scaling", "decomposability", "toy_circles", "distance_distributions", "hyperparameters", "lambda_overfitting",
    "loss_curves", "ablation_by_lambda", "detach", "ap_surrogates", "inconsistent_labels",
]  # fmt: skip
FOUND, _ = entries(["figure"])
STUDIES = [name for name in FIGURES if name in FOUND and name == FOUND[name].study]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A results folder in which every study of a figure has been run at the quick scale."""
    root = tmp_path_factory.mktemp("quick")
    specs = {name: rehearse(root, name) for name in [*STUDIES, "ablation"]}
    return Results(root, "quick"), specs


def test_every_figure_of_the_paper_has_a_module_and_its_study():
    assert [name for name in FIGURES if name not in FOUND] == []
    wanted = {FOUND[name].study for name in FIGURES} - {""}
    assert wanted <= set(study.names())
    assert len(STUDIES) == 11


@pytest.mark.parametrize("name", STUDIES)
def test_a_figure_is_made_from_its_study_and_its_caption_says_what_it_is(name, quick):
    results, specs = quick
    drawing = FOUND[name].produce(results)
    assert drawing.figure.axes
    assert "rehearsal, not evidence" in drawing.caption
    assert "2 seeds" in drawing.caption
    assert "Protocol test" in drawing.caption
    assert "missing" not in drawing.caption
    assert drawing.figure.get_size_inches()[0] <= 6.75
    assert len({spec.run_id for spec in specs[name]}) <= 150  # a rehearsal of all studies takes minutes


def test_figures_are_written_twice_with_the_same_bytes(quick, tmp_path):
    results, _ = quick
    for folder in ("first", "second"):
        write(FOUND["detach"], FOUND["detach"].produce(results), tmp_path / folder)
    for path in sorted((tmp_path / "first").iterdir()):
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("name", STUDIES)
def test_a_partial_study_makes_a_figure_that_says_what_is_missing(name, tmp_path):
    def lost(spec):
        return spec.phase == "final" and spec.seed == 1

    specs = rehearse(tmp_path, name, lost=lost)
    drawing = FOUND[name].produce(Results(tmp_path, "quick"))
    missing = len({spec.run_id for spec in specs if lost(spec)})
    assert f"{missing} missing" in drawing.caption


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_without_a_finished_run_is_listed_with_its_reason(name, tmp_path):
    with pytest.raises(UserError, match=f"benchmark run {name}"):
        FOUND[name].produce(Results(tmp_path, "quick"))
    rehearse(tmp_path, name, lost=lambda spec: True)
    with pytest.raises(UserError, match=f"benchmark run {name}"):
        FOUND[name].produce(Results(tmp_path, "quick"))


def test_convergence_is_made_without_the_full_batch_runs_and_says_so(tmp_path):
    rehearse(tmp_path, "convergence")
    drawing = FOUND["convergence"].produce(Results(tmp_path, "quick"))
    assert "no results of study 'decomposability'" in drawing.caption


def test_a_paper_with_several_data_sets_gets_a_panel_for_each(tmp_path):
    rehearse(tmp_path, "detach", "paper")
    drawing = FOUND["detach"].produce(Results(tmp_path, "paper"))
    assert [axis.get_title() for axis in drawing.figure.axes] == ["CUB", "Cars", "SOP"]
    assert "One seed: no bars." in drawing.caption


def test_all_classes_stand_right_of_the_largest_number_of_them(tmp_path):
    rehearse(tmp_path, "robustness", "photos")
    classes = FOUND["robustness"].produce(Results(tmp_path, "photos")).figure.axes[2]
    assert [label.get_text() for label in classes.get_xticklabels()] == ["50", "70", "90", "all"]
    assert classes.get_xticks().tolist() == [50, 70, 90, 110]


def test_what_is_lost_to_noise_is_said_by_data_set_and_no_panel_is_drawn_of_what_was_not_varied(tmp_path):
    rehearse(tmp_path, "robustness", "photos")
    drawing = FOUND["robustness"].produce(Results(tmp_path, "photos"))
    assert [axis.axison for axis in drawing.figure.axes] == [True] * 4 + [False] * 2
    assert all(told in drawing.caption for told in ("CUB: label noise: ", "CUB: image noise: ", "Cars: label noise: "))
    assert "Cars: image noise" not in drawing.caption


def test_studies_of_the_same_sweep_share_their_runs(quick):
    """Trained once: otherwise the quick scale would take longer than it may."""
    runs = {name: {spec.run_id for spec in found} for name, found in quick[1].items()}
    assert runs["convergence"] == runs["lambda_overfitting"] == runs["loss_curves"]
    assert runs["convergence"] < runs["detach"]
    assert runs["distance_distributions"] < runs["ablation"] < runs["ablation_by_lambda"]


def test_the_regimes_stand_side_by_side_and_those_not_run_are_named(tmp_path):
    rehearse(tmp_path, "main")
    rehearse(tmp_path, "fine_tuning")
    drawing = FOUND["regimes"].produce(Results(tmp_path, "quick"))
    assert [axis.get_title() for axis in drawing.figure.axes] == ["letters, from scratch (quick)"]
    assert "Not run yet: CUB, frozen, CUB, last stage." in drawing.caption
    assert len(drawing.figure.axes[0].lines) == 2 * 5  # a path and a star a method


def test_frozen_photos_stand_beside_letters_before_the_slowest_regime_has_run(tmp_path):
    rehearse(tmp_path, "main")
    with pytest.raises(UserError, match="nothing to put side by side"):
        FOUND["regimes"].produce(Results(tmp_path, "quick"))
    rehearse(tmp_path, "main", "photos")
    drawing = FOUND["regimes"].produce(Results(tmp_path, "quick"))
    titles = [axis.get_title() for axis in drawing.figure.axes]
    assert titles == ["letters, from scratch (quick)", "CUB, frozen (photos)"]
    assert "Not run yet: CUB, last stage." in drawing.caption


def test_regimes_show_the_methods_that_all_of_them_have_and_name_the_others(tmp_path):
    rehearse(tmp_path, "main", "photos")
    rehearse(tmp_path, "fine_tuning", "photos")
    drawing = FOUND["regimes"].produce(Results(tmp_path, "photos"))
    assert [axis.get_title() for axis in drawing.figure.axes] == ["CUB, frozen (photos)", "CUB, last stage (photos)"]
    assert [len(axis.lines) for axis in drawing.figure.axes] == [2 * 5, 2 * 5]
    assert "Not in every regime, so not drawn: Margin, Mean field." in drawing.caption


def test_photos_are_named_as_papers_do_and_absent_ones_are_counted(tmp_path, monkeypatch):
    made_up = figure_factory.result
    monkeypatch.setattr(figure_factory, "result", lambda spec: _lacking(made_up(spec), spec))
    rehearse(tmp_path, "main", "photos")
    drawing = FOUND["overfitting"].produce(Results(tmp_path, "photos"))
    assert [axis.get_title() for axis in drawing.figure.axes] == ["CUB", "Cars"]
    assert "15 images of the data set are missing and were left out." in drawing.caption
    assert "missing=skip" not in drawing.caption


def _lacking(row, spec):
    absent = {"data/missing images": 15.0} if "missing=skip" in spec.dataset else {}
    return row | {"metrics": row["metrics"] | absent}


@pytest.mark.parametrize("name", ["distractors", "transfer"])
def test_no_caption_speaks_of_letters_over_photos(name):
    told = study.load(name, "photos")
    assert "letter" not in told.title + told.notes
