"""Structural matching is that of the equations: which images are compared, how their cells are matched, what stays."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval_oracles import matched
from scipy.optimize import linear_sum_assignment
from small_sets import KINDS, SmallSet, embeddings, small_sets

from benchmark.errors import UserError
from benchmark.evaluation import Maps, diml, retrieval_metrics

KS = (1, 3)
TOLD_APART = tuple(
    kind for kind in KINDS if kind != "tight"
)  # matching scales differences, and with them what is a tie


def cells_of(data: SmallSet, kind: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    generator = np.random.default_rng(seed)
    own, others = (
        None if x is None else embeddings(kind, len(x) * count, x.shape[1], generator).reshape(len(x), count, -1)
        for x in (data.query, data.gallery)
    )
    return own, others


@settings(max_examples=40, deadline=None)
@given(
    small_sets(kinds=TOLD_APART),
    st.sampled_from(TOLD_APART),
    st.integers(1, 4),
    st.integers(1, 30),
    st.integers(0, 999),
)
def test_matching_equals_the_equations(data: SmallSet, kind: str, count: int, k: int, seed: int):
    cells = cells_of(data, kind, count, seed)
    found = retrieval_metrics(*data.arguments, ks=KS, diml=(k,), maps=Maps(*cells))
    expected, queries = matched(*data.arguments, KS, k, cells)
    assert {name: found[f"diml{k}/{name}"] for name in expected} == pytest.approx(expected, abs=1e-10)
    assert found[f"diml{k}/queries"] == queries


def photos(n: int = 90, count: int = 4, d: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Embeddings, labels and cells that are around the embeddings, without ties."""
    generator = np.random.default_rng(n)
    y = np.arange(n) % 9
    x = generator.standard_normal((9, d))[y] + 1.5 * generator.standard_normal((n, d))
    return x, y, x[:, None] + generator.standard_normal((n, count, d))


def told(x, y, cells, *ks: int, cut: int | None = None) -> dict[str, float]:
    if cut is None:
        return retrieval_metrics(x, y, diml=ks, maps=Maps(cells))
    return retrieval_metrics(x[:cut], y[:cut], x[cut:], y[cut:], diml=ks, maps=Maps(cells[:cut], cells[cut:]))


def only(found: dict[str, float], k: int) -> dict[str, float]:
    return {name.removeprefix(f"diml{k}/"): value for name, value in found.items() if name.startswith(f"diml{k}/")}


@pytest.mark.parametrize("cut", [None, 30])
def test_it_changes_the_ranking_and_several_k_in_one_pass_are_those_of_one_each(cut):
    x, y, cells = photos()
    together = told(x, y, cells, 20, 5, 60, cut=cut)
    for k in (5, 20, 60):
        assert told(x, y, cells, k, cut=cut).items() <= together.items()
    assert together["diml20/R@1"] != together["R@1"]
    assert together["diml20/mAP"] != together["diml60/mAP"]


@pytest.mark.parametrize("cut", [None, 30])
def test_the_order_of_the_gallery_and_of_the_cells_of_an_image_does_not_matter(cut):
    x, y, cells = photos()
    before = told(x, y, cells, 8, cut=cut)
    generator = np.random.default_rng(1)
    order = generator.permutation(len(x)) if cut is None else np.r_[:cut, cut + generator.permutation(len(x) - cut)]
    assert told(x[order], y[order], cells[order], 8, cut=cut) == pytest.approx(before, abs=1e-12)
    turned = cells[:, generator.permutation(cells.shape[1])]
    assert told(x, y, turned, 8, cut=cut) == pytest.approx(before, abs=1e-12)
    each = np.stack([image[generator.permutation(len(image))] for image in cells])
    assert told(x, y, each, 8, cut=cut) == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("cut", [None, 30])
def test_one_cell_that_is_the_embedding_leaves_the_ranking_as_it_was(cut):
    x, y, _ = photos()
    length = np.random.default_rng(2).uniform(0.1, 9, (len(x), 1, 1))
    found = told(x, y, x[:, None] * length, 7, cut=cut)
    assert all(value == pytest.approx(found[name], abs=1e-12) for name, value in only(found, 7).items())


@pytest.mark.parametrize("cut", [None, 30])
def test_one_candidate_leaves_the_ranking_and_more_than_the_gallery_has_are_all_of_it(cut):
    x, y, cells = photos()
    found = told(x, y, cells, 1, 89, 5000, cut=cut)
    assert all(value == pytest.approx(found[name], abs=1e-12) for name, value in only(found, 1).items())
    assert only(found, 89) == only(found, 5000)


def test_recall_beyond_the_candidates_is_that_of_the_cosine():
    x, y, cells = photos()
    found = retrieval_metrics(x, y, ks=(1, 5, 6, 20), diml=(5,), maps=Maps(cells))
    assert [found[f"diml5/R@{k}"] for k in (5, 6, 20)] == [found[f"R@{k}"] for k in (5, 6, 20)]


