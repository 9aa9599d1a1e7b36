"""Which method ranks best: the tables whose rows are methods and whose columns are measures of the same runs.

`python -m plots tables --only main` makes one of them from the study of the same name (`studies/main.toml`).
"""

import pandas as pd

from plots.catalogue import made_from
from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import MAP, MAP_AT_R, TRAIN, Layout, Measure, recalls, usual_recalls
from plots.tables._table import Table


@made_from("main")
def main(frame: pd.DataFrame, results: Results) -> list[Table]:
    """The main table: every method of the study, tuned alike, per data set and selection protocol."""

    def layout(dataset: str) -> Layout:
        return Layout(
            (*usual_recalls(dataset), MAP, MAP_AT_R, TRAIN),
            extras=("lr", "tuned", "trials", "seeds"),
            note="Train R@1 is that of the chosen epoch; untrained is the network before training.",
        )

    return compare("main", frame, results, layout)


def _own(frame: pd.DataFrame, study: str, results: Results) -> pd.DataFrame:
    """Its runs, where they are its own: below paper scale several studies have those of `main`, shown once, there."""
    return frame.head(0) if study in results.repeats else frame


@made_from("main_256")
def main_256(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@k at 256 × 256 on CUB, Cars, SOP and mini-iNaturalist, with intervals (tab:main in the paper)."""

    def layout(dataset: str) -> Layout:
        return Layout(recalls(1, 10, 100) if dataset == "sop" else usual_recalls(dataset))

    return compare("main_256", _own(frame, "main_256", results), results, layout)


@made_from("main_cub_cars")
def main_cub_cars(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1, 2, 4, 8 and mAP on CUB and Cars at embedding sizes 512 and 1536 (tab:main1 in the paper)."""
    layout = Layout((*recalls(1, 2, 4, 8), MAP), sections=("embedding_dim",))
    return compare("main_cub_cars", _own(frame, "main_cub_cars", results), results, layout)


@made_from("main_sop")
def main_sop(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1, 10, 100 and 1000 on SOP at embedding sizes 512 and 1536 (tab:main2 in the paper)."""
    layout = Layout(recalls(1, 10, 100, 1000), sections=("embedding_dim",))
    return compare("main_sop", _own(frame, "main_sop", results), results, layout)


@made_from("inshop")
def inshop(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1, 10, 20, 30, 40 and 50 on In-Shop, queries against a gallery (tab:inshop-results in the paper)."""
    return compare("inshop", _own(frame, "inshop", results), results, Layout(recalls(1, 10, 20, 30, 40, 50)))


@made_from("average_precision")
def average_precision(frame: pd.DataFrame, results: Results) -> list[Table]:
    """mAP and mAP@R of the runs at 256 × 256, with intervals (tab:AP-results in the paper)."""
    frame = _own(frame, "average_precision", results)
    return compare("average_precision", frame, results, Layout((MAP, MAP_AT_R)))


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


# What the paper calls each level. On Cars it says make, but its values fit body types: see the note.
LEVELS = {
    "cub": {"family": "mid", "order": "coarse"},
    "cars": {"make": "", "body": "coarse"},
    "sop": {"category": "coarse"},
}
BODIES = "The paper calls its coarse level make; its values fit body types, so they stand there."


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
