"""What every method promises, whoever wrote it: one contract over all files in baselines/."""

import copy
import random
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
import torch
from loss_batches import batch, with_seen
from pytorch_metric_learning.losses import ThresholdConsistentMarginLoss

import baselines
from baselines._proxies import ProxyLoss
from benchmark.errors import UserError
from benchmark.planning.tuning import listed

METHODS = baselines.names()
THE_PAPERS = [
    "normalized_softmax",
    "proxy_anchor",
    "proxy_nca",
    "contextual",
    "contrastive",
    "triplet",
    "ntxent",
    "multi_similarity",
    "multi_similarity_miner",
]
THE_PAPERS += ["fast_ap", "smooth_ap", "roadmap", "softbin_ap", "blackbox_ap", "untrained"]

every_method = pytest.mark.parametrize("name", METHODS)


def build(name, d=12, classes=48, **params):
    loss = baselines.build(name, num_classes=classes, embedding_dim=d, feature_dim=d, **params)
    loss.register_forward_pre_hook(with_seen)
    return loss


BUILT = {name: build(name) for name in METHODS}
CLASSES = [name for name, loss in BUILT.items() if isinstance(loss.base, ProxyLoss)]  # with a row for each
PROXIES = [name for name in CLASSES if list(BUILT[name].parameters())]
DRAWN = [name for name, loss in BUILT.items() if any(hasattr(module, "generator") for module in loss.modules())]
DRAWN.remove("recall_at_k")  # draws only where it mixes


def value_and_gradient(loss, embeddings, labels):
    value = loss(embeddings, labels)
    (grad,) = torch.autograd.grad(value, embeddings)
    return value, grad


def test_every_method_of_the_paper_is_there_and_its_studies_name_no_other():
    groups = baselines.groups()
    assert set(THE_PAPERS) == set(groups["paper"])
    assert groups["all"] == METHODS == sorted(groups["paper"] + groups["copied"] + groups["since"])


def test_cards_are_read_without_torch():
    code = "import sys, baselines; [baselines.card(n) for n in baselines.names()]; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=baselines.FOLDER.parent)


@every_method
def test_card_says_what_a_table_and_a_search_need(name):
    card = baselines.card(name)
    assert card.title
    assert card.summary.endswith(".") or card.summary.endswith(":")
    assert card.source or name not in THE_PAPERS or not card.trains
    assert card.sampler in ("balanced", "shuffle")
    assert {"gamma", "s_tilde", "reg_form"} <= set(card.params)
    assert set(card.search) <= set(card.params)
    build(name, **card.params)
    for key, choices in card.search.items():
        assert all(baselines.checked_params(card, {key: value}) for value in listed(choices))
    assert asdict(card) == asdict(baselines.card(name))


@every_method
@pytest.mark.parametrize(
    "kind",
    ["sorted", "shuffled", "unequal", "one_class", "singletons", "perfect", "duplicates", "identical", "collapsed"],
)
def test_loss_and_gradient_are_finite(name, kind):
    embeddings, labels = batch(kind)
    value, grad = value_and_gradient(build(name), embeddings, labels)
    assert value.shape == ()
    assert value.isfinite()
    assert grad.isfinite().all()


@every_method
@pytest.mark.parametrize("n", [4, 5, 6])
def test_small_and_odd_batches_work(name, n):
    embeddings, labels = batch("shuffled", n=n)
    value, grad = value_and_gradient(build(name), embeddings, labels)
    assert value.isfinite()
    assert grad.isfinite().all()


@every_method
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(name, dtype):
    embeddings, labels = batch("shuffled")
    embeddings = embeddings.detach().to(dtype).requires_grad_()
    value, grad = value_and_gradient(build(name), embeddings, labels)
    single = build(name)(embeddings.detach().float(), labels)
    assert value.dtype == torch.float32
    assert grad.dtype == dtype
    assert grad.isfinite().all()
    assert value.item() == single.item()


@every_method
def test_autocast_does_not_lower_the_precision(name):
    embeddings, labels = batch("shuffled")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = build(name)(embeddings, labels)
    assert inside.dtype == torch.float32
    assert inside.item() == build(name)(embeddings, labels).item()


@every_method
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_labels_of_any_integer_type(name, dtype):
    embeddings, labels = batch("shuffled")
    assert build(name)(embeddings, labels.to(dtype)).item() == build(name)(embeddings, labels).item()


@every_method
def test_labels_need_not_be_contiguous(name):
    embeddings, labels = batch("shuffled")
    spread = (labels * 1000 - 3).repeat_interleave(2)[::2]  # neither in value nor in memory
    loss = build(name, classes=12)
    value, grad = value_and_gradient(loss, embeddings, spread)
    assert grad.isfinite().all()
    if name not in CLASSES:  # those draw a proxy per class, so another numbering pairs other proxies with classes
        assert value.item() == pytest.approx(build(name)(embeddings, labels).item(), rel=1e-6)


