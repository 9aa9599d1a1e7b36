"""Train R@1 by batch size and λ, and the course of training at the ends (decomp_gap in the paper).

`python -m plots figures --only decomposability` makes it from the study of the same name.
"""

import pandas as pd

from plots.catalogue import made_from
from plots.data import Results, finished
from plots.figures._drawing import PAGE, Drawing, figure, percent_axis
from plots.figures._lines import close, curves, draw_line, final_runs, lam_looks, log_axis, shifts, words

COURSES = {"train/R@1": "train R@1 (%)", "train/mAP": "train mAP (%)", "train/L_context": "$L_{context}$"}


@made_from("decomposability")
def decomposability(frame: pd.DataFrame, results: Results) -> Drawing:
    runs = final_runs(frame, "decomposability", "train/R@1")
    points = curves(runs, "params.lam", "batch_size")
    made, axes = figure(2, 2, width=PAGE, height=4.2)
    looks = lam_looks(points["params.lam"])
    ends = points[points["epoch"] == points["epoch"].max()]  # not the best epoch on test data
    sizes = sorted(ends["batch_size"].unique())
    first = axes[0, 0]
    for shift, (lam, look) in zip(shifts(len(looks), 0.12), looks.items(), strict=True):
        places = {size: float(i) for i, size in enumerate(sizes)}
        draw_line(first, ends[ends["params.lam"] == lam], "batch_size", "train/R@1", shift, places, **look)
    first.set(xlabel="batch size", ylabel="train R@1 at the end (%)", xticks=range(len(sizes)))
    first.set_xticklabels([f"{size:g}" for size in sizes[:-1]] + [f"{sizes[-1]:g}\n(whole set)"])
    percent_axis(first.yaxis)
    first.legend(fontsize=6)
    ranges = (looks[min(looks)], looks[max(looks)])
    for axis, (metric, label) in zip(axes.flat[1:], COURSES.items(), strict=True):
        log = metric == "train/L_context"
        for lam, look in zip((min(looks), max(looks)), ranges, strict=True):
            for size, line in ((sizes[0], ":"), (sizes[-1], "-")):
                mine = points[(points["params.lam"] == lam) & (points["batch_size"] == size)]
                draw_line(
                    axis, mine, "step", metric, log=log, shown="band", linestyle=line, color=look["color"],
                    label=f"λ = {lam:g}, batch {size:g}",
                )  # fmt: skip
        axis.set(xlabel="steps", ylabel=label)
        if log:
            log_axis(axis.yaxis)
        else:
            percent_axis(axis.yaxis)
    done = finished(runs)
    lane = (
        "on frozen features, only the linear embedding is trained"
        if set(done["lane"]) == {"frozen"}
        else "end to end, unlike the paper's frozen features"
    )
    what = (
        f"Top left: train R@1 after the last step, {lane}. Others: the course of training for the two ends of λ "
        f"and of the batch size. k is 4 in the smallest batch, larger in batches that have more images of a class; "
        f"L_context is measured with the k and the batch size of its run, so compare its course, not its level."
    )
    return close(made, axes[1, 1], 4, words("decomposability", results.scale, runs, what, "bars and bands"))
