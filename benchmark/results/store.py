"""The store: a results folder with one Parquet file per finished run and one ledger per study.

The runner writes here, tables and figures read here (`Store(results).frame()`), and nothing here needs
torch. Layout: `runs/<run_id>.parquet`, `studies/<scale>/<study>.parquet`, `reference/` for runs that come
with the project, and `cache/runs.parquet`, the rows of all files in `runs/` in one, so that thousands are
read as one: it is checked against size and time of every file, so deleting it loses nothing.
"""

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmark import shipped
from benchmark.errors import UserError
from benchmark.results.schema import Foreign, read_file, schema, write_file, write_table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FINISHED = ("ok", "diverged")  # diverging is an outcome of the spec
FAILED = ("error", "out_of_memory", "timeout")  # worth another try
KIND = ("dataset", "backbone", "lane", "image_size", "phase", "method")  # what the time for a batch depends on
OUTCOME = [
    "run_id", "status", "score", "seconds", "preparation", "epochs", "batches_per_epoch", "fingerprint", "data",
    *KIND,
]  # fmt: skip
MANY = 32  # files that are worth gathering
LEFTOVER = 3600.0  # seconds after which nobody is still writing a file

Stamp = tuple[int, int]  # size and time of a file


class Outcome(NamedTuple):
    """What planning has to know about a stored run."""

    status: str
    score: float | None
    seconds: float
    kind: tuple  # values of KIND
    batches: int
    fingerprint: str = ""  # of the data
    preparation: float = 0.0  # of the seconds, those before training
    data: str = ""  # in the identity of the run: the fingerprint of data that do not come with the project

    @property
    def finished(self) -> bool:
        return self.status in FINISHED


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    told = {name: row[name] for name in ("status", "score", "seconds", "fingerprint", "data")}
    preparation = row["preparation"] or 0.0  # not recorded in older rows
    batches, kind = row["epochs"] * max(1, row["batches_per_epoch"]), tuple(row[name] for name in KIND)
    return Outcome(kind=kind, batches=batches, preparation=preparation, **told)


