"""Everything that `plots/` makes of the results: tables, figures, and why others are not there.

A table or figure is made by itself, so several processes share the work; a folder with little in it is done here.
"""

import hashlib
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from benchmark.errors import UserError
from plots.__main__ import modules, produce
from plots.data import Results
from plots.report.picture import Picture, picture
from plots.style import Drawing
from plots.tables._table import Table

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
    found, broken = modules()
    made = [Made(name, "", "", "", reason=reason) for name, reason in broken.items()]
    todo: dict[tuple[str, str], tuple[str, str, str]] = {}  # name and scale → key of its picture
    for results in of_scales:
        for name, module in found.items():
            key = (name, results.scale, state(results, module.STUDY) if module.KIND == "figure" else "")
            if key in drawn:
                made.append(Made(name, results.scale, "figure", _about(name), picture=drawn[key]))
            else:
                todo[name, results.scale] = key
    for one in _made(list(todo), of_scales):
        if one.picture:
            drawn[todo[one.name, one.scale]] = one.picture
        made.append(one)
    return sorted(
        made, key=lambda one: (one.name, [r.scale for r in of_scales].index(one.scale) if one.scale else 0)
    )


def _made(todo: list[tuple[str, str]], of_scales: list[Results]) -> list[Made]:
    by_scale = {results.scale: results for results in of_scales}
    if sum(len(results.studies()) for results in of_scales) < ENOUGH or PROCESSES == 1:
        return [make(name, by_scale[scale]) for name, scale in todo]
    # What spans all studies takes longest, so it starts first; what counts other tables waits for them.
    todo = sorted(todo, key=lambda place: bool(modules()[0][place[0]].STUDY))
    last = [place for place in todo if getattr(modules()[0][place[0]], "LAST", False)]
    first = of_scales[0]
    with ProcessPoolExecutor(
        PROCESSES,
        get_context("spawn"),  # forking a process that has threads may hang
        initializer=_start,
        initargs=(first.root, list(by_scale), first.runs),
    ) as pool:
        made = list(pool.map(_task, [place for place in todo if place not in last]))
    for one in made:
        if one.tables:
            by_scale[one.scale].tables[one.name] = one.tables
    return made + [make(name, by_scale[scale]) for name, scale in last]


_here: dict[str, Results] = {}  # of a worker: scale → results


def _start(root: Path, scales: list[str], runs: pd.DataFrame) -> None:
    _here.update({scale: Results(root, scale, runs) for scale in scales})


def _task(place: tuple[str, str]) -> Made:
    return make(place[0], _here[place[1]])


def make(name: str, results: Results) -> Made:
    module = modules()[0][name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = produce(module, results)
            if isinstance(done, Drawing):
                return Made(name, results.scale, "figure", _about(name), picture=picture(done))
            return Made(name, results.scale, "table", _about(name), tables=done)
    except Exception as problem:  # one table that cannot be made must not cost the page
        kind = "" if isinstance(problem, UserError) else f"{type(problem).__name__}: "
        return Made(name, results.scale, module.KIND, _about(name), reason=f"{kind}{problem}")


def _about(name: str) -> str:
    return (modules()[0][name].__doc__ or name).splitlines()[0].removeprefix("Figure: ")


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
