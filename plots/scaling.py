"""Figure: time and memory of a loss by batch size, the contextual loss beside Roadmap (cubic_scaling in the paper).

`python -m plots figures --only scaling`, after `python -m benchmark.bench losses`.
"""

import pandas as pd

from benchmark.errors import UserError
from plots import style, synthetic
from plots.frames import Results

KIND = "figure"
STUDY = ""
METHODS = ("contextual", "roadmap")
PANELS = {"seconds": "seconds for loss and gradient", "peak_mb": "peak memory (MB)"}


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    found = synthetic.read_bench(results.root, "losses")
    lacking = {"name", "n", *PANELS} - set(found.columns)
    if lacking:
        raise UserError(f"the bench of losses lacks {', '.join(sorted(lacking))} (make bench first)")
    found = found[found["name"].isin(METHODS)].dropna(subset=["n"])
    if found.empty:
        raise UserError(f"the bench of losses has none of {', '.join(METHODS)} (make bench first)")
    figure, axes = style.figure(1, 2, width=style.PAGE, height=2.4)
    for axis, (column, label) in zip(axes[0], PANELS.items(), strict=True):
        for method in METHODS:
            line = found[found["name"] == method].dropna(subset=[column]).groupby("n")[column].min()
            if len(line):
                look = style.look(method)
                axis.plot(line.index, line, color=look.colour, marker=look.marker, label=style.title(method))
        axis.set(xlabel="batch size", ylabel=label, xscale="log", yscale="log")
    axes[0, 0].legend()
    return style.Drawing(figure, _caption(found))


def _caption(found: pd.DataFrame) -> str:
    said = []
    for method in METHODS:
        line = found[found["name"] == method].groupby("n")["seconds"].min()
        if len(line):
            said.append(f"{style.title(method)} {line.iloc[-1]:.2g} s at {line.index[-1]}")
    return (
        "Time and memory for one value and gradient of the loss on random normalised embeddings, by batch size; "
        f"without the network. The fastest of several repetitions, on one CPU: {'; '.join(said)}. No band."
    )
