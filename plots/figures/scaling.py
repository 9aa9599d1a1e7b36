"""Time and memory of a loss by batch size, the contextual loss beside Roadmap (cubic_scaling in the paper).

`python -m plots figures --only scaling`, after `python -m benchmark.bench losses`.
"""

import math
from typing import Any

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results
from plots.figures._drawing import PAGE, Drawing, figure
from plots.figures._lines import close, log_axis

PANELS = {"seconds": "seconds for value and gradient", "peak_mb": "peak memory (MB)"}


def _look(method: str, **more: Any) -> dict[str, Any]:
    look = style.look(method)
    return {"color": look.colour, "marker": look.marker, "label": style.title(method)} | more


def _lines() -> dict[str, dict[str, Any]]:
    """Names of the bench and their looks: solid as they train here, dashed as they are written down."""
    written = {"linestyle": "--", "markerfacecolor": "white"}
    return {
        "contextual": _look("contextual"),
        "contextual, oracle": _look("contextual", label="Contextual, equations", **written),
        "roadmap": _look("roadmap"),
        "roadmap, textbook": _look("roadmap", label="Roadmap, equations", **written),
        "floor": {"color": "0.5", "linestyle": ":", "label": "one product and its gradient"},
    }


@made_from()
def scaling(results: Results) -> Drawing:
    found = results.bench("losses")
    lacking = {"name", "n", *PANELS} - set(found.columns)
    if lacking:
        raise UserError(f"the bench of losses lacks {', '.join(sorted(lacking))} (make bench first)")
    lines = {name: look for name, look in _lines().items() if name in set(found["name"])}
    if not {"contextual", "roadmap"} & set(lines):
        raise UserError("the bench of losses has neither contextual nor roadmap (make bench first)")
    made, axes = figure(1, 2, width=PAGE, height=2.6)
    for axis, (column, label) in zip(axes[0], PANELS.items(), strict=True):
        for name, look in lines.items():
            line = found[found["name"] == name].dropna(subset=[column]).groupby("n")[column].min()
            axis.plot(line.index, line, markersize=3.5, **look)
        axis.set(xlabel="batch size", ylabel=label)
        for side in (axis.xaxis, axis.yaxis):
            log_axis(side)
    return close(made, axes[0, 0], 3, _caption(found, lines))


def _caption(found: pd.DataFrame, lines: dict[str, dict[str, Any]]) -> str:
    said = []
    for name, look in lines.items():
        line = found[found["name"] == name].groupby("n")["seconds"].min()
        told = f"{look['label']} {line.iloc[-1]:.2g} s at {line.index[-1]}"
        if len(line) > 1:
            power = math.log(line.iloc[-1] / line.iloc[-2]) / math.log(line.index[-1] / line.index[-2])
            told += f" (growing with the power {power:.1f} there)"
        said.append(told)
    return (
        "Time and memory for one value and gradient of the loss on made-up embeddings, by batch size, without the "
        "network. Solid: as it is trained here; dashed: the equations, written as dense matrices; dotted: what any "
        f"loss on similarities needs. The fastest of several repetitions on a CPU: {'; '.join(said)}. Memory is that "
        "of the whole process, PyTorch included. No band."
    )
