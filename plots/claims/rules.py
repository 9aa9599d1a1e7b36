"""Each claim of the paper, and what it asks of stored results: fixed before looking, the same in every regime.

A rule turns the runs of a study into contrasts, in points by seed, that the claim says lie above zero (or, with a
margin, near zero). The words follow from their intervals (`evidence.py`).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from plots import style
from plots.claims.evidence import OURS, Contrasts, Evidence, by_method, by_seed
from plots.stats import slopes
from plots.tables.layouts import ABLATIONS
from plots.tables.robustness_slopes import disturbed

TEST, TRAIN, LAM = "test/R@1", "train/R@1", "params.lam"
COARSEST = {"glyphs": "script", "cub": "order", "cars": "body", "sop": "category"}
COMPARISONS = ("main", "inshop", "reality_check", "fine_tuning")  # in which methods meet, by regime
CONVERGED = 99.0  # percent of training images whose nearest neighbour is of their class
Rule = Callable[[Evidence], Contrasts]


@dataclass(frozen=True)
class Claim:
    name: str
    text: str
    rule: str  # in words, for the page
    contrasts: Rule
    margin: float | None = None  # points within which contrasts lie; none: they lie above zero
    differs: str = ""  # what may lie behind regimes that disagree


CLAIMS: list[Claim] = []  # in the order of the page


def claim(text: str, margin: float | None = None, differs: str = "") -> Callable[[Rule], Rule]:
    """Makes a claim of a rule, whose docstring says what the contrasts are."""

    def add(rule: Rule) -> Rule:
        CLAIMS.append(Claim(rule.__name__, text, rule.__doc__ or "", rule, margin, differs))
        return rule

    return add


def _ahead(scores: dict[str, pd.Series]) -> Contrasts:
    """The contextual loss minus each other method."""
    return {style.title(name): scores[OURS] - of_name for name, of_name in scores.items() if name != OURS}


def _gained(after: dict[str, pd.Series], before: dict[str, pd.Series]) -> Contrasts:
    return {style.title(name): after[name] - before[name] for name in after if name in before}


@claim(
    "The contextual loss has the best R@1.",
    differs="Regimes differ in what is trained (a whole network, a linear head) and in how near R@1 is to its ceiling.",
)
def best(evidence: Evidence) -> Contrasts:
    """Test R@1 of the contextual loss minus that of each other method of the paper."""
    return _ahead(by_method(evidence.runs(*COMPARISONS)))


@claim(
    "It overfits less than other losses.",
    differs="A head on frozen features has little to overfit with; a network from scratch has much.",
)
def overfitting(evidence: Evidence) -> Contrasts:
    """Train minus test R@1 of each other method, minus that of the contextual loss."""
    runs = evidence.runs(*COMPARISONS)
    test, train = by_method(runs), by_method(runs, TRAIN)
    return _ahead({name: test[name] - train[name] for name in test})


def _less_lost(evidence: Evidence, field: str) -> Contrasts:
    for disturbance, _, scores in disturbed(evidence.runs("robustness")):
        if disturbance.field == field and OURS in scores:
            return _ahead({name: slopes(levels, disturbance.per) for name, levels in scores.items()})
    return {}


@claim("It is more robust to label noise (λ = 1).", differs="On frozen features a wrong label only bends the head.")
def label_noise(evidence: Evidence) -> Contrasts:
    """Points of R@1 that each other method loses per 10 % of random labels, minus those that it loses."""
    return _less_lost(evidence, "label_noise")


@claim(
    "It is more robust to image noise (λ = 1).",
    differs="The foreign images differ: symbols and digits among letters, cars among birds.",
)
def image_noise(evidence: Evidence) -> Contrasts:
    """The same per 10 % of training images replaced by images of no class."""
    return _less_lost(evidence, "image_noise")


@claim("It is more robust to less data (λ = 1).")
def less_data(evidence: Evidence) -> Contrasts:
    """The same per 10 training classes withheld."""
    return _less_lost(evidence, "train_classes")


@claim(
    "Both terms are needed: the best λ lies between 0 and 1.",
    differs="How much the contrastive term can do alone depends on what the network knows before training.",
)
def both_terms(evidence: Evidence) -> Contrasts:
    """R@1 at λ = 0.8, γ = 0, minus R@1 at λ = 0 and at λ = 1."""
    runs = evidence.runs("lambda_overfitting", "ablation_lambda_gamma")
    runs = runs[runs["params.gamma"] == 0]
    mixed = by_seed(runs[runs[LAM] == 0.8])
    return {f"λ = {lam}": mixed - by_seed(runs[runs[LAM] == lam]) for lam in (0, 1)}


@claim("“Wrong” gradients help: correcting them raises train and lowers test R@1.")
def gradients(evidence: Evidence) -> Contrasts:
    """What correction changes in train R@1, and in test R@1 with its sign turned."""
    runs = evidence.runs("gradient_correction")
    whole, corrected = (runs[runs["params.variant"] == name] for name in ("full", "gradient_correction"))
    return {
        "train R@1": by_seed(corrected, TRAIN) - by_seed(whole, TRAIN),
        "test R@1": by_seed(whole) - by_seed(corrected),
    }


@claim("Every step of the loss is needed.")
def steps(evidence: Evidence) -> Contrasts:
    """R@1 of L_context (λ = 1, γ = 0) minus that of each variant."""
    runs = evidence.runs("ablation")
    alone = runs[runs[LAM] == 1]
    found = {name: by_seed(alone[alone["params.variant"] == name]) for name in ABLATIONS}
    return {title: found["full"] - found[name] for name, title in ABLATIONS.items() if name != "full"}


@claim("Without M₋ the embedding space shrinks.")
def shrinking(evidence: Evidence) -> Contrasts:
    """Mean distance between test images of two classes with M₋, minus without."""
    variants = evidence.runs("distance_distributions").groupby("params.variant")
    distance = {variant: _read(part, "histograms", _distance) for variant, part in variants}
    return {"distance × 100": 100 * (distance["full"] - distance["no_m_minus"])}


def _read(runs: pd.DataFrame, column: str, measure: Callable[[str], float]) -> pd.Series:
    """What `measure` finds in a text that each run keeps, by seed."""
    return pd.Series({seed: measure(text) for seed, text in zip(runs["seed"], runs[column], strict=True)})


def _distance(text: str) -> float:
    """Mean distance between two test images of different classes."""
    told = json.loads(text or "{}")
    if not told:
        return float("nan")
    edges, counts = np.asarray(told["edges"]), np.asarray(told["negative"])
    return float(((edges[1:] + edges[:-1]) / 2 * counts).sum() / counts.sum())


@claim("The similarity regulariser helps other losses.")
def regulariser(evidence: Evidence) -> Contrasts:
    """R@1 with the regulariser at s̃ = 0.25 minus without, for each other loss."""
    runs = evidence.runs("regularizer")
    runs = runs[runs["method"] != OURS]
    changed = runs[(runs["params.gamma"] > 0) & (runs["params.s_tilde"] == 0.25)]
    return _gained(by_method(changed), by_method(runs[runs["params.gamma"] == 0]))


@claim("ε, γ and s̃ hardly matter.", margin=1.0)
def insensitive(evidence: Evidence) -> Contrasts:
    """R@1 at each other value minus R@1 at the published ones: within ± 1 point."""
    runs = evidence.runs("hyperparameters")
    names = {"params.eps": "ε", "params.gamma": "γ", "params.s_tilde": "s̃"}
    usual = {key: runs[key].mode().iloc[0] for key in names}  # each is at it while the others vary
    published = by_seed(runs[(runs[list(names)] == [usual[key] for key in names]).all(axis=1)])
    return {
        f"{symbol} = {value:g}": by_seed(runs[runs[key] == value]) - published
        for key, symbol in names.items()
        for value in sorted(set(runs[key]) - {usual[key]})
    }


@claim("Optimising L_context optimises ranking: it falls as mAP rises.")
def ranking(evidence: Evidence) -> Contrasts:
    """Rank correlation × 100 of −L_context and mAP on training data over each run, at each λ."""
    return {
        f"λ = {lam:g}": 100 * _read(part, "curve", _agreement)
        for lam, part in evidence.runs("convergence").groupby(LAM)
    }


def _agreement(text: str) -> float:
    """Rank correlation over the evaluations of a run: the lower L_context, the higher mAP."""
    points = pd.DataFrame(json.loads(text or "[]"))
    if not {"train/L_context", "train/mAP"} <= set(points):
        return float("nan")
    ranks = points[["train/L_context", "train/mAP"]].dropna().rank()
    return -float(ranks.corr().iloc[0, 1])


def _ends(runs: pd.DataFrame) -> pd.Series:
    """Train R@1 after the last step, in percent by seed."""
    last = [json.loads(text or "[]")[-1].get(TRAIN) for text in runs["curve"]]
    return by_seed(runs.assign(last=pd.to_numeric(pd.Series(last, runs.index))), "last")


@claim("With the whole set as one batch it converges to the right ranking.")
def whole_set(evidence: Evidence) -> Contrasts:
    """Train R@1 after the last step at λ = 1, minus 99 %."""
    runs = evidence.runs("decomposability")
    whole = runs[(runs["batch_size"] == runs["batch_size"].max()) & (runs[LAM] == 1)]
    return {"train R@1": _ends(whole) - CONVERGED}


@claim(
    "Small batches leave a gap that the contrastive term closes.",
    differs="Of birds 25 classes are trained on, which the head learns to the end even in the smallest batches.",
)
def decomposability(evidence: Evidence) -> Contrasts:
    """Train R@1 at λ = 1, whole set minus smallest batch; in that batch, each λ between 0 and 1 minus λ = 1."""
    runs = evidence.runs("decomposability")
    sizes = runs["batch_size"]
    small, large = runs[sizes == sizes.min()], runs[sizes == sizes.max()]
    alone = _ends(small[small[LAM] == 1])
    mixed = sorted(set(small[LAM]) - {0.0, 1.0})
    found = {f"λ = {lam:g}": _ends(small[small[LAM] == lam]) - alone for lam in mixed}
    return {"whole set": _ends(large[large[LAM] == 1]) - alone} | found


@claim("AP surrogates mixed with the contrastive loss in the same way stay behind.")
def surrogates(evidence: Evidence) -> Contrasts:
    """R@1 of the contextual loss minus that of each surrogate, each at its best λ, rate and margin."""
    at_best = {}
    for name, part in evidence.runs("ap_surrogates").groupby("method"):
        settings = dict(iter(part.groupby([LAM, "lr", "params.pos_margin"])))
        at_best[str(name)] = by_seed(max(settings.values(), key=lambda rows: rows[TEST].mean()))
    return _ahead(at_best)


@claim(
    "It is best at the fine level and behind at the coarsest.",
    differs="Levels differ: scripts are seen in the shape of letters, orders of birds hardly in their photos.",
)
def trade_off(evidence: Evidence) -> Contrasts:
    """Fine R@1 minus the best other method's; coarsest AP of the best other method minus its own."""
    runs = evidence.runs("hierarchy")
    level = COARSEST.get(evidence.regime.dataset, "")
    found = {}
    for metric, sign, words in ((TEST, 1, "fine R@1, ahead of"), (f"test/mAP/{level}", -1, f"{level} AP, behind")):
        scores = by_method(runs, metric)
        ours = scores.pop(OURS)
        if not scores:  # of the others only trials are finished
            continue
        top = max(scores, key=lambda name: scores[name].mean())
        found[f"{words} {style.title(top)}"] = sign * (ours - scores[top])
    return found


@claim("Contextual re-ranking helps every method.")
def reranking(evidence: Evidence) -> Contrasts:
    """R@1 re-ranked (k = 16 on CUB and Cars, else 4) minus R@1, for each method."""
    runs = evidence.runs("reranking", *COMPARISONS)
    k = 16 if evidence.regime.dataset in ("cub", "cars") else 4  # as the paper; 4 where classes are small
    return _gained(by_method(runs, f"rerank{k}/R@1"), by_method(runs))


@claim("Beyond the paper: choosing rate and epoch on the test set flatters every method.")
def selection(evidence: Evidence) -> Contrasts:
    """R@1 under protocol test minus R@1 under protocol validation, for each method."""
    chosen, honest = (by_method(evidence.runs(*COMPARISONS, protocol=p)) for p in ("test", "validation"))
    return _gained(chosen, honest)
