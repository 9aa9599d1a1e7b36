"""What a user would lose if a typo in a study were found on the cluster: the night."""

import pytest
from desk import STUDY, Desk

import baselines
from benchmark.errors import UserError
from benchmark.planning import plan as planner
from benchmark.planning import study


@pytest.fixture
def load(tmp_path):
    def load(text: str = STUDY, scale: str = "quick", *overrides: str, **only):
        path = tmp_path / "small.toml"
        path.write_text(text)
        return study.load(str(path), scale, overrides, **only)

    return load


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("seeds = 2", "sedes = 2"), ["sedes", "seeds"]),
        (('"triplet"', '"tripplet"'), ["tripplet", "triplet", "list methods"]),
        (('["glyphs"]', '["glyps"]'), ["glyps", "glyphs"]),
        (('setting = "glyphs"', 'setting = "glyph"'), ["setting", "glyphs"]),
        (('"validation"]', '"valid"]'), ["valid", "validation"]),
        (("trials = 4", "trails = 4"), ["trails", "trials", "[tuning]"]),
        (("trials = 4", "trials = 0"), ["tuning.trials", "0"]),
        (("[1e-4, 3e-2]", "[3e-2, 1e-4]"), ["tuning.lr"]),
        (("[tuning]", "[fields]\nepoch = 3\n[tuning]"), ["epoch", "epochs", "list fields"]),
        (("[tuning]", "[fields]\nepochs = 'many'\n[tuning]"), ["epochs", "many"]),
        (("[tuning]", "[fields]\npooling = 'maxx'\n[tuning]"), ["maxx", "max"]),
        (("[tuning]", "[params.triplet]\nmargn = 1\n[tuning]"), ["margn", "margin"]),
        (("[tuning]", "[vary]\nlabel_nose = [0.1]\n[tuning]"), ["label_nose", "label_noise"]),
        (("[tuning]", "[vary]\nlabel_noise = 0.1\n[tuning]"), ["label_noise", "list"]),
        (("[tuning]", "[vary]\nlr = [0.1]\n[tuning]"), ["lr", "vary", "tuning"]),
        (("[tuning]", "[scale.quik]\nseeds = 1\n[tuning]"), ["quik", "quick"]),
        (("[tuning]", "[scale.paper]\nseds = 1\n[tuning]"), ["seds", "seeds"]),
        (('title = "A small study"', ""), ["title", "missing"]),
        (("[tuning]", "[tuning"), ["line"]),
        (("seeds = 2", "seeds = 2.5"), ["seeds", "2.5"]),
        (('["contrastive", "triplet", "untrained"]', '["triplet", "triplet"]'), ["triplet", "twice"]),
    ],
)
def test_mistakes_are_named_with_file_key_and_nearest_valid_key(load, change: tuple[str, str], named: list[str]):
    assert change[0] in STUDY
    with pytest.raises(UserError) as caught:
        planner.families(load(STUDY.replace(*change, 1)))
    message = str(caught.value)
    assert "\n" not in message
    for word in ["small.toml", *named]:
        assert word in message


def test_a_scale_is_laid_over_the_study(load):
    text = STUDY + "\n[scale.paper]\nseeds = 9\n[scale.paper.tuning]\ntrials = 12\n[scale.quick]\ntuning = false\n"
    assert (load(text, "paper").seeds, load(text, "paper").tuning.trials) == (9, 12)
    assert load(text, "paper").tuning.lr == (1e-4, 3e-2)
    assert load(text, "laptop").tuning.trials == 4
    assert load(text, "quick").tuning is None


def test_overrides_from_the_command_line(load):
    changed = load(STUDY, "quick", "seeds=7", "tuning.trials=3", "epochs=2", "pooling=max", 'methods=["triplet"]')
    assert (changed.seeds, changed.tuning.trials, changed.methods) == (7, 3, ("triplet",))
    assert changed.fields == {"epochs": 2, "pooling": "max"}
    assert load(STUDY, "quick", "setting=256", 'datasets=["cub"]').setting == "256"  # a name, not a number
    for wrong in ("sedes=3", "seeds", "seeds=x", "tuning.trails=3"):
        with pytest.raises(UserError):
            load(STUDY, "quick", wrong)


