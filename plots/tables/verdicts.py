"""Who is best, from whom it can be told apart, and how many more seeds would tell it from the others.

`python -m plots tables --only verdicts` makes one table per study and data set; the report page begins
with the same leaderboards in words (`_leaderboard.py`).
"""

import pandas as pd

from benchmark.errors import UserError
from plots.catalogue import made_from
from plots.data import Results, datasets
from plots.stats import probability_of_improvement
from plots.tables import _caption as caption
from plots.tables._leaderboard import Leaderboard, known, leaderboards
from plots.tables._table import Cell, Column, Row, Section, Table

COLUMNS = (
    Column("score", "R@1", shaded=True),
    Column("difference", "behind the best", digits=2),
    Column("p", "p", digits=3),
    Column("separable", "separable", text=True),
    Column("wins", "best wins on a seed", text=True),
    Column("more", "more seeds", text=True),
)
CAPTION = (
    "R@1 in percent, mean ± half-width of the 95 % t-interval over seeds; behind the best: paired difference "
    "on shared seeds, ± half-width.",
    f"p: of the one-sided paired t-tests that any other is above it, the smallest, times their number; separable: below 5 %. "
    f"{caption.SEPARABLE}",
    "Best wins on a seed: probability that the best scores higher in a run with the same seed, with its 95 % "
    "interval (exact for normal differences).",
    "More seeds: to add for a power of 80 % in the test against the best mean, at the same level, if the difference seen is "
    "the true one. Rank tests are left out: with five seeds their smallest p is 1/16.",
)


@made_from()
def verdicts(results: Results) -> list[Table]:
    tables = []
    for study, alike in results.distinct().items():
        by_dataset: dict[str, list[Leaderboard]] = {}
        for board in leaderboards(results.frame(study)):
            by_dataset.setdefault(board.dataset, []).append(board)
        for dataset in datasets(pd.DataFrame({"dataset": list(by_dataset)})):
            tables.append(_table(study, alike, dataset, by_dataset[dataset], results.scale))
    if not tables:
        raise UserError(
            f"no study at scale {results.scale!r} has two methods with finished runs ({results.command('main')})"
        )
    return tables


def _table(study: str, alike: list[str], dataset: str, found: list[Leaderboard], scale: str) -> Table:
    sections = tuple(
        Section(", ".join(board.place().split(", ")[1:]), tuple(_row(board, name) for name in board.ordered()))
        for board in found
    )
    words = [f"Verdicts on study {study}, data set {dataset}.", *caption.same_runs(alike)]
    words += [f"{board.place()}: {' '.join(board.sentences())}" for board in found[:4]]
    end = (*CAPTION, caption.scale(scale))
    return Table("verdicts", f"{study}, {dataset}", COLUMNS, sections, (*words, *end))


def _row(board: Leaderboard, name: str) -> Row:
    mean, told = board.mean(name), board.told.loc[name]
    best = name == board.best
    mine = board.of(name)
    ids = tuple(mine["run_id"])
    tied = not best and not told["separable"]
    cells = {"score": Cell(mean.mean, known(mean.half), mean.n, best=best, tied=tied, run_ids=ids)}
    if not best:
        cells |= {
            "difference": Cell(known(told["difference"]), known(told["half"]), int(told["n"])),
            "p": Cell(known(told["p"]), text="< 0.001" if told["p"] < 0.001 else ""),
            "separable": Cell(text="yes" if told["separable"] else "no"),
            "wins": Cell(text=_wins(board, name)),
            "more": Cell(text="" if told["separable"] else _more(board, name)),
        }
    keys = {"dataset": board.dataset, "protocol": board.protocol, "scale": board.scale}
    keys |= {"method": str(mine["method"].iloc[0]), "variant": board.variant or str(mine["variant"].iloc[0])}
    return Row(board.title(name), cells, keys)


def _wins(board: Leaderboard, name: str) -> str:
    chance = probability_of_improvement(board.scores[board.best], board.scores[name])
    if pd.isna(chance.value):
        return ""
    return f"{100 * chance.value:.0f} % ({100 * chance.low:.0f}–{100 * chance.high:.0f})"


def _more(board: Leaderboard, name: str) -> str:
    if board.told.loc[name, "n"] < 3:
        return "?"
    more = board.more[name]
    return "> 1000" if more is None else str(more)