def test_the_plan_has_its_marginals_and_the_form_that_makes_it_the_optimal_one():
    generator = torch.Generator().manual_seed(0)
    s = torch.rand(50, 4, 6, generator=generator, dtype=torch.float64)
    u, v = (torch.rand(50, n, generator=generator, dtype=torch.float64) for n in (4, 6))
    u, v = u / u.sum(1, keepdim=True), v / v.sum(1, keepdim=True)
    plan = diml.transport(s, u, v, steps=5000)
    assert torch.allclose(plan.sum(2), u, atol=1e-9)
    assert torch.allclose(plan.sum(1), v, atol=1e-12)
    potentials = torch.log(plan) - (s - 1) / diml.EPS  # αᵢ + βⱼ: of all with these marginals, one plan is of this form
    assert torch.allclose(potentials - potentials[:, :1], (potentials - potentials[:, :1])[:, :, :1].expand_as(s))


def test_the_regularised_plan_comes_near_the_best_assignment_of_cells():
    generator = torch.Generator().manual_seed(1)
    s = 2 * torch.rand(20, 5, 5, generator=generator, dtype=torch.float64) - 1
    same = torch.full((20, 5), 0.2, dtype=torch.float64)
    found = (diml.transport(s, same, same, eps=0.04, steps=20_000) * s).sum(dim=(1, 2))
    for each, reached in zip(s.numpy(), found.tolist(), strict=True):
        best = each[linear_sum_assignment(each, maximize=True)].mean()
        assert best - 0.04 * np.log(5) - 1e-6 <= reached <= best + 1e-6


def test_a_map_of_zeros_weighs_alike_and_matches_nothing():
    x, y, cells = photos()
    cells[y < 3] = 0
    found = told(x, y, cells, 10)
    assert all(np.isfinite(value) for value in found.values())
    side = diml._Side.of(cells, torch.from_numpy(x), "query")
    empty, full = int(np.flatnonzero(y < 3)[0]), int(np.flatnonzero(y >= 3)[0])
    s, u, v = diml._compared(side, side, empty, np.array([full, empty]))
    assert s.abs().max() == 0
    assert torch.equal(u, torch.full((2, 4), 0.25, dtype=torch.float64))
    assert v.sum(dim=1).tolist() == pytest.approx([1, 1])
    assert told(np.zeros_like(x), y, np.zeros_like(cells), 10)["diml10/R@1"] == 0  # all are tied, against the query


@pytest.mark.parametrize("n", [60, 200])  # all are candidates; more than 64 others are as near as the K-th
def test_a_collapsed_embedding_scores_as_badly_as_it_is(n):
    x, y = np.ones((n, 3)), np.arange(n) // (n // 2)
    found = told(x, y, np.ones((n, 4, 3)), 10)
    assert only(found, 10) == pytest.approx({name: found[name] for name in only(found, 10)})
    assert found["diml10/R@1"] == 0


def test_ties_that_are_too_many_to_be_candidates_leave_a_query_as_it_was_whatever_the_other_k():
    x, y, cells = photos(200)
    x[:] = x[0]
    for ks in ((10,), (10, 199)):
        found = told(x, y, cells, *ks)
        assert only(found, 10) == pytest.approx({name: found[name] for name in only(found, 10)})
    assert found["diml199/R@1"] > 0  # here all are candidates, and their cells tell them apart


def test_one_image_in_the_gallery_or_none_to_find():
    x, y, cells = photos(3)
    found = retrieval_metrics(x[:2], [0, 1], x[2:], [0], diml=(5,), maps=Maps(cells[:2], cells[2:]))
    assert (found["diml5/R@1"], found["diml5/queries"]) == (1, 1)
    alone = told(x[:1], y[:1], cells[:1], 5)
    assert (alone["diml5/R@1"], alone["diml5/queries"]) == (0, 0)


def test_a_pairs_value_does_not_depend_on_what_is_computed_beside_it(monkeypatch):
    x, y, cells = photos()
    before = told(x, y, cells.astype(np.float32), 8)
    monkeypatch.setattr(diml, "VALUES", 1)
    assert told(x, y, cells.astype(np.float32), 8) == pytest.approx(before, abs=1e-12)


def test_what_cannot_be_matched_is_refused():
    x, y, cells = photos()
    broken = cells.copy()
    broken[2, 1, 0] = np.nan
    for maps, said in (
        (None, r"diml = \(3,\) compares feature maps"),
        (Maps(cells[1:]), r"expected \(90, cells, 5\)"),
        (Maps(broken), "query cell embeddings hold NaN"),
        (Maps(cells, cells), "only there"),
        (Maps(cells, eps=1e-4), "eps from 0.01"),
    ):
        with pytest.raises(UserError, match=said):
            retrieval_metrics(x, y, diml=(3,), maps=maps)
    with pytest.raises(UserError, match="diml = "):
        retrieval_metrics(x, y, diml=(0,), maps=Maps(cells))
