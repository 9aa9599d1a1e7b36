"""Time and memory of a loss by batch size, the contextual loss beside Roadmap (cubic_scaling in the paper).

`python -m plots figures --only scaling`, after `python -m benchmark.bench losses`.
"""

import math

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, where
from plots.figures._drawing import PAGE, Drawing, figure, log_axis
from plots.figures._lines import close

PANELS = {"seconds": "seconds for value and gradient", "peak_mb": "peak memory (MB)"}
WRITTEN = {"linestyle": "--", "markerfacecolor": "white"}  # as equations; solid: as they train here


@made_from()
def scaling(results: Results) -> Drawing:
    """Time and memory of a loss by batch size, the contextual loss beside Roadmap (cubic_scaling in the paper)."""
    looks = {
        "contextual": style.line("contextual"),
        "contextual, oracle": style.line("contextual") | WRITTEN | {"label": "Contextual, equations"},
        "roadmap": style.line("roadmap"),
        "roadmap, textbook": style.line("roadmap") | WRITTEN | {"label": "Roadmap, equations"},
        "floor": {"color": "0.5", "linestyle": ":", "label": "one product and its gradient"},
    }
    found = results.bench("losses")
    lacking = {"name", "n", *PANELS} - set(found.columns)
    if lacking:
        raise UserError(f"the bench of losses lacks {', '.join(sorted(lacking))} (make bench first)")
    lines = {name: look for name, look in looks.items() if name in set(found["name"])}
    if not {"contextual", "roadmap"} & set(lines):
        raise UserError("the bench of losses has neither contextual nor roadmap (make bench first)")
    made, axes = figure(1, 2, width=PAGE, height=2.6)
    said = []
    for name, look in lines.items():
        fastest = where(found, name=name).groupby("n")[list(PANELS)].min()
        for axis, column in zip(axes[0], PANELS, strict=True):
            line = fastest[column].dropna()
            axis.plot(line.index, line, markersize=3.5, **look)
        seconds = fastest["seconds"]
        told = f"{look['label']} {seconds.iloc[-1]:.2g} s at {seconds.index[-1]}"
        if len(seconds) > 1:
            power = math.log(seconds.iloc[-1] / seconds.iloc[-2]) / math.log(seconds.index[-1] / seconds.index[-2])
            told += f" (growing with the power {power:.1f} there)"
        said.append(told)
    for axis, label in zip(axes[0], PANELS.values(), strict=True):
        axis.set(xlabel="batch size", ylabel=label)
        for side in (axis.xaxis, axis.yaxis):
            log_axis(side)
    caption = (
        "Time and memory for one value and gradient of the loss on made-up embeddings, by batch size, without the "
        "network. Solid: as it is trained here; dashed: the equations, written as dense matrices; dotted: what any "
        f"loss on similarities needs. The fastest of several repetitions on a CPU: {'; '.join(said)}. Memory is that "
        "of the whole process, PyTorch included. No band."
    )
    return close(made, 3, caption)
