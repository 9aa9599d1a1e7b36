"""Everything that `plots/` makes of the results of one scale: tables, figures, and why others are not there."""

import hashlib
import warnings
from dataclasses import dataclass, field

import pandas as pd

from benchmark.errors import UserError
from plots.__main__ import modules, produce
from plots.frames import Results
from plots.report.picture import Picture, picture
from plots.style import Drawing
from plots.table import Table

Pictures = dict[tuple[str, str, str], Picture]  # (name, scale, state of the results) → picture


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


def collect(results: Results, drawn: Pictures) -> list[Made]:
    """Every table and figure in the order of their names; `drawn` keeps pictures for the next time."""
    found, broken = modules()
    made = [_make(name, results, drawn) for name in found]
    return made + [Made(name, results.scale, "", "", reason=reason) for name, reason in broken.items()]


def _make(name: str, results: Results, drawn: Pictures) -> Made:
    module = modules()[0][name]
    about = (module.__doc__ or name).splitlines()[0].removeprefix("Figure: ")
    key = (name, results.scale, "")
    try:
        if module.KIND == "figure":
            key = (name, results.scale, state(results, module.STUDY))
            if key in drawn:
                return Made(name, results.scale, "figure", about, picture=drawn[key])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = produce(module, results)
            if not isinstance(done, Drawing):
                return Made(name, results.scale, "table", about, tables=done)
            drawn[key] = picture(done)
            return Made(name, results.scale, "figure", about, picture=drawn[key])
    except Exception as problem:  # one table that cannot be made must not cost the page
        kind = "" if isinstance(problem, UserError) else f"{type(problem).__name__}: "
        return Made(name, results.scale, module.KIND, about, reason=f"{kind}{problem}")


def state(results: Results, study: str) -> str:
    """A hash that changes when a run of the study (of any, without a study) is added or replaced."""
    rows = results.frame(study) if study else results.runs
    told = rows[["run_id", "status", "finished"]].fillna("")
    return hashlib.sha256(pd.util.hash_pandas_object(told, index=False).to_numpy().tobytes()).hexdigest()
