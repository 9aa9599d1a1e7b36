"""The paper's settings, checked against the facts: a wrong number here makes a reproduction of something else."""

import pytest

import baselines
from benchmark.errors import UserError
from benchmark.planning import settings, study
from benchmark.planning.expand import resolved
from benchmark.spec import FIELDS, RunSpec

PAPER = [("224", d) for d in ("cub", "cars", "sop")]
PAPER += [("256", d) for d in ("cub", "cars", "sop", "inat", "inshop")]


def spec(name: str, dataset: str, method: str = "contextual") -> RunSpec:
    base = RunSpec(dataset=dataset, method=method, params=settings.params(name, dataset, method))
    return base.replace(**settings.setting(name, dataset, method))


@pytest.mark.parametrize(("name", "dataset"), PAPER)
def test_every_setting_is_a_whole_spec(name, dataset):
    found = spec(name, dataset)
    assert settings.setting(name, dataset).keys() <= FIELDS.keys()
    assert (found.backbone, found.embedding_dim, found.precision, found.per_class) == ("resnet50", 512, "amp", 4)


def test_the_main_setting_is_as_used():
    cub, cars, sop = (spec("224", d) for d in ("cub", "cars", "sop"))
    for one in (cub, cars, sop):
        assert (one.image_size, one.resize, one.train_resize, one.pooling) == (224, 256, 0, "gem")
        assert (one.layer_norm, one.batch_norm, one.optimizer, one.weight_decay) == (False, "frozen", "adamw", 1e-4)
        assert (one.backbone_lr, one.projector_lr, one.proxy_lr, one.projector_dim) == (1.0, 2.0, 100.0, 2048)
    assert [s.batch_size for s in (cub, cars, sop)] == [128, 64, 128]
    assert [s.epochs for s in (cub, cars, sop)] == [60, 160, 80]
    assert [s.crop_scale for s in (cub, cars, sop)] == [0.16, 0.12, 0.08]
    assert [s.batches_per_epoch for s in (cub, cars, sop)] == [45, 126, 655]
    assert [s.projector for s in (cub, cars, sop)] == ["linear", "linear", "identity"]
    assert [s.sampler for s in (cub, cars, sop)] == ["method", "method", "hierarchical"]
    assert [s.evaluate_every for s in (cub, cars, sop)] == [10, 10, 5]
    assert cub.lr_steps == (10, 20, 30, 40, 50)
    assert cars.lr_steps == (20, 40, 60, 80, 100, 120, 140)
    assert sop.lr_steps == (15, 30, 45, 60, 75)
    assert [s.lr_factor for s in (cub, cars, sop)] == [0.3, 0.5, 0.3]
    assert [dict(s.params) for s in (cub, cars, sop)] == [
        {"lam": 0.95, "eps": 0.04}, {"lam": 0.8, "eps": 0.05}, {"lam": 0.8, "eps": 0.05},
    ]  # fmt: skip


def test_proxy_losses_shuffle_warm_up_and_train_longer_on_sop():
    main = study.load("main", "paper")
    cub, sop = (resolved(main, d, "proxy_anchor", "test", {}) for d in ("cub", "sop"))
    assert (cub.sampler, cub.warm_epochs, cub.epochs) == ("shuffle", 10, 60)
    assert (sop.sampler, sop.warm_epochs, sop.epochs, sop.lr_steps[0]) == ("shuffle", 1, 115, 21)
    warm = {name for name in baselines.groups()["paper"] if baselines.card(name).warm_up}
    assert warm == {"normalized_softmax", "proxy_anchor", "proxy_nca"}


def test_the_second_setting_is_as_used():
    found = {d: spec("256", d) for d in settings.PAPER_DATASETS}
    for one in found.values():
        assert (one.optimizer, one.backbone_lr, one.lr_steps, one.epochs) == ("adam", 0.5, (15, 30, 45), 80)
        assert (one.batch_norm, one.projector, one.crop_scale, one.evaluate_every) == (
            "statistics",
            "identity",
            0.16,
            5,
        )
    assert {d: s.lr for d, s in found.items()} == {
        "cub": 8e-5, "cars": 1.6e-4, "sop": 4e-5, "inat": 8e-5, "inshop": 4e-5,
    }  # fmt: skip
    assert [found[d].batches_per_epoch for d in ("cub", "cars", "sop", "inat", "inshop")] == [15, 30, 655, 576, 600]
    assert {d for d, s in found.items() if s.pooling == "max" and s.layer_norm} == {"cub", "cars"}
    assert {d for d, s in found.items() if s.pooling == "average" and not s.layer_norm} == {"sop", "inat", "inshop"}
    assert {d for d, s in found.items() if s.resize_square and s.train_resize == s.resize == 288} == {"sop", "inshop"}
    assert {d for d, s in found.items() if s.sampler == "hierarchical"} == {"sop", "inat"}
    inat = found["inat"]
    assert (inat.batch_size, inat.image_size, inat.resize) == (256, 224, 256)
    assert found["inshop"].ks == (1, 10, 20, 30, 40, 50)
    assert found["cub"].params["s_tilde"] == 0.25
    assert found["cub"].params["rest"] == "1 - lam - gamma"  # 0.5, as used
    assert spec("256", "cub", "proxy_nca").params == {"softmax_scale": 10.0}


def test_every_parameter_of_a_setting_is_one_of_the_method():
    for name, dataset in PAPER:
        for method in baselines.names():
            assert settings.params(name, dataset, method).keys() <= baselines.card(method).params.keys()


def test_published_rates_can_stand_in_for_tuning():
    assert settings.published("contextual", "cub") == {"lr": 1.4e-4, "projector": "linear", "params.gamma": 0.1}
    assert settings.published("triplet", "sop") == {"lr": 4e-5, "projector": "identity", "params.gamma": 0.1}
    assert settings.published("fast_ap", "inat", "256") == {"lr": 8e-5}
    for method, by_dataset in settings.PUBLISHED.items():
        for dataset, (lr, _, _) in by_dataset.items():
            assert settings.LR_RANGE[0] <= lr <= settings.LR_RANGE[1]
            assert spec("224", dataset, method).replace(**settings.published(method, dataset)).lr == lr


def test_what_was_never_published_says_what_to_do():
    with pytest.raises(UserError, match=r"no learning rate is published for 'fast_ap' on 'cub'.*\[tuning\] lr = "):
        settings.published("fast_ap", "cub")
    with pytest.raises(UserError, match="setting '224' was never published for data set 'inat'"):
        settings.setting("224", "inat")
    with pytest.raises(UserError, match="unknown setting '242'; did you mean '224'"):
        settings.setting("242", "cub")


def test_your_own_data_can_use_every_setting():
    for name in settings.names():
        assert spec(name, "./birds.csv").batch_size > 0


def test_methods_with_several_points_a_class_have_few_where_classes_are_many():
    assert settings.params("224", "sop", "soft_triple") == {"centers": 2}
    assert settings.params("256", "inshop", "potential_field") == {"proxies": 2}
    assert settings.params("224", "cub", "soft_triple") == {}
