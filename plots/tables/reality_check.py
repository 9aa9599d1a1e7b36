"""All methods under one set-up, beside what their authors claim: what each is, what it costs, what it gets here.

`python -m plots tables --only reality_check` makes one table per data set from the study of the same name. Methods that are
published only stand below, each with the reason why it is not trained here.
"""

import pandas as pd

import baselines
from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results, finished
from plots.tables import _caption as caption
from plots.tables import published
from plots.tables._cells import known
from plots.tables._table import Cell, Column, Row, Section, Table
from plots.tables.leaderboard import Leaderboard, by_dataset

CLAIMS = ("cub", "cars")
UNIT = "contrastive"  # whose step the others' time is measured in
CAPTION = (
    "Group: trained in the paper, copied by the paper from others, or come since. Parameters: that the method learns beside "
    f"the network, in training only. Step: median time of a training step relative to {UNIT}, network included.",
    "Claimed: R@1 as its authors or the paper print it, with backbone and dimensions; sources are in "
    "results/published/claimed.csv. Claims were made in different set-ups and do not compare with the columns beside them.",
)


@made_from("reality_check")
def reality_check(frame: pd.DataFrame, results: Results) -> list[Table]:
    boards = by_dataset(frame)
    if not boards:
        why = f"no two methods of study 'reality_check' have finished at scale {results.scale!r}"
        raise UserError(f"{why} ({results.command('reality_check')})")
    return [_table(name, boards[name], frame[frame["dataset"] == name], results.scale) for name in boards]


def _table(dataset: str, boards: list[Leaderboard], runs: pd.DataFrame, scale: str) -> Table:
    columns = (
        Column("group", "group", text=True),
        Column("year", "year", digits=0),
        Column("parameters", "parameters", digits=0),
        Column("step", "step", digits=2),
        *(Column(f"claimed {name}", name, "claimed", text=True) for name in CLAIMS),
        *(Column(board.protocol, f"protocol {board.protocol}", "R@1", shaded=True) for board in boards),
    )
    claims = published.claimed()
    done = finished(runs)
    unit = done[done["method"] == UNIT]["step_seconds"].median()
    # By the mean under the protocol that chooses on held-out classes, where it was run.
    names = max(boards, key=lambda board: board.protocol).ordered()
    names += sorted(set(done["method"]) - set(names))
    rows = [_row(name, boards, done[done["method"] == name], unit, claims, scale) for name in names]
    untrained = claims[claims["note"].str.startswith("published only: ")]
    only = [
        Row(title, _claims(mine), {"method": str(name)}, (str(mine["note"].iloc[0]).removeprefix("published only: "),))
        for (name, title), mine in untrained.groupby(["method", "title"], sort=True)
    ]
    words = [caption.first_sentence("reality_check", scale)]
    words += [f"{board.place()}: {' '.join(board.sentences())}" for board in boards]
    lead = len(words)
    words += [caption.INTERVAL, *CAPTION]
    words += [caption.protocol(board.protocol, runs) for board in boards]
    words += [caption.setting(done), caption.scale(scale)]
    sections = (Section("", tuple(rows)), Section("published only, not trained here", tuple(only)))
    return Table("reality_check", dataset, columns, sections, tuple(words), lead=lead)


def _row(
    name: str, boards: list[Leaderboard], done: pd.DataFrame, unit: float, claims: pd.DataFrame, scale: str
) -> Row:
    mine = claims[claims["method"] == name]
    cells = _card(name) | _claims(mine)
    parameters, step = done["loss_parameters"].max(), done["step_seconds"].median()
    cells |= {"parameters": Cell(known(parameters)), "step": Cell(known(step / unit))}
    for board in boards:
        missing = Cell(missing=True, notes=("no finished run",))
        cells[board.protocol] = board.cell(name) if name in board.scores else missing
    notes = tuple(dict.fromkeys(note for note in mine["note"] if note))
    return Row(style.title(name), cells, {"dataset": boards[0].dataset, "scale": scale, "method": name}, notes)


def _card(name: str) -> dict[str, Cell]:
    try:
        card = baselines.card(name)
    except UserError:  # runs of a method whose file is gone
        return {}
    return {"group": Cell(text=card.group)} | ({"year": Cell(float(card.year))} if card.year else {})


def _claims(mine: pd.DataFrame) -> dict[str, Cell]:
    return {
        f"claimed {row['dataset']}": Cell(text=f"{row['value']} ({_made_with(row)})")
        for row in mine.to_dict("records")
        if row["dataset"] in CLAIMS
    }


def _made_with(row: dict) -> str:
    backbone = row["backbone"].replace("ResNet-50", "R50")
    return f"{backbone}, {row['dimensions']}" if row["dimensions"] else backbone
