"""What is measured of a model: a few numbers along the way, everything once at the end.

Under protocol = validation the test set is looked at once, after the epoch has been chosen on held-out classes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from baselines.contextual import context_loss
from benchmark.datasets._dataset import ArraySource, Dataset, ceiling
from benchmark.errors import UserError
from benchmark.evaluation import (
    Maps,
    distance_histograms,
    health,
    neighbours,
    recall_among_distractors,
    recall_at_1,
    retrieval_metrics,
)
from benchmark.seeds import numpy_generator
from benchmark.spec import RunSpec
from benchmark.training.inputs import Inputs
from benchmark.training.model import EmbeddingModel
from benchmark.training.sampling import balanced
from benchmark.training.training_set import TrainingView

MONITORED_BATCHES = 8  # L_context is monitored on the same few batches after every epoch
MONITORED_EPS = 0.05  # with the ε of the main setting, whatever the method
MONITORED_IMAGES = 2000  # mAP along the way is of so many at most, evenly drawn: of all it costs as much as training
TIMES = (1, 2, 3, 5, 7, 10)  # the size of the gallery: how many distractors are added to it
KEPT_QUERIES, KEPT_NEAREST = 200, 10  # whose neighbours stay with a final run, to be looked at


@dataclass(frozen=True)
class TestSet:
    """The test side of a data set, which need not be the one that is trained on, and images of none of its classes."""

    dataset: Dataset
    query: np.ndarray
    gallery: np.ndarray | None
    inputs: Inputs
    distractors: tuple[tuple[Inputs, np.ndarray], ...] = ()  # inputs and samples of them


@dataclass(frozen=True)
class Judge:
    spec: RunSpec
    dataset: Dataset
    view: TrainingView
    validation: np.ndarray  # held-out training samples, with protocol = validation
    inputs: Inputs
    test: TestSet
    model: EmbeddingModel

    def _embed(self, chunks: Iterable[torch.Tensor], cells: bool = False) -> torch.Tensor:
        self.model.eval()
        embed = self.model.cells if cells else self.model
        with torch.no_grad():
            return torch.cat([embed(x).float() for x in chunks])

    def _cells(self, side: np.ndarray | None) -> torch.Tensor | None:
        return None if side is None else self._embed(self.test.inputs.plain(side), cells=True)

    def check(self) -> None:
        """Refuses, before training, what could not be judged after it."""
        if self.spec.diml:
            self._cells(self.test.query[:1])

    def along(self) -> dict[str, float]:
        """The R@1 that chooses the epoch, which is the score; in a final run also train R@1 and what is monitored.

        A trial is judged by its score alone. Its phase is part of its spec, so no final run can be one judged so.
        """
        judged: dict[str, float] = {}
        if self.spec.protocol == "validation":
            z = self._embed(self.inputs.plain(self.validation))
            judged["val/R@1"] = judged["score"] = recall_at_1(z, self.dataset.labels[self.validation, 0])
        else:
            z, labels, against, others = self._tested()
            judged["test/R@1"] = judged["score"] = recall_at_1(z, labels, against, others)
        if self.spec.phase == "final":
            z = self._embed(self.inputs.plain_train(np.arange(len(self.view.indices))))
            judged = {"train/R@1": recall_at_1(z, self.view.labels)} | judged
            if self.spec.monitor:
                judged |= self._monitored(z)
        return judged | {"mean cosine": float(z.double().mean(0).square().sum())}

    def _tested(self) -> tuple[torch.Tensor, np.ndarray, torch.Tensor | None, np.ndarray | None]:
        """Embeddings and labels (n, levels) of the queries and, where there is one, of the gallery."""
        test, labels = self.test, self.test.dataset.labels
        z = self._embed(test.inputs.plain(test.query))
        if test.gallery is None:
            return z, labels[test.query], None, None
        return z, labels[test.query], self._embed(test.inputs.plain(test.gallery)), labels[test.gallery]

    def _monitored(self, z: torch.Tensor) -> dict[str, float]:
        spec, labels = self.spec, self.view.labels
        order = balanced(labels, spec.batch_size, spec.per_class, numpy_generator("monitor", spec.phase, spec.seed))
        values = []
        for _ in range(MONITORED_BATCHES):
            batch = next(order)
            targets = torch.from_numpy(labels[batch]).to(z.device)
            values.append(float(context_loss(z[torch.from_numpy(batch)], targets, spec.per_class, MONITORED_EPS)))
        step = -(-len(z) // MONITORED_IMAGES)
        ranked = retrieval_metrics(z[::step], labels[::step], ks=(1,))
        return {"train/L_context": sum(values) / len(values), "train/mAP": ranked["mAP"]}

    def finally_(self) -> tuple[dict[str, float], dict[str, list], dict[str, object]]:
        """Everything about the test set: each level, re-ranking, health, the ceiling of the data; histograms; what was found."""
        spec, test, dataset = self.spec, self.test, self.test.dataset
        z, labels, against, others = self._tested()
        maps = Maps(self._cells(test.query), self._cells(test.gallery)) if spec.diml else None
        found = retrieval_metrics(
            z, labels, against, others, ks=spec.ks, levels=dataset.levels, rerank=spec.rerank, diml=spec.diml, maps=maps
        )
        metrics = {}
        for name, value in found.items():  # the finest level goes without its name
            plain = name.removesuffix(f"/{dataset.levels[0]}")
            metrics[plain if plain.startswith(("rerank", "diml")) else f"test/{plain}"] = value
        metrics |= {f"health/{name}": value for name, value in health(z, labels[:, 0]).items()}
        if isinstance(dataset.source, ArraySource) and against is None:
            metrics["data/ceiling R@1"] = ceiling(dataset.source.array[self.test.query], labels[:, 0])
        if dataset.missing:
            metrics["data/missing images"] = dataset.missing
        if self.test.distractors:
            metrics |= self._among_distractors(z, labels, against, others)
        return metrics, distance_histograms(z, labels[:, 0]), self._retrieved(z, against)

    def _among_distractors(
        self, z: torch.Tensor, labels: np.ndarray, against: torch.Tensor | None, others: np.ndarray | None
    ) -> dict[str, float]:
        """R@1 with so many times as many images of no query's class in the gallery as it has of its own."""
        crowd = torch.cat([self._embed(inputs.plain(indices)) for inputs, indices in self.test.distractors])
        own = len(z if against is None else against)
        if len(crowd) < own:
            raise UserError(
                f"gallery_distractors = {self.spec.gallery_distractors!r} are {len(crowd)} images for a gallery of "
                f"{own}; expected as many at least: name more data sets, or judge fewer classes (test_classes)"
            )
        drawn = numpy_generator("gallery distractors", self.test.dataset.name).permutation(len(crowd))
        times = [m for m in TIMES if m * own <= len(crowd)]
        counts = [m * own for m in times]
        recall = recall_among_distractors(z, labels, crowd[torch.from_numpy(drawn)], counts, against, others)
        return {f"distractors{m}/R@1": value for m, value in zip(times, recall, strict=True)}

    def _retrieved(self, z: torch.Tensor, against: torch.Tensor | None) -> dict[str, object]:
        """The nearest images of a few queries, the same for every method and seed: images by their index in the data set."""
        test, query = self.test, self.test.query
        draw = numpy_generator("retrieved", test.dataset.name)
        places = np.sort(draw.choice(len(query), min(KEPT_QUERIES, len(query)), replace=False))
        alone = test.gallery is None  # then each query is looked for among the others
        near = neighbours(z[places], z if against is None else against, k=KEPT_NEAREST + alone)
        index, cosine = near.index.astype(np.int64), near.cosine
        if alone:
            others = np.argsort(index == places[:, None], axis=1, kind="stable")[:, :KEPT_NEAREST]
            index, cosine = np.take_along_axis(index, others, 1), np.take_along_axis(cosine, others, 1)
        inside = (index < near.gallery).all(axis=0)  # a small gallery has fewer
        found = (query if test.gallery is None else test.gallery)[index[:, inside]]
        named = np.unique([*query[places], *found.ravel()])
        return {
            "queries": query[places].tolist(),
            "found": found.tolist(),
            "cosine": cosine[:, inside].round(2).tolist(),
            "labels": {str(i): test.dataset.labels[i].tolist() for i in named},
        }
