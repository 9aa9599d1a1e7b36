"""R@1 of nine variants of L_context at λ = 0.8 and 1.0, γ = 0 (tab:ablation-2 in the paper).

`python -m plots tables --only ablation` makes it from the study of the same name.
"""

import pandas as pd

from plots.data import Results
from plots.tables._comparison import compare
from plots.tables._layout import Layout, Measure
from plots.tables._table import Table

KIND = "table"
STUDY = "ablation"
TITLES = {
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
LAYOUT = Layout(
    STUDY,
    tuple(
        Measure("test/R@1", f"λ = {shown}", where={"lam": lam}, group="R@1", digits=2)
        for lam, shown in (("0.8", "0.8"), ("1", "1.0"))
    ),
    titles={f"variant={name}": title for name, title in TITLES.items()},
    stub="Ablation (γ = 0)",
    note="The contrastive loss has weight 1 − λ.",
)


def make(frame: pd.DataFrame, results: Results) -> list[Table]:
    return compare(frame, results, LAYOUT)
