"""One run from spec to result: data, model, loss, training, judgement.

`run(spec, data=…)` gives the result part of a row; the runner adds the rest and stores it. The same spec gives the same
numbers on the same CPU, bit for bit, whatever ran before it or beside it.
"""

import time
from pathlib import Path

import numpy as np
import torch

import baselines
from benchmark.datasets import embedded, open_dataset
from benchmark.datasets._dataset import Dataset
from benchmark.errors import UserError
from benchmark.seeds import numpy_generator, torch_generator
from benchmark.spec import RunSpec
from benchmark.training.inputs import Inputs, inputs_of, open_inputs
from benchmark.training.measure import Judge, TestSet
from benchmark.training.model import build_model
from benchmark.training.sampling import batches
from benchmark.training.trainer import precision, train
from benchmark.training.training_set import TrainingView, rest_indices, test_indices, training_view, validation_indices


def run(
    spec: RunSpec, *, data: Path, threads: int = 1, device: str | None = None, checkpoint: Path | None = None
) -> dict[str, object]:
    started = time.perf_counter()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # costs, and nothing reads it
    target = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    card = baselines.card(spec.method)
    dataset = open_dataset(spec.dataset, data)
    others = [open_dataset(other.dataset, data) for other in spec.elsewhere()]
    planned = [other.dataset for other in (spec, *spec.elsewhere())]
    now = "+".join(d.fingerprint for d, name in zip((dataset, *others), planned, strict=True) if not embedded(name))
    if spec.data and spec.data != now:
        raise UserError(
            f"the data of {spec.dataset!r} have changed since this run was planned ({spec.data}, now "
            f"{now}); type the same command again: other data are other runs"
        )
    view = training_view(dataset, spec, data)
    inputs, backbone, features = open_inputs(spec, dataset, view, data, target)
    model = build_model(spec, backbone, features).to(target).to(memory_format=torch.channels_last)
    loss = baselines.build(
        spec.method,
        num_classes=view.classes,
        embedding_dim=model.out_dim,
        feature_dim=features,
        generator=torch_generator("loss", spec.phase, spec.seed),
        **spec.params,
    ).to(target)
    elsewhere = [
        (found, inputs_of(other, found, TrainingView.none(), data, target, backbone))
        for found, other in zip(others, spec.elsewhere(), strict=True)
    ]
    test = _test_set(spec, (dataset, inputs), elsewhere)
    judge = Judge(spec, dataset, view, validation_indices(dataset, spec), inputs, test, model)
    judge.check()
    order = batches(
        card.sampler if spec.sampler == "method" else spec.sampler,
        view.labels,
        view.levels[:, dataset.super_level] if len(dataset.levels) > 1 else None,
        spec.batch_size,
        spec.per_class,
        numpy_generator("batches", spec.phase, spec.seed),
    )
    epochs = spec.epochs if card.trains else 0
    preparation = time.perf_counter() - started
    outcome = train(spec, model, loss, inputs, view, order, judge.along, epochs, checkpoint)

    metrics: dict[str, float] = {}
    histograms: dict[str, list] = {}
    retrieved: dict[str, object] = {}
    if outcome.status == "ok":
        model.load_state_dict(outcome.state)
        chosen = next(point for point in outcome.curve if point["epoch"] == outcome.best_epoch)
        metrics = {name: value for name, value in chosen.items() if "/" in name}
        if spec.phase == "final":  # a trial needs its score only, and on held-out classes sees no test set
            judged, histograms, retrieved = judge.finally_()
            metrics |= judged
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return {
        "status": outcome.status,
        "error": outcome.reason,
        "curve": outcome.curve,
        "metrics": metrics,
        "histograms": histograms,
        "retrieved": retrieved,
        "score": outcome.score if outcome.status == "ok" else None,
        "best_epoch": outcome.best_epoch,
        "looks": sum(point["epoch"] > 0 or epochs == 0 for point in outcome.curve),
        "fingerprint": dataset.fingerprint,
        "preparation": preparation,
        "step_seconds": outcome.step_seconds,
        "loss_parameters": sum(p.numel() for p in loss.parameters()),
        "device": target.type,
        "precision_used": precision(spec, target),
        "deterministic": target.type == "cpu",  # on a card an operation may have no such form: torch only warns
    }


def _test_set(spec: RunSpec, own: tuple[Dataset, Inputs], elsewhere: list[tuple[Dataset, Inputs]]) -> TestSet:
    """What is judged: the test side of the data set or of another, with the distractors that the spec asks for."""
    (dataset, inputs), *more = elsewhere if spec.judged_on else [own, *elsewhere]
    query, gallery = test_indices(dataset, spec)
    if spec.gallery_distractors == "rest":
        return TestSet(dataset, query, gallery, inputs, ((inputs, rest_indices(dataset, spec)),))
    return TestSet(dataset, query, gallery, inputs, tuple((i, np.concatenate([d.train, d.test])) for d, i in more))
