"""What a reader would lose if the studies at paper scale were not the paper's: every planned spec against the paper's text."""

import pytest

import baselines
from benchmark.planning import plan, study
from benchmark.spec import RunSpec

SEEDS = {  # captions of the tables; figures show one run unless they have bars
    "main_cub_cars": 6, "main_sop": 2, "main_256": 3, "average_precision": 3, "inshop": 3, "ablation": 3,
    "regularizer": 3, "main": 6,
}  # fmt: skip
LAMBDAS = {  # studies that fix or sweep λ, as their captions say
    "ablation": {0.8, 1.0},
    "gradient_correction": {1.0},
    "distance_distributions": {1.0},
    "robustness": {1.0},
    "decomposability": {0.0, 0.2, 0.4, 0.6, 0.8, 1.0},
}
NO_REGULARISER = (
    "ablation", "ablation_by_lambda", "ap_surrogates", "convergence", "decomposability", "detach",
    "distance_distributions", "gradient_correction", "lambda_overfitting", "loss_curves", "robustness",
)  # fmt: skip
EPOCHS = {
    "224": {"cub": (60, 45), "cars": (160, 126), "sop": (80, 655)},
    "256": {"cub": (80, 15), "cars": (80, 30), "sop": (80, 655), "inat": (80, 576), "inshop": (80, 600)},
}
BATCH = {"224": {"cub": 128, "cars": 64, "sop": 128}, "256": {"inat": 256}}
OWN_BATCH = ("robustness", "gradient_correction", "decomposability")  # 8 per class; up to the whole set
PAPER = [name for name in study.names() if study.load(name, "paper").setting in EPOCHS]


def specs(name: str) -> tuple[study.Study, list[RunSpec]]:
    loaded = study.load(name, "paper")
    found = {}
    for family in plan.families(loaded):
        for group in family.groups:
            for _, spec in group.finals:
                found[spec.run_id] = spec
    return loaded, list(found.values())


def terms(spec: RunSpec):
    return baselines.build("contextual", num_classes=2, embedding_dim=4, **spec.params).base.terms


@pytest.mark.parametrize("name", PAPER)
def test_the_weights_of_the_contextual_loss_are_the_papers_rule_at_every_lambda(name: str):
    loaded, every = specs(name)
    for spec in (spec for spec in every if spec.method == "contextual"):
        t, gamma = terms(spec), spec.params["gamma"]
        rest = 1 - t.lam - (gamma if loaded.setting == "256" else 0)
        assert t.contrast_weight == pytest.approx(rest), spec.params
        assert t.lam < 1 or t.contrast_weight == 0, "λ = 1 is L_context alone"
        assert (t.alpha, t.neg_margin) == (10.0, 0.6)
        assert t.pos_margin == 0.75 or name == "ap_surrogates"
        assert t.k == spec.per_class or loaded.fields.get("sampler") == "shuffle" or name == "decomposability"
        assert gamma == 0.0 or name not in NO_REGULARISER
        own = {"224": {"cub": 0.04, "cars": 0.05, "sop": 0.05}, "256": {}}[loaded.setting]
        assert t.eps == own.get(spec.dataset, 0.05) or name == "hyperparameters"
        assert spec.params["s_tilde"] == {"224": 0.3, "256": 0.25}[loaded.setting] or name in (
            "hyperparameters",
            "regularizer",
        )
    if name in LAMBDAS:
        assert {spec.params["lam"] for spec in every if spec.method == "contextual"} == LAMBDAS[name]


@pytest.mark.parametrize("name", PAPER)
def test_schedule_batch_network_and_seeds_are_the_papers(name: str):
    loaded, every = specs(name)
    for spec in (spec for spec in every if baselines.card(spec.method).trains):
        warm = loaded.setting == "224" and baselines.card(spec.method).warm_up
        epochs = (115, 655) if warm and spec.dataset == "sop" else EPOCHS[loaded.setting][spec.dataset]
        assert (spec.epochs, spec.batches_per_epoch) == epochs
        assert spec.batch_size == BATCH[loaded.setting].get(spec.dataset, 128) or name in OWN_BATCH
        assert spec.per_class == (8 if name in OWN_BATCH else 4)
        hierarchical = spec.dataset in ("sop", "inat")
        shuffled = baselines.card(spec.method).sampler == "shuffle"
        assert spec.sampler == ("shuffle" if shuffled else "hierarchical" if hierarchical else "balanced")
        small = spec.dataset in ("cub", "cars")
        pooling = "gem" if loaded.setting == "224" else "max" if small else "average"
        assert (spec.pooling, spec.layer_norm) == (pooling, loaded.setting == "256" and small)
        assert spec.backbone == "resnet50"
        assert spec.batch_norm == {"224": "frozen", "256": "statistics"}[loaded.setting]
        assert spec.optimizer == {"224": "adamw", "256": "adam"}[loaded.setting]
    if name in SEEDS:
        assert loaded.seeds == SEEDS[name]
    if name in ("robustness", "gradient_correction"):
        assert {spec.batch_size for spec in every} == {256}


@pytest.mark.parametrize("scale", study.SCALES)
def test_the_table_of_reranking_has_its_numbers_at_every_scale(scale: str):
    for family in plan.families(study.load("reranking", scale)):
        assert all({4, 16, 32} <= set(spec.rerank) for group in family.groups for _, spec in group.finals)
