"""Figure: R@1 of the contextual loss for other values of ε, γ and s̃, one at a time (hypers in the paper).

`python -m plots figures --only hyperparameters` makes it from the study of the same name.
"""

import pandas as pd

from plots import data as frames
from plots import style
from plots.data import Results
from plots.figures import _lines as sweep

KIND = "figure"
STUDY = "hyperparameters"
METRIC = "test/R@1"
SYMBOLS = {"params.eps": "ε", "params.gamma": "γ", "params.s_tilde": "s̃"}


def make(frame: pd.DataFrame, results: Results) -> style.Drawing:
    runs = sweep.final_runs(frame, STUDY, METRIC)
    names = frames.datasets(frames.finished(runs))
    usual = {key: runs[key].mode().iloc[0] for key in SYMBOLS}  # each is at it while the others vary
    figure, axes = style.figure(len(names), 3, width=style.PAGE, height=1.9 * len(names) + 0.1, sharey="row")
    for row, dataset in zip(axes, names, strict=True):
        for axis, (key, symbol) in zip(row, SYMBOLS.items(), strict=True):
            others = [name for name in SYMBOLS if name != key]
            mine = runs[
                (runs["dataset"] == dataset) & (runs[others] == [usual[name] for name in others]).all(axis=1)
            ]
            values = sorted(mine[key].unique())
            places = {value: float(i) for i, value in enumerate(values)}
            sweep.draw_bars(axis, mine, key, METRIC, 0.0, places, color="#d55e00", marker="o")
            axis.axvline(places[usual[key]], color="0.7", linestyle=":", linewidth=1, zorder=0)
            axis.set(xlabel=symbol, xticks=list(places.values()), xlim=(-0.4, len(values) - 0.6))
            axis.set_xticklabels([f"{value:g}" for value in values])
        row[0].set_ylabel(("" if len(names) == 1 else f"{dataset}: ") + "test R@1 (%)")
        style.percent_axis(row[0].yaxis)
    shown = ", ".join(f"{symbol} = {usual[key]:g}" for key, symbol in SYMBOLS.items())
    means = frames.finished(runs).groupby("variation")[METRIC].mean()
    what = (
        f"Dotted: the published values ({shown}), at which the other two stay. Steps on the axes are not to scale. "
        f"Means range from {100 * means.min():.1f} to {100 * means.max():.1f} %."
    )
    return style.Drawing(figure, sweep.words(STUDY, results.scale, runs, what))
