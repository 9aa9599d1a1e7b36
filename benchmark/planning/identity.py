"""Identity: the code of a method and the content of a data set, which belong to a run as much as its learning rate does.

Edit a loss or a table, and its runs are other runs: the old ones are kept, and never averaged with the new. Data that come
with the project have the project's version for theirs.
"""

import importlib.util
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import baselines
from benchmark import datasets, sources
from benchmark.errors import UserError
from benchmark.planning.study import Study
from benchmark.results.store import Outcome

EXECUTOR = "benchmark.training.run:run"  # what does a run, unless somebody says otherwise
PROJECT = ("benchmark", "baselines", "plots")


def code_of(method: str, params: Mapping[str, object], executor: str = EXECUTOR) -> str:
    """The fingerprint of what makes a run: the method's code, and an executor's that is not the project's own."""
    own = baselines.fingerprint(method, params.get("base"))
    return own if executor == EXECUTOR else f"{own}+{_executor(executor)}"


def _executor(executor: str) -> str:
    module = executor.partition(":")[0]
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError) as problem:
        raise UserError(f"executor {executor!r} must be an importable module:function ({problem})") from None
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        raise UserError(f"executor {executor!r} must be an importable module:function of a Python file")
    path = Path(found.origin)
    root = path.parents[module.count(".")]
    try:
        return sources.fingerprint(path, root, without=PROJECT)
    except SyntaxError as problem:
        raise UserError(f"executor {executor!r}: {path}:{problem.lineno}: {problem.msg}") from None


@dataclass(frozen=True)
class Identity:
    """What runs would be made of here and now."""

    data: Path | None = None  # the data folder; None: only names are known
    executor: str = EXECUTOR
    stored: Mapping[str, str] = field(default_factory=dict)  # data set → fingerprint of its stored runs
    fetch: bool = False  # whether data that can be downloaded may be
    _known: dict[str, str] = field(default_factory=dict, compare=False)

    def code(self, method: str, params: Mapping[str, object]) -> str:
        key = f"code {method} {params.get('base')}"
        if key not in self._known:
            self._known[key] = code_of(method, params, self.executor)
        return self._known[key]

    def content(self, dataset: str) -> str:
        """The fingerprint of the data; where they are not at hand, that of the stored runs, which so count as done."""
        if datasets.embedded(dataset):
            return ""
        key = f"data {dataset}"
        if key not in self._known:
            self._known[key] = self._opened(dataset)
        return self._known[key]

    def found(self, dataset: str) -> bool:
        """Whether runs on a data set are possible here, or stored."""
        return datasets.embedded(dataset) or self.content(dataset) != "" or dataset in self.stored

    def _opened(self, dataset: str) -> str:
        if self.data is not None and (self.fetch or datasets.at_hand(dataset, self.data)):
            try:
                return datasets.open_dataset(dataset, self.data).fingerprint
            except UserError:  # absent or incomplete: said before anything runs on it
                pass
        return self.stored.get(dataset, "")


def with_data(studies: Iterable[Study], identity: Identity) -> tuple[list[Study], list[str]]:
    """The studies on those of their data sets that are found, and the names of the others.

    Only at scale photos, which is for whatever photos there are; elsewhere data that are missing are an error.
    """
    kept, absent = [], []
    for study in studies:
        here = tuple(d for d in study.datasets if study.scale != "photos" or identity.found(d))
        absent += [d for d in study.datasets if d not in here]
        if here:
            kept.append(replace(study, datasets=here))
    return kept, sorted(set(absent))


def seen(outcomes: Iterable[Outcome]) -> dict[str, str]:
    """Data set → fingerprint in the identity of its stored runs; of several the one that most have."""
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        if outcome.kind:
            counts.setdefault(outcome.kind[0], Counter())[outcome.data] += 1
    return {name: max(mine, key=lambda data: (mine[data], data)) for name, mine in counts.items()}
