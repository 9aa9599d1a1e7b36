"""What a part of a loss is worth: the tables whose rows or columns are variants of the same method.

`python -m plots tables --only ablation` makes one of them from the study of the same name.
"""

import dataclasses

import pandas as pd

from plots.catalogue import made_from
from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import TRAIN, Layout, Measure, recalls
from plots.tables._table import Table

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


@made_from("ablation")
def ablation(frame: pd.DataFrame, results: Results) -> list[Table]:
    """R@1 of nine variants of L_context at λ = 0.8 and 1.0, γ = 0 (tab:ablation-2 in the paper)."""
    layout = Layout(
        tuple(
            Measure("test/R@1", f"λ = {shown}", where={"lam": lam}, group="R@1", digits=2)
            for lam, shown in (("0.8", "0.8"), ("1", "1.0"))
        ),
        titles={f"variant={name}": title for name, title in ABLATIONS.items()},
        stub="Ablation (γ = 0)",
        note="The contrastive loss has weight 1 − λ.",
    )
    return compare("ablation", frame, results, layout)


@made_from("gradient_correction")
def gradient_correction(frame: pd.DataFrame, results: Results) -> list[Table]:
    """Train and test R@1 of L_context with and without corrected gradients (tab:smalltable in the paper)."""
    layout = Layout(
        (TRAIN, *recalls(1)),
        titles={"variant=full": "L_context", "variant=gradient_correction": "with gradient correction"},
        stub="Loss",
        note="Corrected: gradients of a distance whose sign disagrees with the label are dropped.",
    )
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
