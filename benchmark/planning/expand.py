"""Resolution: a line of a study (data set, method, protocol, variation) into a RunSpec that says everything.

Defaults, setting, published values, the study and the variation are laid over each other here and nowhere
else; `plan.py` multiplies the result by seeds and learning rates.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import baselines
from benchmark.datasets import check_name, parse, pinned_weights
from benchmark.errors import UserError, unknown
from benchmark.planning import settings
from benchmark.planning.checks import ABOUT, GIVEN, vary_keys
from benchmark.planning.identity import Identity
from benchmark.planning.study import Study
from benchmark.spec import FIELDS, RunSpec

# Of a method that does not train, so that its row is one run whatever the others' schedule.
UNTRAINED: dict[str, Any] = {
    "lr": 1e-3, "epochs": 1, "batches_per_epoch": 1, "lr_steps": (), "warm_epochs": 0, "evaluate_every": 1,
}  # fmt: skip
MOST = 200_000  # runs of a study: what can be planned in half a minute


def varied(study: Study) -> set[str]:
    """Everything that [vary] changes."""
    linked = [key for values in study.vary.values() for value in values if isinstance(value, dict) for key in value]
    return {*study.vary, *linked}


def check_size(study: Study) -> None:
    """Refuses a study that would fill the memory, before it does, and says which number makes it so large."""
    cases = len(study.datasets) * len(study.protocols)
    final = sum(math.prod(map(len, _concerning(study, m).values())) for m in study.methods)
    runs = cases * final * study.seeds
    sizes = {"seeds": study.seeds, "methods": len(study.methods), "data sets": len(study.datasets)}
    sizes |= {"protocols": len(study.protocols)} | {key: len(values) for key, values in study.vary.items()}
    if study.tuning:
        each = math.prod(len(study.vary[key]) for key in study.tuning.each)
        runs += cases * len(study.methods) * each * study.tuning.trials * study.tuning.seeds
        sizes |= {"tuning.trials": study.tuning.trials, "tuning.seeds": study.tuning.seeds}
    if runs > MOST:
        largest = sorted((item for item in sizes.items() if item[1] > 1), key=lambda item: -item[1])
        shown = " × ".join(f"{size:,} {name}" for name, size in largest[:4])
        raise UserError(f"{runs:,} runs are too many (a study may have {MOST:,}): {shown}")


def _concerning(study: Study, method: str) -> dict[str, tuple]:
    """What [vary] changes for a method; with "contextual.lam" the other methods are run once."""
    others = {*baselines.names()} - {method}
    return {key: values for key, values in study.vary.items() if key.partition(".")[0] not in others}


def _elsewhere(value: Any, dataset: str) -> bool:
    """Whether a varied table is said `on` other data sets only; options do not matter."""
    on = value.get("on") if isinstance(value, dict) else None
    return on is not None and parse(dataset)[0] not in {parse(name)[0] for name in on}


def variations(study: Study, method: str, dataset: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every combination of the varied values that concerns a method on a data set: as the ledger shows it, and as changes
    of the spec."""
    if study.tuning and "lr" in varied(study):
        raise UserError(f"study {study.name!r}: lr cannot be in [vary] and in [tuning] at once")
    concerning = {
        key: [value for value in values if not _elsewhere(value, dataset)]
        for key, values in _concerning(study, method).items()
    }
    for key, here in concerning.items():
        if not here:
            raise UserError(f"nothing of vary.{key} is run on {dataset!r}: every table in it is `on` other data sets")
    for values in product(*concerning.values()):
        label: dict[str, Any] = {}
        changes: dict[str, Any] = {}
        for key, value in zip(concerning, values, strict=True):
            several = isinstance(value, dict)  # fields that change together, shown by their `name`
            changed = {k: v for k, v in value.items() if k not in ABOUT} if several else {key: value}
            label[key] = value.get("name", changed) if several else value
            changes |= changed
        yield label, changes


def resolved(
    study: Study, dataset: str, method: str, protocol: str, changes: Mapping[str, Any], identity: Identity | None = None
) -> RunSpec:
    """defaults ← setting ← published ← study ← variation, with every parameter of the loss spelled out."""
    card = baselines.card(method)
    fields = {**settings.setting(study.setting, dataset, method), **study.fields}
    params = {**card.params, **settings.params(study.setting, dataset, method)}
    if fields.get("lr") == "published":
        fields |= {"lr": 1e-3}
        if card.trains:
            told = settings.published(method, dataset, study.setting)
            params |= {key[7:]: value for key, value in told.items() if key.startswith("params.")}
            fields |= {k: v for k, v in told.items() if k in FIELDS and (k == "lr" or k not in study.fields)}
    params |= study.params.get(method, {})
    for key, value in changes.items():
        owner, _, name = key.partition(".")
        if owner in ("params", method):
            params[name] = value
        elif owner in baselines.names():  # "contextual.lam" concerns one method only
            continue
        elif key in FIELDS and key not in GIVEN:
            fields[key] = value
        else:
            raise unknown("key in [vary]", key, vary_keys([method]))
    if not card.trains:
        fields |= UNTRAINED
    if "sampler" not in study.fields and "sampler" not in changes:
        asked = fields.get("sampler", "method")
        fields["sampler"] = card.sampler if asked == "method" or card.sampler == "shuffle" else asked
    typed = {
        key: _typed(value, card.params.get(key))
        for key, value in baselines.checked_params(card, params).items()
        if key not in baselines.LATER or value != card.params[key]
    }
    identity = identity or Identity()
    made_of = {"code": identity.code(method, typed), "data": identity.content(dataset)}
    if fields.get("weights"):
        made_of["weights"] = pinned_weights(fields.pop("weights"), identity.data)
    names = {"dataset": dataset, "method": method, "protocol": protocol, "params": typed}
    spec = RunSpec(**{**names, **made_of, **fields})
    for other in spec.elsewhere():
        check_name(other.dataset)
    contents = [made_of["data"], *(identity.content(other.dataset) for other in spec.elsewhere())]
    return spec.replace(data="+".join(filter(None, contents))) if any(contents[1:]) else spec


def _typed(value: Any, default: Any) -> Any:
    """1 and 1.0 are the same parameter, so they must hash alike."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, int) and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
