"""What the figures over λ, noise or batch size share: values as columns, lines with bars over seeds, sentences.

A figure takes its runs with `final_runs`, draws them with `draw_line`, and `words` makes the caption of the
same runs, so that it cannot describe other bars than those drawn.
"""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps, ticker
from matplotlib.axes import Axes

from benchmark.errors import UserError
from plots import data, style
from plots.figures._drawing import COLUMN, PAGE, Drawing, figure
from plots.stats import t_interval
from plots.tables import _caption as caption

MARKERS = "osD^vPX*"
FEW = 3  # with fewer seeds the t-interval says nothing that could be drawn; the range is shown


def final_runs(frame: pd.DataFrame, study: str, *needed: str, protocol: str = "test") -> pd.DataFrame:
    """The final runs of a study under a protocol, finished or not; a UserError if none has what is needed."""
    runs = data.final(frame)
    runs = data.with_params(runs[runs["protocol"] == protocol])
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


def draw_line(
    axis: Axes,
    points: pd.DataFrame,
    by: str,
    metric: str,
    shift: float = 0.0,
    places: dict[float, float] | None = None,
    log: bool = False,
    shown: str = "bars",
    **look: Any,
) -> None:
    """A line through the means over seeds at each value of `by`, with bars or a band of their spread.

    `shift` keeps the bars of several lines apart; with `log` means are geometric, so that no bar falls below 0.
    """
    import seaborn  # only where a figure is made

    done = data.finished(points) if "status" in points else points
    done = done.dropna(subset=[metric])
    if done.empty:  # nothing of this line has been run
        return
    x = (done[by].astype(float) if places is None else done[by].map(places)) + shift
    to, back = (np.log, np.exp) if log else (np.asarray, np.asarray)
    bars = {"capsize": 1.5, "elinewidth": 0.7, "capthick": 0.7}
    edge = {"markersize": 3.5, "markeredgecolor": look.get("color")}  # seaborn's white edges hide open marks
    seaborn.lineplot(
        x=x.to_numpy(), y=done[metric].clip(lower=1e-9 if log else None).to_numpy(), ax=axis, legend=False,
        estimator=lambda values: back(spread(to(values))[0]),
        errorbar=lambda values: back(spread(to(values))[1:]),
        err_style=shown, err_kws=bars if shown == "bars" else {"alpha": 0.15, "linewidth": 0}, **(edge | look),
    )  # fmt: skip


def draw_lines(
    axis: Axes,
    points: pd.DataFrame,
    by: str,
    metric: str,
    lines: Iterable[tuple[dict[str, Any], dict[str, Any]]],  # what its points have in common, and its look
    width: float,
    places: dict[float, float] | None = None,
    **common: Any,
) -> None:
    """Several lines whose bars stand beside each other, `width` in all."""
    lines = list(lines)
    for shift, (own, look) in zip(shifts(len(lines), width), lines, strict=True):
        draw_line(axis, data.where(points, **own), by, metric, shift, places, **common, **look)


def unless_alone(names: list[str], dataset: str) -> str:
    """The start of an axis label in a figure with a row a data set: nothing to tell apart in one of one."""
    return "" if len(names) == 1 else f"{style.place(dataset)}: "


def method_lines(methods: Iterable[str]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """A line for each method in its look, the paper's own thicker."""
    return [({"method": name}, style.line(name) | {"linewidth": 2 if name == "contextual" else 1}) for name in methods]


def shifts(count: int, width: float) -> list[float]:
    """Offsets for so many lines, `width` in all, so that their bars stand beside each other."""
    return [width * (i / (count - 1) - 0.5) if count > 1 else 0.0 for i in range(count)]


def lam_looks(values: Iterable[float]) -> dict[float, dict[str, Any]]:
    """Colour and marker of each λ: dark at the contrastive end, light at the contextual one."""
    ordered = sorted(set(values))
    colours = colormaps["viridis"]
    places = np.linspace(0.0, 0.8, len(ordered)) if len(ordered) > 1 else [0.0]
    return {
        value: {"color": colours(place), "marker": MARKERS[i % len(MARKERS)], "label": f"λ = {value:g}"}
        for i, (value, place) in enumerate(zip(ordered, places, strict=True))
    }


def log_axis(axis: Any) -> None:
    """A logarithmic axis with plain numbers: at 1, 2 and 5, or over many decades at 1 only."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def panels(runs: pd.DataFrame, height: float = 2.4, legend_rows: int = 2) -> tuple[Any, dict[str, Axes]]:
    """A figure with one panel a data set, side by side."""
    names = data.datasets(data.finished(runs))
    width = COLUMN if len(names) == 1 else PAGE
    made, axes = figure(1, len(names), width=width, height=height + 0.12 * legend_rows)
    for axis, name in zip(axes[0], names, strict=True):
        axis.set_title(style.place(name))
    return made, dict(zip(names, axes[0], strict=True))


def even_axis(axis: Axes, values: Iterable[float], label: str) -> dict[float, float]:
    """A place on the horizontal axis for each value, evenly, so that bars have room; returns value → place."""
    ordered = sorted(values)
    places = {value: float(i) for i, value in enumerate(ordered)}
    axis.set(xlabel=label, xticks=list(places.values()))
    axis.set_xticklabels([f"{value:g}" for value in ordered])
    return places


def not_run(axis: Axes) -> None:
    axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center")


def close(made: Any, axis: Axes, columns: int, caption: str) -> Drawing:
    """Puts the legend of an axis below the figure."""
    made.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
    return Drawing(made, caption)


def words(study: str, scale: str, runs: pd.DataFrame, what: str, shown: str = "bars") -> str:
    """The caption: the study's title, what is drawn, seeds and bars, what is missing, protocol, setting, scale.

    `shown` is how the spread over seeds is drawn; "" if `what` says it.
    """
    done = data.finished(runs)
    said = [caption.first_sentence(study, scale), what, seeds(done, shown) if shown else "", left_out(runs)]
    said += [caption.protocol(name, done) for name in sorted(done["protocol"].unique())]
    varied = {key for text in runs["variation"] for key in json.loads(text or "{}")}
    said += [settings(name, done, varied) for name in data.datasets(done)]
    said.append(caption.SCALES.get(scale, ""))
    return " ".join(part for part in said if part)


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
