"""The tables that are a `Layout` of a study and no more: who ranks best, and what a part of a loss is worth.

`python -m plots tables --only main` makes one of them from the study of the same name (`studies/main.toml`).
"""

import dataclasses

import pandas as pd

from plots.catalogue import made_from
from plots.data import Results
from plots.tables._cells import Layout, Measure
from plots.tables._comparison import compare
from plots.tables._table import Table

MAP = Measure("test/mAP", "mAP")
MAP_AT_R = Measure("test/mAP@R", "mAP@R")
TRAIN = Measure("train/R@1", "train R@1", ranked=False)
# What the literature reports.
KS = {"sop": (1, 10, 100, 1000), "inat": (1, 4, 16, 32), "inshop": (1, 10, 20, 30, 40, 50)}
ABLATIONS = {
    "step1": "L₁: step 1 only",
    "step1_sigmoid": "L₁ with a sigmoid for θ",
    "no_query_expansion": "L₂: skip step 3",
    "skip_step2": "skip step 2",
    "min": "min for logical and",
    "sigmoid": "a sigmoid for θ in all steps",
    "no_m_minus": "without M₋",
    "no_stop_gradient": "no stop gradient",
    "full": "L_context",
}
# What the paper calls each level. On Cars it says make, but its values fit body types: see the note.
LEVELS = {
    "cub": {"family": "mid", "order": "coarse"},
    "cars": {"make": "", "body": "coarse"},
    "sop": {"category": "coarse"},
}
BODIES = "The paper calls its coarse level make; its values fit body types, so they stand there."


def recalls(*ks: int) -> tuple[Measure, ...]:
    """Columns R@k; the first is shaded, as in the paper."""
    return tuple(Measure(f"test/R@{k}", f"R@{k}", shaded=k == 1) for k in ks)


def usual_recalls(dataset: str) -> tuple[Measure, ...]:
    return recalls(*KS.get(dataset, (1, 2, 4, 8)))


def _everything(dataset: str) -> Layout:
    return Layout(
        (*usual_recalls(dataset), MAP, MAP_AT_R, TRAIN),
        extras=("lr", "tuned", "trials", "seeds"),
        note="Train R@1 is that of the chosen epoch; untrained is the network before training.",
    )


@made_from("main")
def main(frame: pd.DataFrame, results: Results) -> list[Table]:
    """The main table: every method of the study, tuned alike, per data set and selection protocol."""
    return compare("main", frame, results, _everything)


@made_from("fine_tuning")
def fine_tuning(frame: pd.DataFrame, results: Results) -> list[Table]:
    """The same where the network moves: its last stage is trained too, or all of it."""
    return compare("fine_tuning", frame, results, _everything, once=True)


