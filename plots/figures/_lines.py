"""What the figures over λ, noise or batch size share: values as columns, lines with bars over seeds, sentences.

A figure takes its runs with `final_runs`, draws them with `draw_lines`, and `words` makes the caption of the
same runs, so that it cannot describe other bars than those drawn.
"""

import json
from collections.abc import Iterable
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmark.errors import UserError
from plots import data, style
from plots.figures._drawing import COLUMN, PAGE, Drawing, even_axis, figure, percent_axis
from plots.stats import t_interval
from plots.tables import _caption as caption

Lines = list[tuple[dict[str, Any], dict[str, Any]]]  # of each line: what its points have in common, and its look
LAM = "params.lam"
MARKERS = "osD^vPX*"
SPREAD = {"bars": {"capsize": 1.5, "elinewidth": 0.7, "capthick": 0.7}, "band": {"alpha": 0.15, "linewidth": 0}}
FEW = 3  # with fewer seeds the t-interval says nothing that could be drawn; the range is shown


def final_runs(frame: pd.DataFrame, *needed: str, protocol: str = "test") -> pd.DataFrame:
    """The final runs of a study under a protocol, finished or not; a UserError if none has what is needed."""
    study = frame["study"].iloc[0]
    runs = data.with_params(data.where(frame, phase="final", protocol=protocol))
    done = data.finished(runs)
    for metric in needed:
        if done.empty or metric not in done or done[metric].isna().all():
            raise UserError(f"study {study!r} has no finished run with {metric} (python -m benchmark run {study})")
    return runs


def curves(runs: pd.DataFrame, *keep: str) -> pd.DataFrame:
    """What was measured during training, one row an evaluation: epoch, `step` in batches, loss, "train/R@1" …"""
    points = []
    for row in data.finished(runs).to_dict("records"):
        told = {name: row[name] for name in ("run_id", "dataset", "method", "seed", *keep)}
        for point in json.loads(row["curve"] or "[]"):
            points.append(told | point | {"step": point["epoch"] * row["batches_per_epoch"]})
    return pd.DataFrame(points)


def spread(values: Iterable[float]) -> tuple[float, float, float]:
    """Mean, low and high: the 95 % t-interval, of two values their range, of one nothing."""
    x = np.asarray([value for value in values if np.isfinite(value)], dtype=float)
    if len(x) >= FEW:
        interval = t_interval(x)
        return interval.mean, interval.low, interval.high
    return (float(x.mean()), float(x.min()), float(x.max())) if len(x) else (np.nan, np.nan, np.nan)


def draw_lines(
    axis: Axes,
    points: pd.DataFrame,
    by: str,
    metric: str,
    lines: Lines,
    width: float = 0.0,
    places: dict[float, float] | None = None,
    log: bool = False,
    shown: str = "bars",
    **common: Any,
) -> None:
    """Lines through the means over seeds at each value of `by`, with bars or bands of their spread.

    Bars of several lines stand beside each other, `width` in all; with `log` means are geometric, so that no bar falls
    below 0.
    """
    import seaborn  # only where a figure is made

    done = (data.finished(points) if "status" in points else points).dropna(subset=[metric])
    to, back = (np.log, np.exp) if log else (np.asarray, np.asarray)
    for i, (own, look) in enumerate(lines):
        mine = data.where(done, **own)
        if mine.empty:  # nothing of this line has been run
            continue
        x = mine[by].astype(float) if places is None else mine[by].map(places)
        shift = width * (i / (len(lines) - 1) - 0.5) if len(lines) > 1 else 0.0
        edge = {"markersize": 3.5, "markeredgecolor": look.get("color")}  # seaborn's white edges hide open marks
        seaborn.lineplot(
            x=(x + shift).to_numpy(), y=mine[metric].clip(lower=1e-9 if log else None).to_numpy(), ax=axis, legend=False,
            estimator=lambda values: back(spread(to(values))[0]),
            errorbar=lambda values: back(spread(to(values))[1:]),
            err_style=shown, err_kws=SPREAD[shown], **(edge | common | look),
        )  # fmt: skip


