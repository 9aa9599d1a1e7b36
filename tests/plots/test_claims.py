"""The rules of the claims, on made-up results in which each claim is true, false and open."""

import json
from pathlib import Path

import pytest
from study_factory import as_json, run_row

from benchmark.results.schema import write_file
from benchmark.results.store import Store
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec
from plots.claims.evidence import Regime
from plots.claims.page import findings, page
from plots.claims.rules import CLAIMS

ROOT = Path(__file__).parents[2]
SEEDS = 5
REGIME = Regime("made up", "quick", "glyphs")
RIVALS = ("contrastive", "roadmap")
FULL = {"variant": "full", "lam": 1.0, "gamma": 0.0}


def made_up(root, study, cells, protocols=("test",)):
    """Writes a study: `cells` are (method, params, fields, metrics by protocol and seed, more columns by seed)."""
    ledger, runs = [], []
    for method, params, fields, metrics, more in cells:
        for protocol in protocols:
            for seed in range(SEEDS):
                spec = RunSpec(
                    dataset="glyphs", method=method, protocol=protocol, seed=seed, lr=1e-3, params=params, **fields
                )  # fmt: skip
                runs.append(run_row(spec, "ok", metrics(protocol, seed)) | more(seed))
                ledger.append(
                    {
                        "study": study, "scale": "quick", "dataset": "glyphs", "method": method, "protocol": protocol,
                        "setting": "glyphs", "phase": "final", "variation": as_json(params | fields), "trial": -1,
                        "seed": seed, "lr": 1e-3, "params": as_json(params), "run_id": spec.run_id, "chosen": True,
                        "edge": "", "extended": False, "search": "{}", "trials": 6, "lr_low": 1e-4, "lr_high": 3e-2,
                        "tuned": "{}",
                    }
                )  # fmt: skip
    Store(root).write_ledger(study, "quick", ledger)
    write_file(root / "reference" / f"{study}.parquet", runs, "run")


def cell(method="contextual", params=None, fields=None, test=0.8, train=0.9, more=lambda seed: {}, extra=None):
    """A cell whose scores have the luck of the seed, shared by all, and a little of their own."""

    def metrics(protocol, seed):
        luck = 0.02 * numpy_generator("luck", seed).normal()
        own = 0.002 * numpy_generator("own", method, as_json(params or {}), as_json(fields or {}), seed).normal()
        value = test(protocol) if callable(test) else test
        found = {"test/R@1": value + luck + own, "train/R@1": train + luck + own}
        return found | {name: number + luck + own for name, number in (extra or {}).items()}

    return method, params or {}, fields or {}, metrics, more


def curve(ends, falls=True):
    points = [
        {"epoch": e, "train/R@1": ends * e / 4, "train/mAP": 0.1 * e, "train/L_context": 1 - 0.1 * e * (1 if falls else -1)}
        for e in range(5)
    ]  # fmt: skip
    return {"curve": json.dumps(points)}


def sides(shift, method="contextual", others=RIVALS, **more):
    return [cell(method, test=0.8 + shift, **more), *(cell(name, **more) for name in others)]


def write(root, name, effect):
    """A study in which what the claim says is `effect` above zero: some points, their opposite, or next to nothing."""
    e = effect
    lams = [cell(params=FULL | {"lam": lam}, test=0.8 + e * (lam == 0.8)) for lam in (0.0, 0.8, 1.0)]
    variants = ("step1", "min")
    noisy = {"label_noise": "label_noise", "image_noise": "image_noise", "less_data": "train_classes"}
    if name in ("best",):
        made_up(root, "main", sides(e))
    elif name == "overfitting":
        made_up(root, "main", [cell(train=0.9), *(cell(m, train=0.9 + e) for m in RIVALS)])
    elif name in noisy:
        levels = (100.0, 40.0) if name == "less_data" else (0.0, 0.2)
        made_up(root, "robustness", [
            cell(m, fields={noisy[name]: level}, test=0.8 - (0.1 + (0 if m == "contextual" else e)) * (i > 0))
            for m in ("contextual", *RIVALS) for i, level in enumerate(levels)
        ])  # fmt: skip
    elif name == "both_terms":
        made_up(root, "lambda_overfitting", lams)
    elif name == "gradients":
        corrected = cell(params=FULL | {"variant": "gradient_correction"}, test=0.8 - e, train=0.9 + e)
        made_up(root, "gradient_correction", [cell(params=FULL), corrected])
    elif name == "steps":
        made_up(root, "ablation", [
            cell(params=FULL, test=0.8 + e), *(cell(params=FULL | {"variant": v}) for v in variants)
        ])  # fmt: skip
    elif name == "shrinking":
        made_up(root, "distance_distributions", [
            cell(params=FULL | {"variant": v}, more=lambda seed, at=at: histogram(at, seed))
            for v, at in (("full", 1.0 + e), ("no_m_minus", 1.0))
        ])  # fmt: skip
    elif name == "regulariser":
        made_up(root, "regularizer", [
            cell(m, params={"gamma": g, "s_tilde": 0.25}, test=0.8 + e * (g > 0)) for m in RIVALS for g in (0.0, 0.1)
        ])  # fmt: skip
    elif name == "insensitive":  # true: no effect; false: far beyond the margin; open: around it
        usual = {"eps": 0.05, "gamma": 0.1, "s_tilde": 0.3}
        changed = [usual | {"eps": 0.01}, usual | {"gamma": 0.2}, usual | {"s_tilde": 0.1}]
        gap = {0.05: 0.0, -0.05: 0.05, 0.0: 0.01}[e]
        made_up(root, "hyperparameters", [
            cell(params=usual), *(cell(params=p, test=0.8 + gap) for p in changed)
        ])  # fmt: skip
    elif name == "ranking":
        made_up(root, "convergence", [
            cell(params=FULL, more=lambda seed: curve(0.9, e > 0 or (e == 0 and seed % 2 == 0)))
        ])  # fmt: skip
    elif name in ("whole_set", "decomposability"):
        ends = {(64, 1.0): 0.95, (64, 0.5): 0.95 + e, (600, 1.0): 0.95 + e, (600, 0.5): 0.97}
        if name == "whole_set":
            ends[600, 1.0] = 0.99 + 0.2 * e
        made_up(root, "decomposability", [
            cell(params=FULL | {"lam": lam}, fields={"batch_size": size},
                 more=lambda seed, key=(size, lam): curve(ends[key] + 0.002 * (seed - 2) * (1 + key[0] % 3 + key[1])))
            for size, lam in ends
        ])  # fmt: skip
    elif name == "surrogates":
        made_up(root, "ap_surrogates", sides(e, others=("roadmap",), params=FULL | {"pos_margin": 0.75}))
    elif name == "trade_off":
        top = cell(test=0.8 + e, extra={"test/mAP/script": 0.5 - e})
        made_up(root, "hierarchy", [top, *(cell(m, extra={"test/mAP/script": 0.5}) for m in RIVALS)])
    elif name == "reranking":
        made_up(root, "reranking", [
            cell(m, extra={"rerank4/R@1": 0.8 + e + 0.004 * i}) for i, m in enumerate(("contextual", *RIVALS))
        ] if e else [cell(m, more=lambda seed: {}, extra={"rerank4/R@1": 0.8}) for m in ("contextual",)])  # fmt: skip
    elif name == "selection":
        made_up(root, "main", [
            cell(m, test=lambda protocol: 0.8 + e * (protocol == "test")) for m in ("contextual", *RIVALS)
        ], protocols=("test", "validation"))  # fmt: skip
    else:
        raise AssertionError(f"no made-up results for the claim {name!r}")


