"""Everything that `plots/` makes of the results: tables, figures as they go into the page, and why others are not there.

A table or figure is made by itself, so several processes share the work; a folder with little in it is done here.
"""

import hashlib
import io
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

import matplotlib
import pandas as pd
from PIL import Image

from benchmark.errors import UserError
from plots.catalogue import Entry, entries
from plots.data import Results
from plots.figures._drawing import UNDATED, Drawing, settle, theme
from plots.report.page import data_uri
from plots.tables._table import Table

DPI = 170  # sharp at twice the width that a figure has in a paper
COLOURS = 128  # of the palette; a third of the bytes, and no difference that can be seen in line art
LARGEST_PDF = 300_000  # bytes; scatter plots beyond it are left to `python -m plots figures`


@dataclass(frozen=True)
class Picture:
    png: str  # data URI
    pdf: str  # data URI, "" where it is too large
    width: int  # pixels
    height: int
    caption: str


Pictures = dict[tuple[str, str, str], Picture]  # (name, scale, state of the results) → picture
PROCESSES = min(4, os.cpu_count() or 1)
ENOUGH = 4  # studies from which on starting processes pays


@dataclass(frozen=True)
class Made:
    """What one module of `plots/` made."""

    name: str
    scale: str
    kind: str  # table, figure
    about: str  # the first line of its docstring
    tables: list[Table] = field(default_factory=list)
    picture: Picture | None = None
    reason: str = ""  # why there is nothing


def collect(of_scales: list[Results], drawn: Pictures) -> list[Made]:
    """Every table and figure of every scale, by name; `drawn` keeps pictures for the next time."""
    found, broken = entries()
    made = [Made(name, "", "", "", reason=reason) for name, reason in broken.items()]
    todo: dict[tuple[str, str], tuple[str, str, str]] = {}  # name and scale → key of its picture
    for results in of_scales:
        for name, entry in found.items():
            key = (name, results.scale, state(results, entry.study) if entry.kind == "figure" else "")
            if key in drawn:
                made.append(Made(name, results.scale, "figure", entry.about, picture=drawn[key]))
            else:
                todo[name, results.scale] = key
    for one in _made(list(todo), found, of_scales):
        if one.picture:
            drawn[todo[one.name, one.scale]] = one.picture
        made.append(one)
    return sorted(made, key=lambda one: (one.name, [r.scale for r in of_scales].index(one.scale) if one.scale else 0))


def _made(todo: list[tuple[str, str]], found: dict[str, Entry], of_scales: list[Results]) -> list[Made]:
    by_scale = {results.scale: results for results in of_scales}
    if sum(len(results.studies()) for results in of_scales) < ENOUGH or PROCESSES == 1:
        return [make(found[name], by_scale[scale]) for name, scale in todo]
    # What spans all studies takes longest, so it starts first; what counts other tables waits for them.
    todo = sorted(todo, key=lambda place: bool(found[place[0]].study))
    last = [place for place in todo if found[place[0]].last]
    first = of_scales[0]
    with ProcessPoolExecutor(
        PROCESSES,
        get_context("spawn"),  # forking a process that has threads may hang
        initializer=_start,
        initargs=(first.root, list(by_scale), first.runs, first.data),
    ) as pool:
        made = list(pool.map(_task, [place for place in todo if place not in last]))
    for one in made:
        if one.tables:
            by_scale[one.scale].tables[one.name] = one.tables
    return made + [make(found[name], by_scale[scale]) for name, scale in last]


_here: dict[str, Results] = {}  # of a worker: scale → results


def _start(root: Path, scales: list[str], runs: pd.DataFrame, data: Path) -> None:
    _here.update({scale: Results(root, scale, runs, data) for scale in scales})


def _task(place: tuple[str, str]) -> Made:
    return make(entries()[0][place[0]], _here[place[1]])


def make(entry: Entry, results: Results) -> Made:
    made = Made(entry.name, results.scale, entry.kind, entry.about)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = entry.produce(results)
            if entry.kind == "figure":
                return replace(made, picture=picture(done))
            return replace(made, tables=done)
    except Exception as problem:  # one table that cannot be made must not cost the page
        kind = "" if isinstance(problem, UserError) else f"{type(problem).__name__}: "
        return replace(made, reason=f"{kind}{problem}")


def picture(drawing: Drawing) -> Picture:
    # Type 3 fonts take a third of the time; for printing there are the files of `python -m plots figures`.
    with matplotlib.rc_context(theme() | {"pdf.fonttype": 3}):
        settle(drawing.figure)
        raw = io.BytesIO()
        drawing.figure.savefig(raw, format="png", dpi=DPI, metadata=UNDATED["png"])
        vector = io.BytesIO()
        drawing.figure.savefig(vector, format="pdf", metadata=UNDATED["pdf"])
    image = Image.open(raw).convert("RGB")
    small = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    pdf = vector.getvalue()
    return Picture(
        png=data_uri("image/png", small.getvalue()),
        pdf=data_uri("application/pdf", pdf) if len(pdf) <= LARGEST_PDF else "",
        width=image.width,
        height=image.height,
        caption=drawing.caption.strip(),
    )


def state(results: Results, study: str) -> str:
    """A hash that changes when a run of the study (of any, without a study) is added or replaced."""
    try:
        rows = results.frame(study) if study else results.runs
    except UserError:  # not run: drawing says so better
        return ""
    told = rows[["run_id", "status", "finished"]].fillna("")
    found = hashlib.sha256(pd.util.hash_pandas_object(told, index=False).to_numpy().tobytes())
    for folder in () if study else ("synthetic", "bench"):
        for path in sorted((results.root / folder).glob("*.parquet")):
            found.update(f"{path} {path.stat().st_mtime_ns}".encode())
    return found.hexdigest()
