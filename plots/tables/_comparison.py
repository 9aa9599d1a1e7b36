"""From a study's frame to tables of ours beside the paper's: one table per data set, sections by protocol.

Rows are methods and, if the study varies something that is not in the columns, its values. A row never
mixes protocols, scales or settings: each has its own section. Every table module uses it.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from plots import style
from plots.data import Results, datasets, final, variant_text, variant_values
from plots.stats import Published, paired, separable
from plots.tables import _caption as caption
from plots.tables import _cells as cells
from plots.tables import _published as published
from plots.tables._layout import EXTRAS, Layout, Measure
from plots.tables._table import Cell, Column, Row, Section, Table

PAPER_SETTINGS = ("224", "256")  # verdicts are given in these, at scale paper, with selection on the test set
NEEDED = {
    *("dataset", "method", "protocol", "setting", "variant", "seed", "status", "run_id", "lr", "params"),
    *("trials", "tuned", "edge", "lr_low", "lr_high", *caption.DEVICE, *caption.FACTS),
}  # columns of a frame that tables read
NOT_RUN = "not run here"
COPIED = "copied by the paper from the method's authors, not trained in this setting"


@dataclass(frozen=True)
class Key:
    """What a row is."""

    method: str
    variant: str = ""
    copied: bool = False  # a number that the paper copied: nothing of ours belongs beside it


def compare(name: str, frame: pd.DataFrame, results: Results, layout: Layout | Callable[[str], Layout]) -> list[Table]:
    """One table per data set, those with runs first, then those that only the paper has.

    `name` is that of the study, of the published table and of the file; columns may depend on the data set.
    """
    paper = published.load(name) if name in published.names() else published.load().head(0)
    # A method whose tuning is not done has no final runs yet; its row must not vanish.
    places = ["dataset", "protocol", "setting", "method"]
    done = set(final(frame)[places].itertuples(index=False, name=None))
    begun = frame[[key not in done for key in frame[places].itertuples(index=False, name=None)]]
    begun = begun.drop_duplicates([*places, "variant"]).assign(status="tuning")
    runs = pd.concat([final(frame), begun])
    return [
        Part(
            name,
            layout(dataset) if callable(layout) else layout,
            results,
            dataset,
            runs[runs["dataset"] == dataset],
            paper[paper["dataset"] == dataset],
        ).table()
        for dataset in dict.fromkeys([*datasets(runs), *paper["dataset"].unique()])
    ]


class Part:
    """The table of one data set."""

    def __init__(
        self, name: str, layout: Layout, results: Results, dataset: str, runs: pd.DataFrame, paper: pd.DataFrame
    ) -> None:  # fmt: skip
        self.name, self.layout, self.results, self.dataset = name, layout, results, dataset
        metrics = {"data/ceiling R@1", caption.MISSING, *(measure.metric for measure in layout.measures)}
        wanted = [name for name in runs if name in NEEDED or name in metrics]
        self.runs, self.paper = self._split(runs[wanted]), self._split(paper)
        self.numbers: dict[tuple[str, Key, str], list[tuple[dict[str, str], Published]]] = {}
        for p in self.paper.itertuples():  # a lookup: filtering a frame for every cell would take minutes
            key = Key(p.method, p.row, p.provenance == "copied")
            spread, runs_ = (None if pd.isna(x) else x for x in (p.spread, p.trials))
            number = Published(p.value, spread, runs_)
            self.numbers.setdefault((p.section, key, p.metric), []).append((p.values, number))
        self.notes = {p.method: p.note for p in self.paper.itertuples() if p.note}
        self.titles = {(p.method, p.provenance == "copied"): p.title for p in self.paper.itertuples()}
        self.vary = {key for text in self.runs["variant"] for key in variant_values(text)}

    def _split(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Adds what a variant says about the section, the row and the column."""
        values = [variant_values(text) for text in frame["variant"]]
        inside, across = set(self.layout.sections), self.layout.varied

        def part(of: dict[str, str], keep) -> str:
            return variant_text({key: value for key, value in of.items() if keep(key)})

        return frame.assign(
            section=[part(v, lambda k: k in inside) for v in values],
            row=[part(v, lambda k: k not in inside and k not in across) for v in values],
            values=values,
        )

    def table(self) -> Table:
        keys = [*self.runs[["section", "protocol", "setting"]].drop_duplicates().itertuples(index=False)]
        found = [tuple(key) for key in keys]
        only_paper = [s for s in self.paper["section"].unique() if (s, "test") not in [key[:2] for key in found]]
        found = sorted(found + [(section, "test", "") for section in only_paper], key=self._place)
        sections = [self._section(*key) for key in found]
        columns = self._columns([row for section in sections for row in section.rows])
        table = Table(self.name, self.dataset, columns, tuple(sections), (), self.layout.stub)
        return dataclasses.replace(table, caption=self._caption(table, [key[1] for key in found]))

    def _columns(self, rows: list[Row]) -> tuple[Column, ...]:
        """Measures that we or the paper have on this data set, each with the paper's if there is one."""

        def filled(column: Column) -> bool:
            cells = [row.cells.get(column.key, Cell()) for row in rows]
            return any(cell.value is not None or cell.text for cell in cells)

        known = [m for m in self.layout.measures if filled(m.column) or filled(m.paper_column)]
        columns = []
        for measure in known or self.layout.measures:
            columns += [measure.column, *([measure.paper_column] if filled(measure.paper_column) else [])]
        return (*columns, *(EXTRAS[name] for name in self.layout.extras if filled(EXTRAS[name])))

    def _place(self, key: tuple[str, str, str]) -> tuple:
        """Test before validation; sections in the order of their numbers."""
        numbers = [float(v) if v.replace(".", "", 1).isdigit() else 0.0 for v in variant_values(key[0]).values()]
        return (numbers, key[0], key[1], key[2])

    def _section(self, section: str, protocol: str, setting: str) -> Section:
        chosen = (
            (self.runs["section"] == section) & (self.runs["protocol"] == protocol) & (self.runs["setting"] == setting)
        )
        runs = self.runs[chosen]
        paper = self.paper[self.paper["section"] == section] if protocol == "test" else self.paper.head(0)
        comparable = self.results.scale == "paper" and protocol == "test" and setting in PAPER_SETTINGS
        keys = self._keys(runs, paper)
        of = dict(list(runs.groupby(["method", "row"])))
        rows = {key: of.get((key.method, key.variant), runs.head(0)) for key in keys if not key.copied}
        usual = caption.usual(runs[runs["status"] == "ok"])
        filled: dict[Key, dict[str, Cell]] = {key: {} for key in keys}
        for measure in self.layout.measures:
            ours = self._ours(rows, measure)
            for key in keys:
                cell = ours.get(key, Cell())
                filled[key][measure.column.key] = cell
                if protocol == "test":
                    paper_cell = self._paper(section, key, measure, cell, comparable)
                    filled[key][measure.paper_column.key] = paper_cell
        made = []
        for key in keys:
            notes = tuple(filter(None, (COPIED, self.notes.get(key.method)))) if key.copied else ()
            if not key.copied:
                filled[key] |= cells.extras(rows[key], self.layout.extras)
                apart = caption.unusual(rows[key], usual, self.vary) if cells.trains(key.method) else ""
                if apart:
                    notes = (apart,)
            row = Row(self._title(key), filled[key], self._told(key, protocol), notes)
            made.append(row.with_shared_notes())
        words = [self._words(section), f"protocol {protocol}", f"setting {setting}" if setting else NOT_RUN]
        return Section(", ".join(filter(None, words)), tuple(made))

    def _keys(self, runs: pd.DataFrame, paper: pd.DataFrame) -> list[Key]:
        copied = paper[paper["provenance"] == "copied"]
        first = [Key(row.method, row.row, True) for row in copied.itertuples()]
        own = pd.concat([runs[["method", "row"]], paper[paper["provenance"] != "copied"][["method", "row"]]])
        order = [*self.layout.titles, *self.paper["row"].unique(), *runs["row"].unique()]
        place = {text: i for i, text in enumerate(dict.fromkeys(order))}
        rest = [
            Key(method, variant)
            for method in style.ordered(own["method"])
            for variant in sorted(own[own["method"] == method]["row"].unique(), key=lambda text: place[text])
        ]
        return list(dict.fromkeys(first + rest))

    def _ours(self, rows: dict[Key, pd.DataFrame], measure: Measure) -> dict[Key, Cell]:
        """The column of a measure, with the best in bold and what cannot be told from it marked."""
        column = {key: cells.matching(runs, measure.where) for key, runs in rows.items()}
        planned = {key: runs for key, runs in column.items() if len(runs)}
        scores = {key: cells.by_seed(runs, measure.metric) for key, runs in planned.items()}
        made = {key: cells.score(runs, scores[key]) for key, runs in planned.items()}
        # Published rows that have no runs say so; a variant that this study does not have stays empty.
        made |= {key: Cell(missing=True, notes=(NOT_RUN,)) for key, runs in rows.items() if runs.empty}
        if measure.against:
            base = next(m for m in self.layout.measures if m.key == measure.against)
            for key in planned:
                before = cells.by_seed(cells.matching(rows[key], base.where), base.metric)
                change = paired(scores[key], before)
                if change.n:
                    made[key] = dataclasses.replace(made[key], change=change.mean)
        table = pd.DataFrame({key: x for key, x in scores.items() if len(x)})
        if measure.ranked and table.shape[1] > 1:
            best = table.mean().idxmax()
            told = separable(table)["separable"]
            for key in table.columns:
                made[key] = dataclasses.replace(made[key], best=key == best, tied=key != best and not told[key])
        return made

    def _paper(self, section: str, key: Key, measure: Measure, ours: Cell, comparable: bool) -> Cell:
        for values, number in self.numbers.get((section, key, measure.published or measure.metric), []):
            if all(values.get(name) == wanted for name, wanted in measure.where.items()):
                if key.copied:
                    return Cell(value=number.value, spread=number.spread)
                rounded = dataclasses.replace(number, rounding=0.5 * 10**-measure.digits)
                return cells.judged(rounded, ours if comparable else Cell())
        return Cell()

    def _title(self, key: Key) -> str:
        printed = self.titles.get((key.method, key.copied), "")
        if key.copied:
            return printed
        title = style.title(key.method, printed)
        alone = self.runs["method"].nunique() <= 1 and set(self.paper["method"]) <= {key.method}
        words = self._words(key.variant)
        return words if alone and words else title + (f" ({words})" if words else "")

    def _words(self, variant: str) -> str:
        if variant in self.layout.titles:
            return self.layout.titles[variant]
        return ", ".join(f"{key} {value}" for key, value in variant_values(variant).items())

    def _told(self, key: Key, protocol: str) -> dict[str, str]:
        told = {"dataset": self.dataset, "protocol": protocol, "scale": self.results.scale}
        return told | {"method": key.method, "variant": key.variant}

    def _compared(self, table: Table) -> str:
        """What the rows are, in words."""
        methods = {row.keys["method"] for row in table.rows()}
        if len(methods) > 1:
            return f"{len(methods)} methods"
        return f"{len({row.title for row in table.rows()})} variants of {style.title(methods.pop())}"

    def _caption(self, table: Table, protocols: list[str]) -> tuple[str, ...]:
        name, scale = self.name, self.results.scale
        done = self.runs[self.runs["status"] == "ok"]
        keys = {column.key for column in table.columns}
        metrics = [m.metric for m in self.layout.measures if m.column.key in keys]
        lines = [f"Study {name}: {caption.headline(self.dataset, metrics, self._compared(table), done)}"]
        lines.append(caption.notes(name, scale))
        if self.runs.empty:
            again = f"python -m benchmark run {name} --scale paper"
            lines.append(f"Not run at scale {scale}: the paper's numbers stand alone ({again}).")
            if name in self.results.repeats:
                lines.append(f"The runs of this study at this scale are those of {self.results.repeats[name]}.")
        for setting, runs in done.groupby("setting"):
            lines.append(f"Setting {setting}: {caption.setting(runs, self.vary)}")
        if len(done):
            lines += [caption.protocol(name, self.runs) for name in dict.fromkeys(protocols)]
            lines += [
                caption.INTERVAL,
                caption.ceiling(done),
                caption.absent(done),
                caption.devices(done),
                self.layout.note,
                caption.SCALES.get(scale, f"Scale {scale}."),
            ]
        if any(column.title == "paper" for column in table.columns):
            lines.append(f"{caption.PAPER} Source: {', '.join(self.paper['source'].unique())}.")
        return tuple(filter(None, lines))