@pytest.mark.parametrize("name", sorted({*METHODS} - {*DRAWN}))
def test_order_of_the_batch_does_not_matter(name):
    embeddings, labels = batch("unequal", dtype=torch.float64)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))
    value, grad = value_and_gradient(build(name), embeddings, labels)
    mixed = embeddings.detach()[order].requires_grad_()
    again, turned = value_and_gradient(build(name), mixed, labels[order])
    assert again.item() == pytest.approx(value.item(), rel=1e-9)
    torch.testing.assert_close(turned, grad[order], rtol=1e-6, atol=1e-9)


@every_method
def test_a_loss_goes_on_from_its_saved_state(name):
    """What `Checkpoint` keeps of a loss, its state and its generators, is all that its next value depends on."""
    first, then = (batch("shuffled", seed=seed) for seed in (0, 1))
    loss, other = build(name), build(name, generator=torch.Generator().manual_seed(7))
    loss(*first)
    other.load_state_dict(copy.deepcopy(loss.state_dict()))
    for source, target in zip(loss.modules(), other.modules(), strict=True):
        if isinstance(getattr(source, "generator", None), torch.Generator):
            target.generator.set_state(source.generator.get_state())
    assert other(*then).item() == loss(*then).item()


@every_method
def test_length_of_embeddings_does_not_matter(name):
    embeddings, labels = batch("shuffled", dtype=torch.float64)
    scale = torch.linspace(0.5, 20, len(embeddings), dtype=torch.float64)[:, None]
    assert build(name)(embeddings * scale, labels).item() == pytest.approx(
        build(name)(embeddings, labels).item(), rel=1e-9
    )


@every_method
def test_nan_is_not_hidden(name):
    for n in (48, 400):  # 400: the contextual loss on neighbour lists
        embeddings, labels = batch("shuffled", n=n)
        embeddings.data[3, 2] = float("nan")
        assert build(name, classes=n)(embeddings, labels).isnan()


