"""The reality check: every method once, with what it costs, what is claimed and what it gets, in a table and a figure."""

import pytest
from figure_factory import rehearse

import baselines
from plots.catalogue import entries
from plots.data import Results
from plots.tables import published
from plots.tables._table import shown


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("reality")
    rehearse(root, "reality_check", lost=lambda spec: spec.method == "hist" and spec.protocol == "validation")
    return Results(root, "quick")


@pytest.fixture(scope="module")
def table(results):
    (made,) = entries(["table"])[0]["reality_check"].produce(results)
    return made


def test_every_method_is_a_row_and_every_claim_is_shown(table):
    ours, only = table.sections
    assert sorted(row.keys["method"] for row in ours.rows) == baselines.names()
    assert {row.keys["method"] for row in only.rows} == {"drml", "diml", "diva", "mhgl", "proxy_anchor_avsl"}
    assert all(row.notes for row in only.rows)  # the reason why it is not trained
    rows = {row.keys["method"]: row for row in table.rows()}
    for claim in published.claimed().to_dict("records"):
        assert rows[claim["method"]].cells[f"claimed {claim['dataset']}"].text.startswith(f"{claim['value']} (")
    assert rows["hist"].cells["claimed cub"].text == "71.4 (R50, 512)"
    assert rows["drml"].cells["claimed cars"].text == "86.9 (BN-Inception, 512)"


def test_rows_say_what_a_method_is_and_costs(table):
    rows = {row.keys["method"]: row for row in table.rows()}
    column = {column.key: column for column in table.columns}

    def text(method, key):
        return shown(rows[method].cells[key], column[key])

    assert (text("ibc", "group"), text("ibc", "year"), text("ibc", "step")) == ("copied", "2021", "2.00")
    assert (text("contrastive", "step"), text("happier", "group")) == ("1.00", "since")
    assert text("ibc", "parameters") == "21"
    assert "±" in text("ibc", "validation")
    assert rows["hist"].cells["validation"].missing
    assert rows["hist"].cells["test"].value > 0


def test_the_best_comes_first_under_the_protocol_that_does_not_look(table):
    means = [row.cells["validation"].value for row in table.sections[0].rows]
    known = [mean for mean in means if mean is not None]
    assert known == sorted(known, reverse=True)
    assert table.sections[0].rows[0].cells["validation"].best


def test_claims_have_a_source_a_backbone_and_no_equal():
    claims = published.claimed()
    assert (claims["source"] != "").all()
    assert (claims["backbone"] != "").all()
    assert not claims.duplicated(["dataset", "method"]).any()
    trained = set(claims[~claims["note"].str.startswith("published only")]["method"])
    assert trained <= set(baselines.names())


def test_the_figure_orders_all_methods_and_says_how_year_and_mean_go_together(results):
    drawing = entries(["figure"])[0]["newer_is_better"].produce(results)
    ranking = drawing.figure.axes[0]
    labels = [label.get_text() for label in ranking.get_yticklabels()]
    assert len(labels) == len(baselines.names()) - 1  # one has no finished run under this protocol
    assert any(label.startswith("IBC") and label.endswith("2021") for label in labels)
    assert "rank correlation of year and mean over 36 methods" in drawing.caption
    assert "protocol validation" in drawing.caption