@made_from("main_256")
def main_256(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@k at 256 × 256 on CUB, Cars, SOP and mini-iNaturalist, with intervals (tab:main in the paper)."""

    def layout(dataset: str) -> Layout:
        return Layout(recalls(1, 10, 100) if dataset == "sop" else usual_recalls(dataset))

    return compare("main_256", frame, results, layout, once=True)


@made_from("main_cub_cars")
def main_cub_cars(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1, 2, 4, 8 and mAP on CUB and Cars at embedding sizes 512 and 1536 (tab:main1 in the paper)."""
    layout = Layout((*recalls(1, 2, 4, 8), MAP), sections=("embedding_dim",))
    return compare("main_cub_cars", frame, results, layout, once=True)


@made_from("main_sop")
def main_sop(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1, 10, 100 and 1000 on SOP at embedding sizes 512 and 1536 (tab:main2 in the paper)."""
    return compare("main_sop", frame, results, Layout(usual_recalls("sop"), sections=("embedding_dim",)), once=True)


@made_from("inshop")
def inshop(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1, 10, 20, 30, 40 and 50 on In-Shop, queries against a gallery (tab:inshop-results in the paper)."""
    return compare("inshop", frame, results, Layout(usual_recalls("inshop")), once=True)


@made_from("average_precision")
def average_precision(frame: pd.DataFrame, results: Results) -> list[Table]:
    """mAP and mAP@R of the runs at 256 × 256, with intervals (tab:AP-results in the paper)."""
    return compare("average_precision", frame, results, Layout((MAP, MAP_AT_R)), once=True)


@made_from("reranking")
def reranking(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1 without re-ranking and with contextual re-ranking at several k (tab:contextual-reranking)."""
    columns = [Measure(f"rerank{k}/R@1", f"k = {k}", against="test/R@1") for k in (4, 16, 32)]
    note = "Re-ranked by 0.9 exp(2s − 2) + 0.1 w; in brackets the change against no re-ranking."
    return compare("reranking", frame, results, Layout((Measure("test/R@1", "none"), *columns), note=note))


@made_from("diml")
def diml(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1 before and after the K nearest are ranked again by matching feature maps (DIML), and the change."""
    measures = [Measure("test/R@1", "none")]
    for k in sorted(int(name[4:-4]) for name in frame if name.startswith("diml") and name.endswith("/R@1")):
        change = f"diml{k}/change of R@1"  # by run, so its interval is that of differences on shared seeds
        frame = frame.assign(**{change: frame[f"diml{k}/R@1"] - frame["test/R@1"]})
        measures += [Measure(f"diml{k}/R@1", f"K = {k}"), Measure(change, "change", digits=2, ranked=False)]
    return compare("diml", frame, results, Layout(tuple(measures)))


@made_from("hierarchy")
def hierarchy(frame: pd.DataFrame, results: Results) -> list[Table]:
    """Fine R@1 and AP at each level of the label hierarchy (tab:hierarchicalmetrics in the paper)."""
    measured = [name for name in frame if name.startswith("test/mAP/")]  # as the evaluator names them: test/mAP/order

    def layout(dataset: str) -> Layout:
        runs = frame[frame["dataset"] == dataset]
        levels = [name.removeprefix("test/mAP/") for name in measured if runs[name].notna().any()]
        paper = LEVELS.get(dataset, {})
        coarser = [
            Measure(f"test/mAP/{level}", f"{level} AP", published=f"test/mAP/{paper[level]}" if paper.get(level) else "")
            for level in dict.fromkeys([*paper, *levels])
        ]  # fmt: skip
        fine = (Measure("test/R@1", "fine R@1", shaded=True), Measure("test/mAP", "fine AP"))
        return Layout((*fine, *coarser), note=BODIES if dataset == "cars" else "")

    return compare("hierarchy", frame, results, layout)


@made_from("ablation")
def ablation(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1 of nine variants of L_context at λ = 0.8 and 1.0, γ = 0 (tab:ablation-2 in the paper)."""
    measures = [
        Measure("test/R@1", f"λ = {shown}", where={"lam": lam}, group="R@1", digits=2)
        for lam, shown in (("0.8", "0.8"), ("1", "1.0"))
    ]
    titles = {f"variant={name}": title for name, title in ABLATIONS.items()}
    note = "The contrastive loss has weight 1 − λ."
    return compare("ablation", frame, results, Layout((*measures,), titles=titles, stub="Ablation (γ = 0)", note=note))


@made_from("gradient_correction")
def gradient_correction(frame: pd.DataFrame, results: Results) -> list[Table]:
    """Train and test R@1 of L_context with and without corrected gradients (tab:smalltable in the paper)."""
    titles = {"variant=full": "L_context", "variant=gradient_correction": "with gradient correction"}
    note = "Corrected: gradients of a distance whose sign disagrees with the label are dropped."
    layout = Layout((TRAIN, *recalls(1)), titles=titles, stub="Loss", note=note)
    return compare("gradient_correction", frame, results, layout)


@made_from("regularizer")
def regularizer(frame: pd.DataFrame, results: Results) -> list[Table]:
    """What the similarity regulariser does to each method: mAP, mAP@R, R@1 (tab:regsim-results in the paper)."""
    metrics = ("R@1", "mAP", "mAP@R")
    by_metric = [compare("regularizer", frame, results, _regularised(metric)) for metric in metrics]
    return [
        dataclasses.replace(table, part=f"{table.part}, {metric}")
        for tables in zip(*by_metric, strict=True)
        for table, metric in zip(tables, metrics, strict=True)
    ]


def _regularised(metric: str) -> Layout:
    """A metric without the regulariser, and with it at two targets s̃, each with its change."""
    base = Measure(f"test/{metric}", f"{metric} without", where={"s_tilde": "none"}, shaded=metric == "R@1")
    targets = [
        dataclasses.replace(base, title=f"s̃ = {value}", where={"s_tilde": value}, against=base.key)
        for value in ("0.25", "0.3")
    ]
    note = "In brackets or coloured: the change against no regulariser, mean over shared seeds."
    return Layout((base, *targets), note=note)
