"""What a user would lose: a number that depends on what ran before, or a silent one where training broke."""

import json
import subprocess
import sys

import pytest
import torch

import benchmark.training.trainer
from benchmark.errors import UserError
from benchmark.spec import RunSpec
from benchmark.training.run import run

TINY = {
    "dataset": "glyphs",
    "train_classes": 12,
    "test_classes": 12,
    "layer_norm": True,
    "batch_size": 16,
    "batches_per_epoch": 4,
    "epochs": 2,
    "lr": 3e-3,
}


def spec(method="contextual", **fields):
    return RunSpec(**(TINY | {"method": method} | fields))


def numbers(result):
    return {key: result[key] for key in ("status", "metrics", "curve", "score", "best_epoch", "histograms")}


@pytest.mark.parametrize("method", ["contextual", "triplet", "proxy_anchor"])
def test_the_same_spec_gives_the_same_bits_whatever_ran_before_it(method, data):
    first = run(spec(method), data=data)
    torch.rand(7)
    run(spec("contrastive", seed=5), data=data)
    assert numbers(run(spec(method), data=data)) == numbers(first)


def test_a_final_run_keeps_what_it_found_for_the_same_queries_whatever_the_method_and_seed(data):
    kept = [run(spec(m, seed=s), data=data)["retrieved"] for m, s in (("triplet", 0), ("contrastive", 1))]
    assert kept[0]["queries"] == kept[1]["queries"]
    for told in kept:
        for query, found, cosine in zip(told["queries"], told["found"], told["cosine"], strict=True):
            assert query not in found
            assert len(set(found)) == len(found) == 10
            assert cosine == sorted(cosine, reverse=True)
            assert all(str(image) in told["labels"] for image in (query, *found))
    nearest = [
        told["labels"][str(f[0])][0] == told["labels"][str(q)][0]
        for q, f in zip(told["queries"], told["found"], strict=True)
    ]
    full = run(spec("contrastive", seed=1), data=data)["metrics"]["test/R@1"]
    assert abs(sum(nearest) / len(nearest) - full) < 0.15, "a sample of the queries that R@1 is over"
    assert not run(spec("triplet", phase="tune"), data=data)["retrieved"]


def test_another_process_gives_the_same_bits(data):
    code = (
        "import json, sys; from pathlib import Path; from benchmark.training.run import run; from benchmark.spec import RunSpec;"
        "r = run(RunSpec.from_json(sys.argv[1]), data=Path(sys.argv[2]));"
        "print(json.dumps([r['metrics'], r['curve'], r['score']]))"
    )
    command = [sys.executable, "-c", code, spec().canonical(), str(data)]
    printed = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]  # beside each other
    here = run(spec(), data=data)
    for process in printed:
        out, _ = process.communicate()
        assert json.loads(out) == json.loads(json.dumps([here["metrics"], here["curve"], here["score"]]))


def test_training_improves_on_the_untrained_network_and_keeps_the_curve(data):
    fields = {"train_classes": 60, "test_classes": 60, "batch_size": 64, "batches_per_epoch": 15}
    trained = run(spec("multi_similarity_miner", **fields), data=data)
    untrained = run(spec("untrained", **fields), data=data)
    assert trained["metrics"]["test/R@1"] > untrained["metrics"]["test/R@1"] + 0.05
    assert [point["epoch"] for point in trained["curve"]] == [0, 1, 2]
    assert untrained["best_epoch"] == 0
    assert trained["metrics"]["test/R@1"] == max(p["test/R@1"] for p in trained["curve"][1:]) == trained["score"]
    assert trained["metrics"]["data/ceiling R@1"] <= 1


def test_every_method_sees_the_same_batches_and_starts_from_the_same_weights(data):
    starts = [run(spec(method, epochs=1), data=data)["curve"][0] for method in ("contextual", "proxy_nca")]
    assert starts[0] == starts[1]


def test_a_loss_that_is_not_finite_ends_the_run_as_diverged(data):
    result = run(spec("contrastive", lr=1e30), data=data)
    assert result["status"] == "diverged"
    assert result["metrics"] == {}
    assert result["score"] is None
    assert "epoch" in result["error"]


def test_a_collapsed_embedding_ends_the_run_as_diverged(data, monkeypatch):
    monkeypatch.setattr(benchmark.training.trainer, "COLLAPSED", -1.0)
    result = run(spec("contrastive"), data=data)
    assert (result["status"], result["metrics"]) == ("diverged", {})
    assert "one point" in result["error"]


def test_choosing_on_held_out_classes_looks_at_the_test_set_once(data):
    final = run(spec(protocol="validation", train_classes=20), data=data)
    assert all("test/R@1" not in point for point in final["curve"])
    assert final["score"] == final["metrics"]["val/R@1"]
    assert "test/R@1" in final["metrics"]
    trial = run(spec(protocol="validation", train_classes=20, phase="tune"), data=data)
    assert not any(name.startswith("test/") for name in trial["metrics"])


def test_a_trial_is_judged_by_its_score_alone_and_every_run_says_how_often_it_looked(data):
    trial, final = (run(spec(epochs=4, evaluate_every=2, phase=phase), data=data) for phase in ("tune", "final"))
    assert [point["epoch"] for point in trial["curve"]] == [2, 4]
    assert not any(name.startswith("train/") for point in trial["curve"] for name in point)
    assert {n: v for n, v in trial["metrics"].items() if "loss" not in n} == {"test/R@1": trial["score"]}
    assert [point["epoch"] for point in final["curve"]] == [0, 2, 4]
    assert trial["looks"] == final["looks"] == 2
    assert run(spec("untrained"), data=data)["looks"] == 1


