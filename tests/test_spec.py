"""What a user would lose: the same spec under two names, or two specs under one."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.__main__ import main
from benchmark.errors import UserError
from benchmark.seeds import seed
from benchmark.spec import FIELDS, RunSpec


def test_a_run_id_is_the_same_in_another_process_whatever_the_hash_seed():
    code = "from benchmark.spec import RunSpec; print(RunSpec(dataset='glyphs', params={'lam': 0.4, 'k': 4}).run_id)"
    ids = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hash_seed in ("0", "1")
    }
    assert ids == {RunSpec(dataset="glyphs", params={"k": 4, "lam": 0.4}).run_id}


@given(st.sampled_from(sorted(FIELDS)), st.data())
def test_a_changed_field_is_another_run(name, data):
    spec = RunSpec(dataset="glyphs")
    value = getattr(spec, name)
    other = {
        bool: lambda: not value,
        int: lambda: value + data.draw(st.integers(1, 50)),
        float: lambda: value / 2 + 0.13,
        tuple: lambda: (*value, 7),
        dict: lambda: {"lam": 0.3},
    }.get(type(value))
    if other is None:  # names: only those without a fixed list of choices may be anything
        return
    assert spec.replace(**{name: other()}).run_id != spec.run_id


def test_a_spec_read_back_from_its_json_is_the_same_run():
    spec = RunSpec(
        dataset="glyphs", method="contextual", params={"lam": 0.4, "variant": "full"}, lr_steps=(2, 3), rerank=(4,)
    )
    assert RunSpec.from_json(spec.canonical()) == spec
    named = {f.name for f in dataclasses.fields(RunSpec) if not f.metadata.get("later")}
    assert json.loads(spec.canonical()).keys() == named


def test_whole_numbers_and_fractions_that_are_equal_are_one_run():
    assert (
        RunSpec(dataset="glyphs", lr=1, train_classes=50).run_id
        == RunSpec(dataset="glyphs", lr=1.0, train_classes=50.0).run_id
    )


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("lr", 0, "above 0"),
        ("lr", float("nan"), "finite"),
        ("label_noise", 1.5, r"\[0, 1\]"),
        ("pooling", "gemm", "did you mean 'gem'"),
        ("epochs", 2.5, "type int"),
        ("ks", (), "from 1 on"),
        ("protocol", "train", "choose from|did you mean"),
    ],
)
def test_a_bad_value_is_refused_before_anything_runs(field, value, said):
    with pytest.raises(UserError, match=said):
        RunSpec(**({"dataset": "glyphs"} | {field: value}))


def test_an_unknown_field_names_the_nearest_one():
    with pytest.raises(UserError, match="did you mean 'batch_size'"):
        RunSpec(dataset="glyphs").replace(batchsize=3)


def test_seeds_differ_by_every_name_and_by_where_a_name_ends():
    assert len({seed("a", 1), seed("a", 2), seed("b", 1), seed("a1"), seed("a", "1", ""), seed()}) == 6


def test_the_list_of_fields_says_what_each_means_beside_it(capsys):
    assert main(["list", "fields"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:] if line}
    assert lines["per_class"].endswith("# images of a class in a balanced batch")
    assert "#" not in lines["batch_size"]
