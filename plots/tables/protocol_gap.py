"""The price of selecting on the test set: both protocols side by side, per method, and if the ranking changes.

`python -m plots tables --only protocol_gap` makes one table per study and data set that was run under both.
"""

import json

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, datasets, final, finished, seeds_by
from plots.stats import holm, paired, t_interval
from plots.tables import _caption as caption
from plots.tables._cells import METRIC, known, measured, p_value
from plots.tables._table import Cell, Column, Row, Section, Table
from plots.tables.leaderboard import SEPARATOR, contenders, title

PROTOCOLS = ("test", "validation")
Sides = dict[str, pd.DataFrame]  # protocol → runs or scores
COLUMNS = (
    Column("test", "protocol test", "R@1", shaded=True),
    Column("last", "last epoch", "R@1"),
    Column("validation", "protocol validation", "R@1", shaded=True),
    Column("gap", "difference", digits=2),
    Column("p", "p (Holm)", digits=3),
    Column("rank_test", "test", "rank", digits=0),
    Column("rank_validation", "validation", "rank", digits=0),
    Column("changed", "changes", "rank", text=True),
)
CAPTION = (
    "R@1 on the test classes in percent, mean ± half-width of the 95 % t-interval over seeds. Protocol test "
    "chooses learning rate and epoch on the test classes, protocol validation on training classes held out.",
    "Last epoch: the same runs as protocol test, at the end of training instead of at the best epoch.",
    "Difference: test − validation on shared seeds, ± half-width; p: paired t, Holm over the methods. It "
    "holds the optimism of the selection and what the held-out classes would have taught. Ranks of methods "
    "that cannot be told apart change by chance, too.",
)


@made_from()
def protocol_gap(results: Results) -> list[Table]:
    tables = []
    for study, alike in results.distinct().items():
        runs = contenders(final(results.frame(study)))
        for dataset in datasets(runs):
            table = _table(study, alike, dataset, runs[runs["dataset"] == dataset], results.scale)
            tables += [table] if table else []
    if not tables:
        why = f"no study at scale {results.scale!r} has finished runs under both protocols"
        raise UserError(f"{why} ({results.command('main')})")
    return tables


def _table(study: str, alike: list[str], dataset: str, runs: pd.DataFrame, scale: str) -> Table | None:
    sides = {name: runs[runs["protocol"] == name] for name in PROTOCOLS}
    scores = {name: 100 * seeds_by(side, "contender", METRIC) for name, side in sides.items()}
    gaps = compared(scores["test"], scores["validation"])
    if gaps.empty:
        return None
    adjusted = dict(zip(gaps.index, holm(gaps["p"]), strict=True))
    order = style.ordered(runs["method"])
    names = sorted(gaps.index, key=lambda name: (order.index(name.split(SEPARATOR)[0]), name))
    rows = [_row(name, gaps.loc[name], adjusted[name], scores, sides, dataset, scale) for name in names]
    words = [f"The price of selecting on the test set: study {study}, data set {dataset}.", *sentences(gaps, scores)]
    end = (*CAPTION, caption.scale(scale))
    return Table(
        "protocol_gap", f"{study}, {dataset}", COLUMNS, (Section("", tuple(rows)),),
        (*words, *caption.same_runs(alike), *end), lead=len(words),
    )  # fmt: skip


def compared(test: pd.DataFrame, validation: pd.DataFrame) -> pd.DataFrame:
    """Per method, test − validation on shared seeds: difference, half, n, p, the rank under each, and if it changes.

    Both frames: one row a seed, one column a method. Ranks count from 1 (best mean) over the methods that both have.
    """
    methods = [name for name in test.columns if name in validation.columns]
    frame = pd.DataFrame([paired(test[name], validation[name]) for name in methods], pd.Index(methods, name="method"))
    for side, scores in zip(PROTOCOLS, (test, validation), strict=True):
        frame[f"rank_{side}"] = scores[methods].mean().rank(ascending=False, method="min")
    return frame.rename(columns={"mean": "difference"}).assign(changed=lambda f: f["rank_test"] != f["rank_validation"])


def sentences(gaps: pd.DataFrame, scores: Sides) -> list[str]:
    """The price in words: the mean over methods within each seed, since methods share the luck of a seed."""
    names = list(gaps.index)
    within = (scores["test"][names] - scores["validation"][names]).dropna().mean(axis=1)
    mean = t_interval(within)
    spread = "" if pd.isna(mean.half) else f" ± {mean.half:.2f}"
    changed = int(gaps["changed"].sum())
    lines = []
    if mean.n:
        words = "higher" if mean.mean >= 0 else "lower"
        lines.append(f"Under protocol test R@1 is {abs(mean.mean):.2f}{spread} points {words}, mean over methods.")
    top = [scores[side][names].mean().idxmax() for side in PROTOCOLS]
    same = "the best method is the same" if top[0] == top[1] else "the best method is another one"
    lines.append(f"The rank of {changed} of {len(names)} changes; {same}.")
    return lines


def _last(runs: pd.DataFrame) -> list[float]:
    """R@1 at the last evaluation of each run."""
    curves = [json.loads(text or "[]") for text in finished(runs)["curve"]]
    return [curve[-1][METRIC] for curve in curves if curve and METRIC in curve[-1]]


def _row(name: str, gap: pd.Series, p: float, scores: Sides, sides: Sides, dataset: str, scale: str) -> Row:
    mine = {side: runs[runs["contender"] == name] for side, runs in sides.items()}
    cells = {side: measured(scores[side][name], runs["run_id"]) for side, runs in mine.items()}
    last = t_interval(_last(mine["test"]))
    cells |= {
        "last": Cell(known(100 * last.mean), known(100 * last.half), last.n, run_ids=cells["test"].run_ids),
        "gap": Cell(known(gap["difference"]), known(gap["half"]), int(gap["n"])),
        "p": p_value(p),
        **{rank: Cell(float(gap[rank])) for rank in ("rank_test", "rank_validation")},
        "changed": Cell(text="yes" if gap["changed"] else "no"),
    }
    method, _, variant = name.partition(SEPARATOR)
    return Row(title(name), cells, {"dataset": dataset, "scale": scale, "method": method, "variant": variant})