@pytest.mark.parametrize("method", ["contextual", "triplet", "s2sd", "ibc", "happier"])  # with draws, buffers, levels
def test_an_interrupted_run_ends_with_the_numbers_of_an_uninterrupted_one(method, data, tmp_path, monkeypatch):
    whole = run(spec(method, epochs=3), data=data)
    monkeypatch.setattr(benchmark.training.trainer, "EVERY", 0.0)
    path = tmp_path / "checkpoint.pt"

    class Stop(Exception):
        pass

    save = benchmark.training.trainer.Checkpoint.save

    def save_then_stop(self, outcome, epoch):
        save(self, outcome, epoch)
        if epoch == 2:
            raise Stop

    monkeypatch.setattr(benchmark.training.trainer.Checkpoint, "save", save_then_stop)
    with pytest.raises(Stop):
        run(spec(method, epochs=3), data=data, checkpoint=path)
    monkeypatch.setattr(benchmark.training.trainer.Checkpoint, "save", save)
    assert path.exists()
    assert numbers(run(spec(method, epochs=3), data=data, checkpoint=path)) == numbers(whole)
    assert not path.exists()


def test_a_damaged_checkpoint_costs_time_not_numbers(data, tmp_path):
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(b"half a file")
    assert numbers(run(spec(), data=data, checkpoint=path)) == numbers(run(spec(), data=data))


def test_warm_up_leaves_the_backbone_as_it_was(data):
    warm = run(spec("proxy_anchor", warm_epochs=2, batch_norm="frozen"), data=data)
    cold = run(spec("proxy_anchor", warm_epochs=0, batch_norm="frozen"), data=data)
    assert warm["curve"][0] == cold["curve"][0]
    assert warm["curve"][2] != cold["curve"][2]


def test_monitoring_adds_to_the_curve_and_changes_nothing_else(data):
    plain, watched = run(spec(), data=data), run(spec(monitor=True), data=data)
    assert {"train/L_context", "train/mAP"} <= watched["curve"][1].keys()
    for a, b in zip(plain["curve"], watched["curve"], strict=True):
        assert a.items() <= b.items()


FLAT_LOSSES = {
    "constant": lambda f: f.sum() * 0 + 1,
    "a plain number": lambda f: torch.tensor(1.0),
    "detached": lambda f: f.detach().square().mean(),
}


@pytest.mark.parametrize("kind", FLAT_LOSSES)
def test_a_loss_that_teaches_the_network_nothing_is_an_error_that_says_so(kind, data, monkeypatch):
    class Flat(torch.nn.Module):
        def forward(self, f, labels):
            return FLAT_LOSSES[kind](f)

    monkeypatch.setattr("baselines.contrastive.build", lambda **sizes: Flat())
    result = run(spec("contrastive"), data=data)
    assert result["status"] == "error"
    assert result["score"] is None
    assert "no gradient reached the network" in result["error"]


def test_a_result_says_on_what_and_how_exactly_it_was_computed(data):
    result = run(spec("contrastive", precision="amp"), data=data, device="cpu")
    assert (result["device"], result["precision_used"], result["deterministic"]) == ("cpu", "float32", True)
    assert result["preparation"] > 0


def test_a_run_may_be_judged_on_another_data_set_than_it_was_trained_on(data):
    latin, greek = "glyphs?script=latin", "glyphs?script=greek"
    fields = {"dataset": latin, "protocol": "validation", "train_classes": 20}
    home, away = (run(spec(judged_on=name, **fields), data=data) for name in (latin, greek))
    assert home["score"] == away["score"], "the epoch is chosen at home"
    assert home["metrics"]["test/R@1"] != away["metrics"]["test/R@1"]
    scripts = {labels[2] for labels in away["retrieved"]["labels"].values()}
    assert len(scripts) == 1
    assert scripts != {labels[2] for labels in home["retrieved"]["labels"].values()}


def test_the_judged_data_set_is_part_of_a_runs_identity_and_its_own_is_not():
    assert spec(judged_on="cub").run_id != spec().run_id
    assert spec(judged_on=spec().dataset).run_id == spec().run_id


def test_a_final_run_is_judged_among_distractors_up_to_ten_times_the_gallery(data):
    found = run(spec(gallery_distractors="rest", test_classes=10), data=data)["metrics"]
    recall = [found["test/R@1"], *(found[f"distractors{times}/R@1"] for times in (1, 2, 3, 5, 7, 10))]
    assert recall == sorted(recall, reverse=True)
    assert recall[-1] < recall[0]
    with pytest.raises(UserError, match="name more data sets"):
        run(spec(gallery_distractors="rest", test_classes=600), data=data)
    scripts = {
        "judged_on": "glyphs?script=greek",
        "gallery_distractors": "glyphs?script=georgian,glyphs?script=armenian",
    }
    elsewhere = run(spec(test_classes=8, **scripts), data=data)["metrics"]
    assert elsewhere["test/R@1"] >= elsewhere["distractors10/R@1"]