@pytest.mark.parametrize("word", ["all", "paper", "copied", "since"])
def test_a_word_stands_for_a_group_of_methods(load, word):
    assert list(load(STUDY, "quick", f"methods={word}").methods) == baselines.groups()[word]
    mixed = load(STUDY, "quick", f'methods=["{word}", "hist"]').methods
    assert sorted(mixed) == sorted({*baselines.groups()[word], "hist"})
    with pytest.raises(UserError, match="did you mean 'paper'"):
        load(STUDY, "quick", "methods=papers")


def test_a_study_with_other_methods(load):
    assert load(only_methods=["triplet", "contextual"]).methods == ("triplet", "contextual")
    with pytest.raises(UserError, match="did you mean 'triplet'"):
        load(only_methods=["tripplet"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", "mian"], ["mian", "main", "list studies"]),
        (["plan", "absent/x.toml"], ["absent/x.toml"]),
        (["plan", "small.toml", "--scale", "huge"], ["huge", "quick", "laptop", "paper"]),
        (["rnu"], ["rnu", "run"]),
        (["run", "small.toml", "--shard", "0/3"], ["--shard", "I/N"]),
        (["run", "small.toml", "--executor", "nobody:home"], ["nobody:home"]),
        (["run", "small.toml", "--backend", "dask", "--executor", "stand_in:run"], ["--scheduler"]),
        (["reproduce", "ffff"], ["ffff", "0 stored runs"]),
        (["verify"], ["no finished runs", "python -m benchmark run main --results results"]),
        (["verify", "--sample", "-1"], ["--sample -1", "1 or more"]),
        (["report", "--serve", "--port", "99999"], ["--port 99999", "65535"]),
        (["evaluate", "small.npz"], ["small.npz", "cannot be read"]),
        (["evaluate", "small.parquet"], ["small.parquet", "cannot be read"]),
        (["run", "small.toml", "--retry-faild"], ["--retry-faild", "--retry-failed"]),
        (["run", "small.toml", "--jbos=3"], ["--jbos", "--jobs"]),
        (["run", "small.toml", "--time-limit", "soon"], ["--time-limit", "15m"]),
        (["run", "small.toml", "--backend", "lok"], ["--backend", "loky"]),
        (["plan", "small.toml", "--set", "seed=3"], ["seed", "did you mean 'seeds'"]),
        (["plan", "small.toml", "--set", "epochs=inf"], ["epochs", "inf"]),
        (["plan", "small.toml", "--set", "epochs=nan"], ["epochs", "nan"]),
        (["plan", "small.toml", "--set", "epochs=-1"], ["epochs", "above 0"]),
        (["plan", "small.toml", "--set", "weight_decay=-1"], ["weight_decay", "negative"]),
        (["plan", "small.toml", "--set", "proxy_lr=-1"], ["proxy_lr", "negative"]),
        (["plan", "small.toml", "--jobs", "0"], ["--jobs 0"]),
        (["plan", "small.toml", "--datasets", "./absent.csv"], ["absent.csv", "no such file"]),
        (["plan", "small.toml", "--set", "seeds=2000000"], ["12,000,024 runs", "2,000,000 seeds"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(desk: Desk, arguments: list[str], words: list[str]):
    for name in ("small.npz", "small.parquet"):  # damaged files of embeddings
        (desk.folder / name).write_bytes(b"PK\x03\x04 and then nothing")
    done = desk.call(*arguments)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_a_spec_names_the_later_regulariser_only_where_it_is_used(load):
    """Else every run_id that was stored before it existed would change."""
    plain = planner.resolved(load(), "glyphs", "triplet", "test", {})
    used = planner.resolved(load(), "glyphs", "triplet", "test", {"params.tcm": 1})
    assert not set(plain.params) & set(baselines.LATER)
    assert used.params == {**plain.params, "tcm": 1.0}