class Store:
    def __init__(self, results: Path, reference: bool = True, notify: Callable[[str], None] = warnings.warn) -> None:
        self.results = results
        self.notify = notify  # told about damaged files
        self.runs = results / "runs"
        self.reference = shipped.reference(results) if reference else None
        self.gathered = results / "cache" / "runs.parquet"

    @classmethod
    def of_folder(cls, folder: Path) -> "Store":
        """Any folder with files of runs: a results folder, or one such as `results/reference`."""
        store = cls(folder)
        if not (folder / "runs").is_dir():
            store.reference = folder
        return store

    def path(self, run_id: str) -> Path:
        return self.runs / f"{run_id}.parquet"

    def check_writable(self) -> None:
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.runs):
                pass
            for leftover in self.runs.glob(".*.tmp"):  # of a driver that was killed while it wrote
                if time.time() - leftover.stat().st_mtime > LEFTOVER:
                    leftover.unlink(missing_ok=True)
        except OSError as problem:
            raise UserError(
                f"cannot write to the results folder {str(self.results)!r} ({problem.strerror}); "
                "choose another one with --results DIR"
            ) from None

    def write_run(self, row: Mapping[str, Any]) -> None:
        write_file(self.path(row["run_id"]), [row], "run")

    def outcome(self, run_id: str) -> Outcome | None:
        """The outcome of one run that was made in this folder, read afresh."""
        table = self._read(self.path(run_id), OUTCOME, repair=True)
        return None if table is None else outcome_of(table.to_pylist()[0])

    def outcomes(self, repair: bool = False) -> dict[str, Outcome]:
        """run_id → outcome of every stored run; with `repair`, damaged files are set aside."""
        found: dict[str, Outcome] = {}
        for table in self._tables(OUTCOME, repair):
            for row in table.to_pylist():
                if row["status"] in FINISHED or row["run_id"] not in found:  # a failure hides no success
                    found[row["run_id"]] = outcome_of(row)
        return found

    def specs(self) -> dict[str, str]:
        """run_id → canonical spec of every stored run."""
        tables = self._tables(["run_id", "spec"], repair=False)
        return {row["run_id"]: row["spec"] for table in tables for row in table.to_pylist()}

    def frame(self, columns: list[str] | None = None) -> "pd.DataFrame":
        """All runs, each once, by run_id; every metric is a column ("test/R@1", fractions)."""
        import pandas as pd
        import pyarrow as pa

        tables = self._tables(columns, repair=False)
        table = pa.concat_tables([schema("run").empty_table().select(columns or schema("run").names), *tables])
        names = [name for name in table.column_names if name != "metrics"]
        frame = table.select(names).to_pandas()
        if "metrics" in table.column_names:
            metrics = pd.DataFrame([dict(row or ()) for row in table["metrics"].to_pylist()], index=frame.index)
            frame = pd.concat([frame, metrics], axis=1)
        if {"run_id", "status"} <= set(frame.columns):
            # The last one stays: finished rather than failed, made here rather than committed.
            frame = frame.iloc[frame["status"].isin(FINISHED).argsort(kind="stable")]
            frame = frame.drop_duplicates("run_id", keep="last").sort_values("run_id", ignore_index=True)
        return frame

    def gather(self) -> None:
        """Puts the rows of many files into one, if there are enough new ones for that to pay."""
        import pyarrow as pa

        current = self._stamps()
        known = self._read_gathered(current, ["run_id"])
        if len(current) - (0 if known is None else known.num_rows) < MANY:
            return
        rows = pa.concat_tables(self._made_here(None, current, repair=False))
        stamps = [current.get(run_id, (0, 0)) for run_id in rows["run_id"].to_pylist()]
        for i, name in enumerate(("size", "modified")):
            rows = rows.append_column(name, pa.array([stamp[i] for stamp in stamps], pa.int64()))
        write_table(self.gathered, rows.cast(schema("gathered")))

    def rows(self, run_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """A few runs as dictionaries, metrics as a dictionary too."""
        wanted = set(run_ids)
        found = {}
        for path in [*self._committed(), *map(self.path, sorted(wanted))] if wanted else []:
            table = self._read(path, None, repair=False)
            for row in table.to_pylist() if table is not None else []:
                if row["run_id"] in wanted and (row["status"] in FINISHED or row["run_id"] not in found):
                    found[row["run_id"]] = row | {"metrics": dict(row["metrics"] or ())}
        return found

    def ledger_path(self, study: str, scale: str) -> Path:
        return self.results / "studies" / scale / f"{study}.parquet"

    def write_ledger(
        self, study: str, scale: str, rows: list[dict[str, Any]], waiting: Collection[tuple[str, str]] = ()
    ) -> bool:
        """Brings a ledger up to date; False if it was. Data sets and methods not in `rows` keep theirs.

        So do those that are `waiting` for other methods' tuning, if the ledger has all of their rows and more:
        final runs that are there are shown until it is known whether they stay.
        """
        path = self.ledger_path(study, scale)
        try:
            before = _rows(path)
        except Foreign as problem:
            self._set_aside(path, f"{problem}; it is made anew from the stored runs")
            before = []
        spoken = {(row["dataset"], row["method"]) for row in rows}
        spoken -= {pair for pair in waiting if _runs(rows, pair) < _runs(before, pair)}
        after = [row for row in before if (row["dataset"], row["method"]) not in spoken]
        after += [row for row in rows if (row["dataset"], row["method"]) in spoken]
        if before == after:
            return False
        write_file(path, after, "ledger")
        return True

    def ledger(self, study: str, scale: str) -> "pd.DataFrame":
        """What the study consists of: one row per trial and final run, with the run_id of its result."""
        import pandas as pd

        return pd.DataFrame(self.ledger_rows(study, scale), columns=schema("ledger").names)

    def ledger_rows(self, study: str, scale: str) -> list[dict[str, Any]]:
        path = self.ledger_path(study, scale)
        try:
            return _rows(path)
        except Foreign as problem:
            raise UserError(
                f"{path}: {problem}; the command that ran the study makes it anew from the stored runs"
            ) from None

    def _tables(self, columns: list[str] | None, repair: bool) -> list["pa.Table"]:
        """All runs; one made here comes after, and so replaces, one that came with the project."""
        committed = [self._read(path, columns, repair) for path in self._committed()]
        made_here = self._made_here(columns, self._stamps(), repair)
        return [table for table in committed if table is not None] + made_here

    def _committed(self) -> list[Path]:
        if self.reference is None:
            return []
        return sorted(self.reference.glob("*.parquet")) + sorted(self.reference.glob("runs/*.parquet"))

    def _made_here(self, columns: list[str] | None, current: dict[str, Stamp], repair: bool) -> list["pa.Table"]:
        """Gathered rows where their files have not changed, and the other files one by one."""
        if not current:
            return []  # and pyarrow is not even loaded
        names = schema("run").names if columns is None else columns
        together = self._read_gathered(current, list(dict.fromkeys(["run_id", *names])))
        known = set() if together is None else set(together["run_id"].to_pylist())
        paths = [self.path(run_id) for run_id in sorted(current.keys() - known)]
        with ThreadPoolExecutor(4) as pool:  # reading releases the interpreter lock
            tables = list(pool.map(lambda path: self._read(path, columns, repair), paths))
        found = [table for table in tables if table is not None]
        return found if together is None else [together.select(names), *found]

    def _stamps(self) -> dict[str, Stamp]:
        """run_id → stamp of every file of a run, in one pass over the folder."""
        if not self.runs.is_dir():
            return {}
        with os.scandir(self.runs) as entries:
            files = [e for e in entries if e.name.endswith(".parquet") and not e.name.startswith(".")]
            about = [(entry.name.removesuffix(".parquet"), entry.stat()) for entry in files]
        return {run_id: (stat.st_size, stat.st_mtime_ns) for run_id, stat in about}

    def _read_gathered(self, current: Mapping[str, Stamp], columns: list[str]) -> "pa.Table | None":
        """The gathered rows whose files are as they were, None if there are none. `columns` has the run_id."""
        import pyarrow as pa

        try:
            table = read_file(self.gathered, "gathered", [*columns, "size", "modified"])
        except (FileNotFoundError, Foreign):  # it is made again
            return None
        if table is None:
            return None
        keys = zip(*(table[name].to_pylist() for name in ("run_id", "size", "modified")), strict=True)
        valid = [current.get(run_id) == (size, modified) for run_id, size, modified in keys]
        if not all(valid):  # pyarrow loads pandas to make an array of a list, which takes half a second
            table = table.filter(pa.array(valid, pa.bool_()))
        return table.select(columns)

    def _read(self, path: Path, columns: list[str] | None, repair: bool) -> "pa.Table | None":
        try:
            if path.parent != self.runs:
                return read_file(path, "run", columns)
            table = read_file(path, "run")  # whole: a run whose curve is damaged must not count as done
            if table is None or table["run_id"].to_pylist() != [path.stem]:
                raise Foreign("does not hold the run that its name says")
            return table if columns is None else table.select(columns)
        except FileNotFoundError:  # set aside by another driver just now
            return None
        except Foreign as problem:
            if repair and path.parent == self.runs:
                self._set_aside(path, f"{problem}; its run is done again")
            else:
                self.notify(f"{path}: {problem}; left out, python -m benchmark run does its run again")
            return None

    def _set_aside(self, path: Path, why: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            path.replace(path.with_name(path.name + ".aside"))
        self.notify(f"{path}: {why}; the file is kept as {path.name}.aside")


def _runs(rows: list[dict[str, Any]], pair: tuple[str, str]) -> set[str]:
    """What a ledger names of a data set and a method."""
    return {row["run_id"] for row in rows if (row["dataset"], row["method"]) == pair}


def _rows(ledger: Path) -> list[dict[str, Any]]:
    try:
        table = read_file(ledger, "ledger")
    except FileNotFoundError:
        return []
    if table is None:
        raise Foreign("is no ledger")
    return table.to_pylist()