@every_method
def test_nothing_depends_on_global_random_state_or_changes_it(name):
    embeddings, labels = batch("shuffled")

    def two_steps():
        loss = build(name)
        return [loss(embeddings, labels).item() for _ in range(2)], [p.detach().clone() for p in loss.parameters()]

    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    values, parameters = two_steps()
    torch.testing.assert_close(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    assert random.getstate() == before[2]
    torch.rand(7)
    again, same_parameters = two_steps()
    assert values == again
    torch.testing.assert_close(parameters, same_parameters, rtol=0, atol=0)


@pytest.mark.parametrize("name", sorted({*PROXIES, *DRAWN}))
def test_a_given_generator_decides_what_is_drawn(name):
    embeddings, labels = batch("shuffled")
    values = [
        build(name, generator=torch.Generator().manual_seed(seed))(embeddings, labels).item() for seed in (1, 1, 2)
    ]
    assert values[0] == values[1] != values[2]


@every_method
def test_parameters_come_with_their_learning_rate(name):
    loss = build(name, classes=7)
    groups = loss.parameter_groups(lr=0.01, proxy_lr=100)
    assert sorted(id(p) for group in groups for p in group["params"]) == sorted(map(id, loss.parameters()))
    owners = [module for module in loss.modules() if hasattr(module, "layers")]
    times = {id(p): getattr(m, "layers_lr", 1) for m in owners for p in m.layers.parameters()}
    for group in groups:
        for p in group["params"]:
            assert group["lr"] == pytest.approx(times.get(id(p), 100) * 0.01)
            assert id(p) in times or p.numel() % (7 * 12) == 0  # as many vectors for each class
    learnt = [p for p in loss.parameters() if id(p) not in times]
    assert bool(learnt) == baselines.card(name).proxies, "whoever has proxies says so, and tunes their rate"


@pytest.mark.parametrize("name", [name for name in METHODS if baselines.card(name).needs])
def test_what_a_method_needs_and_does_not_get_is_named(name):
    embeddings, labels = batch("shuffled")
    loss = baselines.build(name, num_classes=48, embedding_dim=12, feature_dim=12)
    with pytest.raises(UserError, match=f"needs {baselines.card(name).needs[0]}"):
        loss(embeddings, labels)


@pytest.mark.parametrize("name", PROXIES)
def test_proxies_learn(name):
    embeddings, labels = batch("shuffled", d=12)
    loss = build(name, classes=12)
    optimizer = torch.optim.SGD(loss.parameter_groups(lr=1e-3, proxy_lr=100))
    first = loss(embeddings, labels)
    first.backward()
    optimizer.step()
    assert loss(embeddings, labels) < first


@every_method
def test_trains_downhill(name):
    """A short descent on free embeddings: a wrong sign anywhere would go up."""
    embeddings, labels = batch("shuffled", n=64, d=16, seed=3)
    embeddings = embeddings.detach().clone().requires_grad_()
    loss = build(name, d=16, classes=16)
    optimizer = torch.optim.Adam([{"params": [embeddings]}, *loss.parameter_groups(lr=0.02, proxy_lr=1)], lr=0.02)

    values = []
    for _ in range(60):
        optimizer.zero_grad()
        value = loss(embeddings, labels)
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert sum(values[-5:]) < sum(values[:5]) or not baselines.card(name).trains


@every_method
def test_wrong_shapes_are_named(name):
    loss, labels = build(name), torch.arange(8)
    for embeddings, given, fits in (
        (torch.randn(8, 5), r"\(8, 5\)", r"\(n, 12\)"),
        (torch.randn(8), r"\(8,\)", r"\(n, 12\)"),
        (torch.zeros(8, 12, dtype=torch.long), "int64", "floating"),
        (torch.zeros(0, 12), r"\(8,\)|empty", r"\(0,\)|at least one"),
    ):
        with pytest.raises(ValueError, match=given) as error:
            loss(embeddings, labels)
        assert error.match(fits)
    for wrong in (torch.arange(7), torch.zeros(8, 1, dtype=torch.long), torch.rand(8)):
        with pytest.raises(ValueError, match=r"labels of shape .* expected \(8,\)"):
            loss(torch.randn(8, 12), wrong)


@every_method
def test_unknown_and_unfit_parameters_are_named(name):
    with pytest.raises(UserError, match=r"gama.*did you mean 'gamma'"):
        build(name, gama=0.1)
    with pytest.raises(UserError, match="gamma = 'high' must be a number"):
        build(name, gamma="high")
    with pytest.raises(UserError, match=r"reg_form.*'mixd'.*'mixed'"):
        build(name, reg_form="mixd")
    with pytest.raises(UserError, match="num_classes = 0"):
        build(name, classes=0)


def test_an_unknown_method_is_answered_with_the_nearest():
    with pytest.raises(UserError, match="unknown method 'tripplet'; did you mean 'triplet'"):
        build("tripplet")


@pytest.mark.parametrize(("k", "message"), [(1, "k = 1"), (0, "k = 0"), (2.5, "k = 2.5")])
def test_a_k_that_cannot_be_is_named(k, message):
    with pytest.raises(UserError, match=message):
        build("contextual", k=k)


def test_a_k_that_does_not_fit_the_batch_is_named_with_what_fits():
    with pytest.raises(UserError, match="k = 8 does not fit a batch of 6: choose k from 2 to 6"):
        build("contextual", k=8)(*batch("shuffled", n=6))


def test_an_unknown_ablation_is_answered_with_the_nearest():
    with pytest.raises(UserError, match="'no_m_minsu'; did you mean 'no_m_minus'"):
        build("contextual", variant="no_m_minsu")


@pytest.mark.parametrize("name", CLASSES)
def test_more_classes_than_proxies_are_named(name):
    embeddings, labels = batch("shuffled")
    with pytest.raises(UserError, match="num_classes = 5 fits labels 0 … 4"):
        build(name, classes=5)(embeddings, labels)


@every_method
def test_losses_can_be_copied_and_pickled(name):
    embeddings, labels = batch("shuffled")
    loss = build(name)
    twin = copy.deepcopy(loss)
    assert twin(embeddings, labels).item() == loss(embeddings, labels).item()


@every_method
@pytest.mark.parametrize("form", ["added", "mixed"])
def test_the_similarity_regulariser_joins_any_method(name, form):
    embeddings, labels = batch("shuffled", dtype=torch.float64)
    base = build(name, gamma=0.0)(embeddings, labels).item()
    loss = build(name, gamma=0.3, s_tilde=0.25, reg_form=form)
    f = torch.nn.functional.normalize(embeddings.detach())
    reg = ((f @ f.T).mean().item() - 0.25) ** 2
    expected = (base if form == "added" else 0.7 * base) + 0.3 * reg
    assert loss(embeddings, labels).item() == pytest.approx(expected, rel=1e-9)
    assert loss.parts["reg"].item() == pytest.approx(reg, rel=1e-9)


@every_method
def test_the_threshold_consistent_margin_joins_any_method(name):
    embeddings, labels = batch("unequal", dtype=torch.float64)
    base, base_grad = value_and_gradient(build(name), embeddings, labels)
    loss = build(name, tcm=0.7, tcm_pos_margin=0.8, tcm_neg_margin=0.3)
    value, grad = value_and_gradient(loss, embeddings, labels)
    margin = ThresholdConsistentMarginLoss(margin_plus=0.8, margin_minus=0.3)(embeddings, labels)
    (pull,) = torch.autograd.grad(margin, embeddings)
    assert value.item() == pytest.approx((base + 0.7 * margin).item(), rel=1e-9)
    assert loss.parts["tcm"].item() == pytest.approx(margin.item(), rel=1e-9)
    torch.testing.assert_close(grad, base_grad + 0.7 * pull, rtol=1e-6, atol=1e-9)
