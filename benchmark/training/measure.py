"""What is measured of a model: a few numbers along the way, everything once at the end.

Under protocol = validation the test set is looked at once, after the epoch has been chosen on held-out classes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from baselines.contextual import context_loss
from benchmark.datasets._ceiling import ceiling
from benchmark.datasets._dataset import ArraySource, Dataset
from benchmark.evaluation import distance_histograms, health, neighbours, recall_at_1, retrieval_metrics
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec
from benchmark.training.inputs import Inputs
from benchmark.training.model import EmbeddingModel
from benchmark.training.sampling import balanced
from benchmark.training.training_set import TrainingView

MONITORED_BATCHES = 8  # L_context is monitored on the same few batches after every epoch
MONITORED_EPS = 0.05  # with the ε of the main setting, whatever the method
KEPT_QUERIES, KEPT_NEAREST = 200, 10  # whose neighbours stay with a final run, to be looked at


@dataclass(frozen=True)
class Judge:
    spec: RunSpec
    dataset: Dataset
    view: TrainingView
    validation: np.ndarray  # held-out training samples, with protocol = validation
    query: np.ndarray
    gallery: np.ndarray | None
    inputs: Inputs
    model: EmbeddingModel

    def _embed(self, chunks: Iterable[torch.Tensor]) -> torch.Tensor:
        self.model.eval()
        with torch.no_grad():
            return torch.cat([self.model(x).float() for x in chunks])

    def along(self) -> dict[str, float]:
        """The R@1 that chooses the epoch, which is the score; in a final run also train R@1 and what is monitored.

        A trial is judged by its score alone. Its phase is part of its spec, so no final run can be one judged so.
        """
        judged: dict[str, float] = {}
        if self.spec.protocol == "validation":
            z = self._embed(self.inputs.plain(self.validation))
            judged["val/R@1"] = judged["score"] = recall_at_1(z, self._labels(self.validation)[:, 0])
        else:
            z = self._embed(self.inputs.plain(self.query))
            gallery = None if self.gallery is None else self._embed(self.inputs.plain(self.gallery))
            others = None if self.gallery is None else self._labels(self.gallery)[:, 0]
            judged["test/R@1"] = judged["score"] = recall_at_1(
                z, self._labels(self.query)[:, 0], gallery, others
            )
        if self.spec.phase == "final":
            z = self._embed(self.inputs.plain_train(np.arange(len(self.view.indices))))
            judged = {"train/R@1": recall_at_1(z, self.view.labels)} | judged
            if self.spec.monitor:
                judged |= self._monitored(z)
        return judged | {"mean cosine": float(z.double().mean(0).square().sum())}

    def _labels(self, indices: np.ndarray) -> np.ndarray:
        return self.dataset.labels[indices]  # (n, levels)

    def _monitored(self, z: torch.Tensor) -> dict[str, float]:
        spec, labels = self.spec, self.view.labels
        order = balanced(
            labels, spec.batch_size, spec.per_class, numpy_generator("monitor", spec.phase, spec.seed)
        )
        values = []
        for _ in range(MONITORED_BATCHES):
            batch = next(order)
            targets = torch.from_numpy(labels[batch]).to(z.device)
            values.append(
                float(context_loss(z[torch.from_numpy(batch)], targets, spec.per_class, MONITORED_EPS))
            )
        return {
            "train/L_context": sum(values) / len(values),
            "train/mAP": retrieval_metrics(z, labels, ks=(1,))["mAP"],
        }

    def finally_(self) -> tuple[dict[str, float], dict[str, list], dict[str, object]]:
        """Everything about the test set: each level, re-ranking, health, the ceiling of the data; histograms; what was found."""
        dataset, labels = self.dataset, self._labels(self.query)
        z = self._embed(self.inputs.plain(self.query))
        against = None if self.gallery is None else self._embed(self.inputs.plain(self.gallery))
        others = None if self.gallery is None else self._labels(self.gallery)
        found = retrieval_metrics(
            z, labels, against, others, ks=self.spec.ks, levels=dataset.levels, rerank=self.spec.rerank
        )
        metrics = {}
        for name, value in found.items():  # the finest level goes without its name
            plain = name.removesuffix(f"/{dataset.levels[0]}")
            metrics[plain if plain.startswith("rerank") else f"test/{plain}"] = value
        metrics |= {f"health/{name}": value for name, value in health(z, labels[:, 0]).items()}
        if isinstance(dataset.source, ArraySource) and self.gallery is None:
            metrics["data/ceiling R@1"] = ceiling(dataset.source.array[self.query], labels[:, 0])
        if dataset.missing:
            metrics["data/missing images"] = dataset.missing
        return metrics, distance_histograms(z, labels[:, 0]), self._retrieved(z, against)

    def _retrieved(self, z: torch.Tensor, against: torch.Tensor | None) -> dict[str, object]:
        """The nearest images of a few queries, the same for every method and seed: images by their index in the data set."""
        draw = numpy_generator("retrieved", self.dataset.name)
        places = np.sort(draw.choice(len(self.query), min(KEPT_QUERIES, len(self.query)), replace=False))
        alone = self.gallery is None  # then each query is looked for among the others
        near = neighbours(z[places], z if against is None else against, k=KEPT_NEAREST + alone)
        index, cosine = near.index.astype(np.int64), near.cosine
        if alone:
            others = np.argsort(index == places[:, None], axis=1, kind="stable")[:, :KEPT_NEAREST]
            index, cosine = np.take_along_axis(index, others, 1), np.take_along_axis(cosine, others, 1)
        inside = (index < near.gallery).all(axis=0)  # a small gallery has fewer
        found = (self.query if self.gallery is None else self.gallery)[index[:, inside]]
        named = np.unique([*self.query[places], *found.ravel()])
        return {
            "queries": self.query[places].tolist(),
            "found": found.tolist(),
            "cosine": cosine[:, inside].round(2).tolist(),
            "labels": {str(i): self.dataset.labels[i].tolist() for i in named},
        }
