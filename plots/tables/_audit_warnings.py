"""What a reviewer would object to in a study, in words: found in its runs and ledger, worst first.

`audit_warnings(frame)` is printed above the fairness audit (`audit.py`) and at the top of the report page. A
warning limits what the numbers mean; a note is something to know.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd

from benchmark.results.store import FAILED
from plots import style
from plots.data import final, finished
from plots.tables import _caption as caption
from plots.tables._cells import trains

ASKED = {"sampler", "warm_epochs"}  # what a method may ask for: proxies see shuffled batches, not balanced ones
FEW = 3  # seeds below which no interval is worth its name

COLUMNS = (
    "dataset", "protocol", "method", "variant", "phase", "seed", "status", "trials", "lr_low", "lr_high",
    "edge", "extended", "search", "ends", "drawn_by", "tuned_at", "variation", "fingerprint", "dirty",
    "commit", "versions", "cpu", *caption.DEVICE, *caption.FACTS,
)  # fmt: skip

Told = tuple[str, str]  # level and text of a flaw


@dataclass(frozen=True)
class Flaw:
    level: str  # warning, note
    text: str
    places: tuple[str, ...] = ()  # "glyphs, protocol test"; none for the whole study

    def __str__(self) -> str:
        where = f" ({'; '.join(self.places)})" if self.places else ""
        return f"{self.level.capitalize()}{where}: {self.text}"


def audit_warnings(frame: pd.DataFrame) -> list[Flaw]:
    """Of one study at one scale, warnings first; what holds in several places is said once."""
    frame = frame[[name for name in COLUMNS if name in frame]]  # a third of the time
    found: dict[Told, list[str]] = {told: [] for check in CHECKS for told in check(frame)}
    for (dataset, protocol), part in frame.groupby(["dataset", "protocol"], sort=True):
        for told in (told for check in LOCAL for told in check(part)):
            found.setdefault(told, []).append(f"{dataset}, protocol {protocol}")
    flaws = [Flaw(*told, tuple(places)) for told, places in found.items()]
    return sorted(flaws, key=lambda flaw: flaw.level != "warning")


def listed(methods: object) -> str:
    """Methods by their titles, in the order of tables; "all methods" is up to the caller."""
    return ", ".join(style.title(name) for name in style.ordered(methods))  # type: ignore[arg-type]


def _by_value(values: pd.Series, shown: Callable[[object], str] = str) -> str:
    """{triplet: 6, contextual: 5} → "6 for Triplet; 5 for Contextual", the most frequent value first."""
    groups = [(shown(value), list(part.index)) for value, part in values.groupby(values, sort=True)]
    groups.sort(key=lambda group: -len(group[1]))
    return "; ".join(f"{value} for {listed(names)}" for value, names in groups)


def _counted(runs: pd.DataFrame) -> str:
    """Methods with the number of their runs."""
    counts = runs.groupby("method").size()
    return ", ".join(f"{style.title(name)} {counts[name]}" for name in style.ordered(counts.index))


def _tuned(part: pd.DataFrame) -> pd.DataFrame:
    return part[part["method"].isin([name for name in part["method"].unique() if trains(name)])]


def unequal_trials(part: pd.DataFrame) -> Iterator[Told]:
    tuned = _tuned(part)
    each = tuned.groupby(["method", tuned["tuned_at"].fillna("")])["trials"].max()
    trials = each.droplevel(1)[lambda found: ~found.reset_index().duplicated().to_numpy()]
    if trials.nunique() > 1:
        yield "warning", f"Tuning budgets differ: trials {_by_value(trials)}."


def unequal_ranges(part: pd.DataFrame) -> Iterator[Told]:
    tuned = _tuned(part)
    tuned = tuned[tuned["trials"] > 0]
    ranges = tuned.groupby("method").agg(low=("lr_low", "min"), high=("lr_high", "max"))
    ranges = pd.Series([f"{low:g} to {high:g}" for low, high in ranges.to_numpy()], ranges.index, dtype=object)
    if ranges.nunique() > 1:
        yield "warning", f"Learning rates were searched in different ranges: {_by_value(ranges)}."


def edges(part: pd.DataFrame) -> Iterator[Told]:
    flagged = final(part)
    flagged = flagged[flagged["edge"].isin(["low", "high"])]
    found: dict[tuple[str, str], list[str]] = {}  # what is best, and where → methods
    for edge, rows in flagged.groupby("edge", sort=True):
        end = rows["lr_low"].min() if edge == "low" else rows["lr_high"].max()
        again = ", even after extending it" if rows["extended"].any() else ""
        found["learning rate", f"{edge} end of the range searched ({end:g}){again}"] = rows["method"].tolist()
    beyond: dict[tuple[str, str], list[str]] = {}  # what is tuned beyond the rate
    for method, ends in final(part)[["method", "ends"]].dropna().drop_duplicates().itertuples(index=False):
        for name, end in json.loads(ends or "{}").items():
            beyond.setdefault((name, f"{end} end of the range searched"), []).append(method)
    for (name, place), methods in (found | dict(sorted(beyond.items()))).items():
        yield "warning", f"The best {name} lies at the {place}: {listed(methods)}. A better one may lie outside."


def shared_rates(part: pd.DataFrame) -> Iterator[Told]:
    runs = final(part)
    shared = runs[runs["tuned_at"].fillna("").ne("") & (runs["tuned_at"] != runs["variation"])]
    if len(shared):
        yield "note", f"Some variations train at the rate that was tuned for another: {listed(shared['method'])}."


def failures(part: pd.DataFrame) -> Iterator[Told]:
    runs = final(part)
    words = {
        "diverged": "diverged", "error": "failed with an error", "out_of_memory": "ran out of memory",
        "timeout": "took too long", "missing": "are missing",
    }  # fmt: skip
    for status, word in words.items():
        if told := _counted(runs[runs["status"] == status]):
            yield "warning", f"Final runs that {word}: {told}. Their means are over fewer seeds."
    trials = part[part["phase"] == "tune"]
    if lost := _counted(trials[trials["status"].isin([*FAILED, "missing"])]):
        yield "warning", f"Tuning trials without a result (failed or missing): {lost}."
    apart = trials.groupby("method")["status"].agg(lambda states: (states == "diverged").mean())
    apart = apart[apart >= 0.5]
    if len(apart):
        yield "note", f"Half of the tuning trials or more diverged: {listed(apart.index)}."


def waiting(part: pd.DataFrame) -> Iterator[Told]:
    begun = set(part["method"]) - set(final(part)["method"])
    if begun:
        yield "warning", f"Tuning is not finished, so there is no result yet: {listed(begun)}."


def few_seeds(part: pd.DataFrame) -> Iterator[Told]:
    planned = final(part).groupby("method")["seed"].nunique()
    if planned.nunique() > 1:
        yield "warning", f"Methods have different numbers of seeds: {_by_value(planned)}."
    elif len(planned) and planned.iloc[0] < FEW:
        seeds = int(planned.iloc[0])
        count = "One seed" if seeds == 1 else f"{seeds} seeds"
        yield "warning", f"{count} per method: differences say next to nothing."


def settings(part: pd.DataFrame) -> Iterator[Told]:
    runs = _tuned(final(part))
    apart: dict[tuple[str, str], list[str]] = {}
    for _, alike in finished(runs).groupby("variant"):
        usual = {name: value for name, value in caption.usual(alike).items() if alike[name].nunique() > 1}
        for method, rows in alike.groupby("method") if usual else ():
            told = caption.unusual(rows, usual, set())
            if told:
                level = "warning" if caption.unusual(rows, usual, ASKED) else "note"
                apart.setdefault((level, told), []).append(str(method))
    for (level, told), methods in apart.items():
        yield level, f"Not the same setting: {listed(methods)} {told}."


def untuned(part: pd.DataFrame) -> Iterator[Told]:
    runs = _tuned(final(part))
    given = runs[runs["trials"].fillna(0) == 0]["method"].unique()
    if len(given) and len(given) == runs["method"].nunique():
        yield "note", "Learning rates were given, not tuned."
    elif len(given):
        yield "warning", f"Some methods were not tuned: {listed(given)}."


def tuned_beyond(part: pd.DataFrame) -> Iterator[Told]:
    more = _tuned(part)[["method", "search"]].drop_duplicates()
    more = more[~more["search"].fillna("{}").isin(["{}", ""])]
    if len(more):
        grid = (part["drawn_by"].fillna("grid") == "grid").any()
        words = "in the same number of trials" + (", so on fewer learning rates" if grid else ", jointly with it")
        yield "note", f"More than the learning rate was tuned, {words}: {listed(more['method'])}."


def data(frame: pd.DataFrame) -> Iterator[Told]:
    for dataset, rows in finished(frame).groupby("dataset"):
        prints = rows["fingerprint"].nunique()
        if prints > 1:
            yield "warning", f"{dataset}: runs were made on {prints} different versions of the data."
        if told := caption.absent(rows):
            yield "note", f"{dataset}: {told}"


def code(frame: pd.DataFrame) -> Iterator[Told]:
    done = frame[frame["status"].isin(["ok", "diverged"])]
    changed = done[done["dirty"].fillna(False).astype(bool)]
    if len(changed):
        some = "All runs" if len(changed) == len(done) else f"{len(changed)} of {len(done)} runs"
        yield "warning", f"{some} were made by code that is in no commit."
    for name, what in (("commit", "commits"), ("versions", "sets of library versions"), ("cpu", "processors")):
        count = done[name].nunique()
        if count > 1:
            words = "" if name == "commit" else "; numbers may differ in the last digits"
            yield "note", f"Runs come from {count} {what}{words}."


def kinds(frame: pd.DataFrame) -> Iterator[Told]:
    if mixed := caption.devices(finished(frame)):
        yield "warning", mixed


def protocols(frame: pd.DataFrame) -> Iterator[Told]:
    if set(frame["protocol"]) == {"test"}:
        yield "note", "Selected on the test classes only, as the paper does: the scores are optimistic."


CHECKS = (data, code, kinds, protocols)
LOCAL = (
    failures, waiting, edges, unequal_trials, unequal_ranges, untuned, few_seeds, settings, tuned_beyond,
    shared_rates,
)  # fmt: skip
