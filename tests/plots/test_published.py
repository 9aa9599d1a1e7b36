"""The paper's numbers are the paper's: column totals added up from its tables, and values read by eye."""

import pytest

from benchmark.errors import UserError
from plots.tables import published

# Table, data set, metric, rows and sum of the paper's columns, added up from its LaTeX and not from our CSV.
TOTALS = [
    ("main_cub_cars", "cub", "test/R@1", 22, 1521.3),
    ("main_cub_cars", "cub", "test/R@2", 21, 1667.0),
    ("main_cub_cars", "cub", "test/R@4", 19, 1649.9),
    ("main_cub_cars", "cub", "test/R@8", 13, 1194.7),
    ("main_cub_cars", "cub", "test/mAP", 9, 330.8),
    ("main_cub_cars", "cars", "test/R@1", 22, 1939.7),
    ("main_cub_cars", "cars", "test/R@2", 21, 1954.1),
    ("main_cub_cars", "cars", "test/R@4", 19, 1820.7),
    ("main_cub_cars", "cars", "test/R@8", 13, 1268.3),
    ("main_cub_cars", "cars", "test/mAP", 9, 356.4),
    ("main_sop", "sop", "test/R@1", 22, 1773.6),
    ("main_sop", "sop", "test/R@10", 21, 1922.5),
    ("main_sop", "sop", "test/R@100", 19, 1832.2),
    ("main_sop", "sop", "test/R@1000", 9, 888.4),
    ("main_256", "cub", "test/R@1", 10, 669.0),
    ("main_256", "cub", "test/R@8", 10, 909.3),
    ("main_256", "cars", "test/R@1", 10, 831.0),
    ("main_256", "cars", "test/R@4", 10, 932.6),
    ("main_256", "sop", "test/R@1", 10, 813.1),
    ("main_256", "sop", "test/R@100", 10, 964.0),
    ("main_256", "inat", "test/R@1", 8, 335.0),
    ("main_256", "inat", "test/R@32", 8, 667.8),
    ("average_precision", "cub", "test/mAP", 8, 295.0),
    ("average_precision", "cars", "test/mAP@R", 8, 226.2),
    ("average_precision", "sop", "test/mAP", 8, 501.8),
    ("average_precision", "inat", "test/mAP@R", 8, 87.5),
    ("inshop", "inshop", "test/R@1", 10, 896.5),
    ("inshop", "inshop", "test/R@10", 10, 975.5),
    ("inshop", "inshop", "test/R@40", 9, 890.1),
    ("inshop", "inshop", "test/R@50", 8, 791.8),
    ("gradient_correction", "cub", "train/R@1", 2, 179.9),
    ("gradient_correction", "cub", "test/R@1", 2, 136.8),
    ("ablation", "sop", "test/R@1", 16, 1235.95),
    ("regularizer", "cars", "test/mAP", 19, 743.2),
    ("regularizer", "cars", "test/R@1", 19, 1607.8),
    ("regularizer", "sop", "test/mAP@R", 19, 1074.9),
    ("regularizer", "inat", "test/R@1", 19, 821.1),
    ("hierarchy", "cub", "test/mAP/mid", 7, 376.8),
    ("hierarchy", "cub", "test/mAP/coarse", 7, 615.6),
    ("hierarchy", "cars", "test/mAP/coarse", 7, 280.0),
    ("hierarchy", "sop", "test/mAP/coarse", 7, 101.9),
    ("reranking", "cub", "rerank16/R@1", 7, 482.3),
    ("reranking", "cars", "rerank32/R@1", 7, 613.7),
    ("reranking", "sop", "rerank4/R@1", 7, 570.0),
]
SPREADS = [
    ("main_256", "cub", "test/R@1", 3.9),
    ("main_256", "cars", "test/R@1", 4.0),
    ("average_precision", "cars", "test/mAP", 3.3),
]


@pytest.mark.parametrize(("table", "dataset", "metric", "rows", "total"), TOTALS)
def test_no_published_number_is_mistyped_or_lost(table, dataset, metric, rows, total):
    frame = published.load(table, dataset=dataset, metric=metric)
    assert len(frame) == rows
    assert frame["value"].sum() == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize(("table", "dataset", "metric", "total"), SPREADS)
def test_published_spreads_add_up(table, dataset, metric, total):
    assert published.load(table, dataset=dataset, metric=metric)["spread"].sum() == pytest.approx(total)


def test_single_values_stand_where_the_paper_has_them():
    def one(*args, **filters):
        frame = published.load(*args, **filters)
        assert len(frame) == 1
        return frame["value"].iloc[0]

    def r1(table, dataset, method, **filters):
        return one(table, dataset=dataset, method=method, metric="test/R@1", **filters)

    assert r1("main_cub_cars", "cub", "contextual", variant="embedding_dim=1536") == 72.7
    assert r1("main_cub_cars", "cars", "multi_similarity_miner") == 90.5
    assert r1("main_256", "inat", "roadmap") == 45.9
    assert r1("regularizer", "cars", "triplet", variant="s_tilde=0.25") == 87.8
    assert r1("regularizer", "sop", "triplet", variant="s_tilde=none") == 82.0
    assert r1("reranking", "sop", "contextual") == 82.7


def test_a_dagger_means_reproduced_in_the_main_tables_and_copied_in_the_appendix():
    anchor = published.load("main_cub_cars", dataset="cub", method="proxy_anchor", metric="test/R@1")
    assert dict(zip(anchor["provenance"], anchor["value"], strict=True)) == {"copied": 69.7, "reproduced": 69.1}
    appendix = published.load("inshop", metric="test/R@1").set_index("method")["provenance"]
    assert appendix["normalized_softmax"] == "copied"
    assert appendix["contrastive"] == "reproduced"


def test_no_two_published_numbers_compete_for_one_cell():
    keys = ["table", "dataset", "method", "variant", "metric", "provenance"]
    assert not published.load().duplicated(keys).any()


def test_ten_tables_and_a_hint_for_an_unknown_one():
    assert len(published.names()) == 10
    with pytest.raises(UserError, match="did you mean 'main_256'"):
        published.load("main_265")