def unless_alone(names: list[str], dataset: str) -> str:
    """The start of an axis label in a figure with a row a data set: nothing to tell apart in one of one."""
    return "" if len(names) == 1 else f"{style.place(dataset)}: "


def method_lines(methods: Iterable[str]) -> Lines:
    """A line for each method in its look, the paper's own thicker."""
    return [({"method": name}, style.line(name) | {"linewidth": 2 if name == "contextual" else 1}) for name in methods]


def lam_lines(values: Iterable[float]) -> Lines:
    """A line for each λ: dark at the contrastive end, light at the contextual one."""
    ordered = sorted(set(values))
    places = np.linspace(0.0, 0.8, len(ordered))
    return [
        ({LAM: value}, {"color": colormaps["viridis"](place), "marker": marker, "label": f"λ = {value:g}"})
        for value, place, marker in zip(ordered, places, cycle(MARKERS), strict=False)
    ]


def panels(runs: pd.DataFrame, height: float) -> tuple[Figure, dict[str, Axes]]:
    """A figure with one panel a data set, side by side."""
    names = data.datasets(data.finished(runs))
    made, axes = figure(1, len(names), width=COLUMN if len(names) == 1 else PAGE, height=height)
    for axis, name in zip(axes[0], names, strict=True):
        axis.set_title(style.place(name))
    return made, dict(zip(names, axes[0], strict=True))


def panels_by(
    points: pd.DataFrame,
    by: str,
    label: str,
    lines: Lines,
    width: float,
    height: float,
    metric: str = "test/R@1",
    even: bool = True,
) -> Figure:
    """The same with lines of R@1 over the values of a column, evenly or to scale."""
    made, axes = panels(points, height)
    for dataset, axis in axes.items():
        places = even_axis(axis, points[by].unique(), label) if even else None
        draw_lines(axis, data.where(points, dataset=dataset), by, metric, lines, width, places)
        axis.set_xlabel(label)
        percent_axis(axis.yaxis, "test R@1")
    return made


def not_run(axis: Axes) -> None:
    axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center")


def close(made: Figure, columns: int, caption: str, axis: Axes | None = None) -> Drawing:
    """Puts the legend of an axis, mostly the first, below the figure."""
    made.legend(*(axis or made.axes[0]).get_legend_handles_labels(), loc="outside lower center", ncols=columns)
    return Drawing(made, caption)


def words(runs: pd.DataFrame, what: str, shown: str = "bars") -> str:
    """The caption: the study's title, what is drawn, seeds and bars, what is missing, protocol, setting, scale.

    `shown` is how the spread over seeds is drawn; "" if `what` says it.
    """
    done, (study, scale) = data.finished(runs), runs[["study", "scale"]].iloc[0]
    said = [caption.first_sentence(study, scale), what, seeds(done, shown) if shown else "", left_out(runs)]
    said += [caption.protocol(name, done) for name in sorted(done["protocol"].unique())]
    varied = {key for text in runs["variation"] for key in json.loads(text or "{}")}
    said += [settings(name, done, varied) for name in data.datasets(done)]
    said.append(caption.SCALES.get(scale, ""))
    return " ".join(filter(None, said))


def settings(dataset: str, done: pd.DataFrame, varied: Iterable[str] = ()) -> str:
    """How the runs on a data set were made, and how many of its images were not there."""
    runs = data.where(done, dataset=dataset)
    return " ".join(filter(None, (f"{style.place(dataset)}: {caption.setting(runs, varied)}", caption.absent(runs))))


def seeds(done: pd.DataFrame, shown: str) -> str:
    count = int(done["seed"].nunique())
    if count == 1:
        return f"One seed: no {shown}."
    kind = "95 % t-interval" if count >= FEW else "their range"
    return f"Mean over {count} seeds; {shown}: {kind}."


def left_out(runs: pd.DataFrame) -> str:
    """How many runs are not in the figure, and why."""
    counts = runs[runs["status"] != "ok"]["status"].value_counts()
    told = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in sorted(counts.items()))
    return f"Not shown, of {len(runs)} runs: {told}." if told else ""
