"""From a study's frame to tables of ours beside the paper's: one table per data set, sections by protocol.

Rows are methods and, if the study varies something that is not in the columns, its values. A row never
mixes protocols, scales or settings: each has its own section. The tables of `layouts.py` are made by it.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from benchmark.errors import UserError
from plots import style
from plots.data import Results, datasets, final, finished, variant_text, variant_values
from plots.stats import Published, paired
from plots.tables import _caption as caption
from plots.tables import _cells as cells
from plots.tables import published
from plots.tables._cells import EXTRAS, Layout, Measure
from plots.tables._table import Cell, Column, Row, Section, Table

PAPER_SETTINGS = ("224", "256")  # verdicts are given in these, at scale paper, with selection on the test set
PLACE = ["dataset", "protocol", "setting", "method"]
NEEDED = {
    *PLACE, "variant", "seed", "status", "run_id", "lr", "params", "trials", "tuned", "edge", "lr_low", "lr_high",
    *caption.DEVICE, *caption.FACTS, "evaluate_every", caption.CEILING, caption.MISSING,
}  # columns of a frame that tables read  # fmt: skip
NOT_RUN = "not run here"
COPIED = "copied by the paper from the method's authors, not trained in this setting"


@dataclass(frozen=True)
class Key:
    """What a row is."""

    method: str
    variant: str = ""
    copied: bool = False  # a number that the paper copied: nothing of ours belongs beside it


def compare(
    name: str, frame: pd.DataFrame, results: Results, layout: Layout | Callable[[str], Layout], once: bool = False
) -> list[Table]:
    """One table per data set, those with runs first, then those that only the paper has.

    `name` is that of the study, of the published table and of the file; columns may depend on the data set. With `once`,
    runs that are those of another study (below paper scale, often of `main`) are shown there only.
    """
    if once and name in results.repeats:
        frame = frame.head(0)
    paper = published.load(name) if name in published.names() else published.load().head(0)
    # A method whose tuning is not done has no final runs yet; its row must not vanish.
    done = set(final(frame)[PLACE].itertuples(index=False, name=None))
    begun = frame[[key not in done for key in frame[PLACE].itertuples(index=False, name=None)]]
    runs = pd.concat([final(frame), begun.drop_duplicates([*PLACE, "variant"]).assign(status="tuning")])
    tables = []
    for dataset in dict.fromkeys([*datasets(runs), *paper["dataset"].unique()]):
        made = layout(dataset) if callable(layout) else layout
        of_data = (frame[frame["dataset"] == dataset] for frame in (runs, paper))
        tables.append(Part(name, made, results, dataset, *of_data).table())
    if not tables:
        raise UserError(
            f"its runs at scale {results.scale!r} are those of {results.repeats[name]}, whose table shows them"
        )
    return tables


class Part:
    """The table of one data set."""

    def __init__(
        self, name: str, layout: Layout, results: Results, dataset: str, runs: pd.DataFrame, paper: pd.DataFrame
    ) -> None:  # fmt: skip
        self.name, self.layout, self.results, self.dataset = name, layout, results, dataset
        wanted = NEEDED | {measure.metric for measure in layout.measures}
        self.runs, self.paper = self._split(runs[[name for name in runs if name in wanted]]), self._split(paper)
        self.numbers: dict[tuple[str, Key, str], list[tuple[dict[str, str], Published]]] = {}
        for p in self.paper.itertuples():  # a lookup: filtering a frame for every cell would take minutes
            key = Key(p.method, p.row, p.provenance == "copied")
            spread, trials = (None if pd.isna(x) else x for x in (p.spread, p.trials))
            number = Published(p.value, spread, trials)
            self.numbers.setdefault((p.section, key, p.metric), []).append((p.values, number))
        self.notes = {p.method: p.note for p in self.paper.itertuples() if p.note}
        self.titles = {(p.method, p.provenance == "copied"): p.title for p in self.paper.itertuples()}
        self.vary = {key for text in self.runs["variant"] for key in variant_values(text)}

    def _split(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Adds what a variant says about the section, the row and the column."""
        values = [variant_values(text) for text in frame["variant"]]
        inside = set(self.layout.sections)
        across = {key for measure in self.layout.measures for key in measure.where}
        return frame.assign(
            section=[variant_text({k: x for k, x in v.items() if k in inside}) for v in values],
            row=[variant_text({k: x for k, x in v.items() if k not in inside | across}) for v in values],
            values=values,
        )

    def table(self) -> Table:
        found = [*self.runs[["section", "protocol", "setting"]].drop_duplicates().itertuples(index=False, name=None)]
        ours = {key[:2] for key in found}
        found += [(section, "test", "") for section in self.paper["section"].unique() if (section, "test") not in ours]
        found.sort(key=_place)
        sections = [self._section(*key) for key in found]
        columns = self._columns([row for section in sections for row in section.rows])
        table = Table(self.name, self.dataset, columns, tuple(sections), (), self.layout.stub)
        lead, end = self._caption(table, [key[1] for key in found])
        return dataclasses.replace(table, caption=(*lead, *end), lead=len(lead))

    def _columns(self, rows: list[Row]) -> tuple[Column, ...]:
        """Measures that we or the paper have on this data set, each with the paper's if there is one."""
        found = {key for row in rows for key, cell in row.cells.items() if cell.value is not None or cell.text}

        def filled(*columns: Column) -> list[Column]:
            return [column for column in columns if column.key in found]

        known = [m for m in self.layout.measures if filled(m.column, m.paper_column)] or self.layout.measures
        columns = [column for m in known for column in (m.column, *filled(m.paper_column))]
        return (*columns, *filled(*(EXTRAS[name] for name in self.layout.extras)))

    def _section(self, section: str, protocol: str, setting: str) -> Section:
        runs = self.runs.query("section == @section and protocol == @protocol and setting == @setting")
        paper = self.paper[self.paper["section"] == section] if protocol == "test" else self.paper.head(0)
        comparable = self.results.scale == "paper" and protocol == "test" and setting in PAPER_SETTINGS
        keys = self._keys(runs, paper)
        of = dict(list(runs.groupby(["method", "row"])))
        rows = {key: of.get((key.method, key.variant), runs.head(0)) for key in keys if not key.copied}
        filled: dict[Key, dict[str, Cell]] = {key: {} for key in keys}
        for measure in self.layout.measures:
            ours = self._ours(rows, measure)
            for key in keys:
                cell = filled[key][measure.column.key] = ours.get(key, Cell())
                if protocol == "test":
                    mine = cell if comparable else Cell()
                    filled[key][measure.paper_column.key] = self._paper(section, key, measure, mine)
        usual = caption.usual(finished(runs))
        made = []
        for key in keys:
            if key.copied:
                notes = [COPIED, self.notes.get(key.method)]
            else:
                filled[key] |= cells.extras(rows[key])
                notes = [caption.unusual(rows[key], usual, self.vary) if cells.trains(key.method) else ""]
            told = {"dataset": self.dataset, "protocol": protocol, "scale": self.results.scale}
            told |= {"method": key.method, "variant": key.variant}
            made.append(Row(self._title(key), filled[key], told, tuple(filter(None, notes))).with_shared_notes())
        words = [self._words(section), f"protocol {protocol}", f"setting {setting}" if setting else NOT_RUN]
        return Section(", ".join(filter(None, words)), tuple(made))

    def _keys(self, runs: pd.DataFrame, paper: pd.DataFrame) -> list[Key]:
        copied = paper["provenance"] == "copied"
        first = [Key(row.method, row.row, True) for row in paper[copied].itertuples()]
        own = pd.concat([frame[["method", "row"]] for frame in (runs, paper[~copied])])
        order = list(dict.fromkeys([*self.layout.titles, *self.paper["row"].unique(), *runs["row"].unique()]))
        rest = [
            Key(method, variant)
            for method in style.ordered(own["method"])
            for variant in sorted(own[own["method"] == method]["row"].unique(), key=order.index)
        ]
        return list(dict.fromkeys(first + rest))

    def _ours(self, rows: dict[Key, pd.DataFrame], measure: Measure) -> dict[Key, Cell]:
        """The column of a measure, with the best in bold and what cannot be told from it marked."""
        planned = {key: runs for key, runs in ((key, measure.of(runs)) for key, runs in rows.items()) if len(runs)}
        scores = {key: measure.by_seed(runs) for key, runs in planned.items()}
        made = {key: cells.score(runs, scores[key]) for key, runs in planned.items()}
        # Published rows that have no runs say so; a variant that this study does not have stays empty.
        made |= {key: Cell(missing=True, notes=(NOT_RUN,)) for key, runs in rows.items() if runs.empty}
        if measure.against:
            base = next(m for m in self.layout.measures if m.key == measure.against)
            for key in planned:
                change = paired(scores[key], base.by_seed(base.of(rows[key])))
                if change.n:
                    made[key] = dataclasses.replace(made[key], change=change.mean)
        if measure.ranked:
            marks = cells.marks(pd.DataFrame({key: x for key, x in scores.items() if len(x)}))
            made |= {key: dataclasses.replace(made[key], **marked) for key, marked in marks.items()}
        return made

    def _paper(self, section: str, key: Key, measure: Measure, ours: Cell) -> Cell:
        for values, number in self.numbers.get((section, key, measure.published or measure.metric), []):
            if measure.fits(values):
                if key.copied:
                    return Cell(value=number.value, spread=number.spread)
                return cells.judged(dataclasses.replace(number, rounding=0.5 * 10**-measure.digits), ours)
        return Cell()

    def _title(self, key: Key) -> str:
        printed = self.titles.get((key.method, key.copied), "")
        if key.copied:
            return printed
        alone = self.runs["method"].nunique() <= 1 and set(self.paper["method"]) <= {key.method}
        return caption.named(style.title(key.method, printed), self._words(key.variant), alone)

    def _words(self, variant: str) -> str:
        return self.layout.titles.get(variant) or caption.variant(variant)

    def _caption(self, table: Table, protocols: list[str]) -> tuple[list[str], list[str]]:
        """What the table shows, and how to read it."""
        name, scale, done = self.name, self.results.scale, finished(self.runs)
        keys = {column.key for column in table.columns}
        metrics = [m.metric for m in self.layout.measures if m.column.key in keys]
        methods = {row.keys["method"] for row in table.rows()}
        rows = f"{len(methods)} methods"
        if len(methods) == 1:
            rows = f"{len({row.title for row in table.rows()})} variants of {style.title(*methods)}"
        lead = [f"Study {name}: {caption.headline(self.dataset, metrics, rows, done)}", caption.notes(name, scale)]
        if self.runs.empty:
            again = f"python -m benchmark run {name} --scale paper"
            lead.append(f"Not run at scale {scale}: the paper's numbers stand alone ({again}).")
            if name in self.results.repeats:
                lead.append(f"The runs of this study at this scale are those of {self.results.repeats[name]}.")
        lines = [f"Setting {name}: {caption.setting(runs, self.vary)}" for name, runs in done.groupby("setting")]
        if len(done):
            lines += [caption.protocol(name, self.runs) for name in dict.fromkeys(protocols)]
            lines += [caption.INTERVAL, caption.ceiling(done), caption.absent(done), caption.devices(done)]
            lines += [self.layout.note, caption.scale(scale)]
        if any(column.title == "paper" for column in table.columns):
            lines.append(f"{caption.PAPER} Source: {', '.join(self.paper['source'].unique())}.")
        return [*filter(None, lead)], [*filter(None, lines)]


def _place(key: tuple[str, str, str]) -> tuple:
    """Sections in the order of their numbers; test before validation."""
    numbers = [float(v) if v.replace(".", "", 1).isdigit() else 0.0 for v in variant_values(key[0]).values()]
    return (numbers, *key)