def histogram(at, seed):
    edges = [0.05 * i for i in range(41)]
    centre = at + 0.01 * numpy_generator("distance", at, seed).normal()
    counts = [1000.0 * max(0.0, 1 - abs(low + 0.025 - centre) / 0.2) for low in edges[:-1]]
    return {"histograms": json.dumps({"edges": edges, "positive": counts, "negative": counts})}


@pytest.mark.parametrize("name", [claim.name for claim in CLAIMS])
@pytest.mark.parametrize(("effect", "word"), [(0.05, "supported"), (-0.05, "not seen here"), (0.0, "undecided")])
def test_a_claim_that_is_true_false_or_open_is_called_so(name, effect, word, tmp_path):
    write(tmp_path, name, effect)
    found = findings(tmp_path, (REGIME,))[name, REGIME.title]
    assert found.word == word, found.contrasts


def test_only_the_papers_own_setting_can_contradict_it(tmp_path):
    write(tmp_path, "best", -0.05)
    own = Regime("the paper's", "quick", "glyphs", papers=True)
    assert findings(tmp_path, (own,))["best", own.title].word == "contradicted"


def test_other_data_and_lanes_say_nothing(tmp_path):
    write(tmp_path, "best", 0.05)
    others = (Regime("a", "quick", "cub"), Regime("b", "quick", "glyphs", "frozen"), Regime("c", "laptop", "glyphs"))
    assert {finding.word for finding in findings(tmp_path, others).values()} == {"not run"}


def test_a_study_whose_runs_all_diverged_was_not_run(tmp_path):
    made_up(tmp_path, "gradient_correction", [cell(more=lambda seed: {"status": "diverged"})])
    assert {found.word for found in findings(tmp_path, (REGIME,)).values()} == {"not run"}


def test_a_study_of_which_nothing_but_the_untrained_row_is_finished_says_nothing_yet(tmp_path):
    for study in ("main", "hierarchy", "reranking"):
        made_up(tmp_path, study, [cell("untrained", extra={"test/mAP/script": 0.5, "rerank4/R@1": 0.8})])
    assert {found.word for found in findings(tmp_path, (REGIME,)).values()} == {"not run"}


def test_the_committed_page_is_what_the_committed_results_give(tmp_path):
    text = page(ROOT / "results")
    assert (ROOT / "CLAIMS.md").read_text(encoding="utf-8") == text, "python -m plots claims"
    assert len([line for line in text.splitlines() if line.startswith("| **")]) == len(CLAIMS)


def test_the_last_stage_has_a_column_as_soon_as_its_study_has_run(tmp_path):
    regime = Regime("last stage", "quick", "glyphs", "stage")
    frozen = [cell(name, fields={"lane": "frozen"}) for name in ("contextual", *RIVALS)]
    made_up(tmp_path, "main", frozen)
    assert findings(tmp_path, (regime,))["best", "last stage"].word == "not run"
    stage = {"lane": "stage", "trainable": "layer4"}
    made_up(tmp_path, "fine_tuning", [cell(name, fields=stage) for name in ("contextual", *RIVALS)])
    found = findings(tmp_path, (regime,))
    assert len(found["best", "last stage"].contrasts) == len(RIVALS)
    assert found["label_noise", "last stage"].word == "not run"
