"""One run from spec to result: data, model, loss, training, judgement.

`run(spec, data=…)` gives the result part of a row; the runner adds the rest and stores it. The same spec gives the same
numbers on the same CPU, bit for bit, whatever ran before it or beside it.
"""

from pathlib import Path

import numpy as np
import torch

import baselines
from benchmark.ceiling import ceiling
from benchmark.corruption import test_indices, training_view, validation_indices
from benchmark.datasets import open_dataset
from benchmark.datasets.dataset import ArraySource, Dataset
from benchmark.evaluation import distance_histograms, health, recall_at_1, reranked_metrics, retrieval_metrics
from benchmark.inputs import open_inputs
from benchmark.model import build_model
from benchmark.samplers import batches
from benchmark.seeds import numpy_generator, torch_generator
from benchmark.spec import RunSpec
from benchmark.trainer import train


def run(
    spec: RunSpec, *, data: Path, threads: int = 1, device: str | None = None, checkpoint: Path | None = None
) -> dict[str, object]:
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    target = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    card = baselines.card(spec.method)
    dataset = open_dataset(spec.dataset, data)
    view = training_view(dataset, spec)
    validation = validation_indices(dataset, spec)  # empty with protocol = "test"
    query, gallery = test_indices(dataset, spec)
    inputs, backbone, features = open_inputs(spec, dataset, view, data, target)
    model = build_model(spec, backbone, features).to(target)
    loss = baselines.build(
        spec.method,
        num_classes=view.classes,
        embedding_dim=model.out_dim,
        generator=torch_generator("loss", spec.phase, spec.seed),
        **spec.params,
    ).to(target)

    def embed(chunks) -> torch.Tensor:
        model.eval()
        with torch.no_grad():
            return torch.cat([model(x).float() for x in chunks])

    def judge() -> dict[str, float]:
        """Train R@1 and the R@1 that chooses the epoch; the test set is not touched under protocol = validation."""
        z = embed(inputs.plain_train(np.arange(len(view.indices))))
        judged = {
            "train/R@1": recall_at_1(z, view.labels),
            "mean cosine": float(z.double().mean(0).square().sum()),
        }
        if spec.protocol == "validation":
            held_out = embed(inputs.plain(validation))
            judged["val/R@1"] = judged["score"] = recall_at_1(held_out, dataset.labels[validation, 0])
        else:
            found = [embed(inputs.plain(i)) for i in ([query] if gallery is None else [query, gallery])]
            sides = [dataset.labels[i, 0] for i in ([query] if gallery is None else [query, gallery])]
            judged["test/R@1"] = judged["score"] = recall_at_1(found[0], sides[0], *found[1:], *sides[1:])
        return judged

    supers = view.supers if len(dataset.levels) > 1 else None
    sampler = card.sampler if spec.sampler == "method" else spec.sampler
    order = batches(
        sampler,
        view.labels,
        supers,
        spec.batch_size,
        spec.per_class,
        numpy_generator("batches", spec.phase, spec.seed),
    )
    epochs = spec.epochs if card.trains else 0
    outcome = train(spec, model, loss, inputs, view.labels, order, judge, epochs, checkpoint)

    result: dict[str, object] = {
        "status": outcome.status,
        "error": outcome.reason,
        "curve": outcome.curve,
        "metrics": {},
        "histograms": {},
        "score": outcome.score if outcome.status == "ok" else None,
        "best_epoch": outcome.best_epoch,
        "fingerprint": dataset.fingerprint,
    }
    if outcome.status == "ok":
        model.load_state_dict(outcome.state)
        chosen = next(point for point in outcome.curve if point["epoch"] == outcome.best_epoch)
        metrics = {
            name: value for name, value in chosen.items() if "/R@1" in name or name.startswith("loss/")
        }
        if (
            spec.protocol == "test" or spec.phase == "final"
        ):  # a tuning run on held-out classes never sees the test set
            z = embed(inputs.plain(query))
            against = None if gallery is None else embed(inputs.plain(gallery))
            metrics |= _test_metrics(spec, dataset, query, gallery, z, against)
            result["histograms"] = distance_histograms(z, dataset.labels[query, 0])
        result["metrics"] = metrics
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return result


def _test_metrics(
    spec: RunSpec,
    dataset: Dataset,
    query: np.ndarray,
    gallery: np.ndarray | None,
    z: torch.Tensor,
    against: torch.Tensor | None,
) -> dict[str, float]:
    """Everything that is said about the test set: each level, re-ranking, health, and the ceiling of the data."""
    labels = dataset.labels[query]
    others = None if gallery is None else dataset.labels[gallery]
    found = retrieval_metrics(z, labels, against, others, ks=spec.ks, levels=dataset.levels)
    finest = f"/{dataset.levels[0]}"
    metrics = {f"test/{name.removesuffix(finest)}": value for name, value in found.items()}
    for k in spec.rerank:
        fine = None if others is None else others[:, 0]
        again = reranked_metrics(z, labels[:, 0], against, fine, k=k, ks=spec.ks)
        metrics |= {f"rerank{k}/{name}": value for name, value in again.items()}
    metrics |= {f"health/{name}": value for name, value in health(z, labels[:, 0]).items()}
    if isinstance(dataset.source, ArraySource) and gallery is None:
        metrics["data/ceiling R@1"] = ceiling(dataset.source.array[query], labels[:, 0])
    return metrics
