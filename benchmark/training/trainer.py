"""The training loop: the same for every method.

Takes a model, a loss and endless batches; gives the curve of train and test R@1 and the weights of the best epoch.
`run.py` puts the pieces together; nothing here knows data sets or methods by name. A run that goes on from its checkpoint
ends with the numbers of an uninterrupted one.
"""

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from baselines._loss import Loss, Seen
from benchmark.files import replacing
from benchmark.spec import RunSpec
from benchmark.training.inputs import Inputs
from benchmark.training.model import EmbeddingModel
from benchmark.training.training_set import TrainingView

COLLAPSED = 0.9999  # a mean cosine over all pairs from which on an embedding holds nothing
EVERY = 60.0  # seconds between checkpoints; a run shorter than that writes none


@dataclass
class Outcome:
    status: str = "ok"  # or "diverged", "error"
    reason: str = ""
    curve: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = -1
    score: float = -math.inf
    state: dict[str, torch.Tensor] = field(default_factory=dict)  # weights of the best epoch
    step_seconds: float | None = None  # median over the steps of the last epoch


def train(
    spec: RunSpec,
    model: EmbeddingModel,
    loss: Loss,
    inputs: Inputs,
    view: TrainingView,
    batches: Iterator[np.ndarray],
    judge: Callable[[], dict[str, float]],  # metrics of the model as it is; "score" is what is maximised
    epochs: int,
    checkpoint: Path | None = None,
) -> Outcome:
    device = next(model.parameters()).device
    targets, all_levels = (torch.from_numpy(values).to(device) for values in (view.labels, view.levels))
    optimizer = _optimizer(spec, model, loss)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, list(spec.lr_steps), spec.lr_factor)
    amp = precision(spec, device) == "amp"
    scaler = torch.amp.GradScaler(enabled=amp)
    per_epoch = spec.batches_per_epoch or max(1, len(view.labels) // spec.batch_size)
    outcome = Outcome()
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    saved = Checkpoint(checkpoint, model=model, loss=loss, optimizer=optimizer, scheduler=scheduler, scaler=scaler)
    start = saved.restore(outcome)
    for _ in range(start * per_epoch):  # batches already seen
        next(batches)
    reached = start > 0  # whether a gradient has reached the network
    first = start == 0 and (epochs == 0 or spec.phase == "final")  # a trial looks only at what it may choose
    if first and not _record(outcome, model, judge(), epoch=0, lr=spec.lr, candidate=epochs == 0):
        return outcome

    for epoch in range(start + 1, epochs + 1):
        model.train()
        warm = epoch <= spec.warm_epochs
        todo = [next(batches) for _ in range(per_epoch)]
        total = 0.0
        parts: dict[str, float] = {}
        lr = spec.lr * spec.lr_factor ** sum(epoch > step for step in spec.lr_steps)
        took = []
        for batch, x in zip(todo, inputs.train(epoch, todo), strict=True):
            began = clock()
            with torch.autocast(device.type, dtype=torch.float16, enabled=amp):
                with torch.set_grad_enabled(not warm):
                    features = model.features(x)
                z = model.head(features)
            chosen = torch.from_numpy(batch).to(device)
            seen = Seen(features, model.head, all_levels[chosen]) if loss.needs else None
            value = loss(z.float(), targets[chosen], seen)
            optimizer.zero_grad(set_to_none=True)
            if not value.requires_grad:
                return _flat(outcome, 1)
            scaler.scale(value).backward()
            reached = reached or any(p.grad is not None and bool(p.grad.any()) for p in model.parameters())
            scaler.step(optimizer)
            scaler.update()
            total += value.item()
            took.append(clock() - began)
            for name, part in loss.parts.items():
                parts[name] = parts.get(name, 0.0) + float(part)
            if not math.isfinite(total):
                outcome.status, outcome.reason = "diverged", f"the loss is {value.item()} in epoch {epoch}"
                return outcome
        if not reached:
            return _flat(outcome, per_epoch)
        outcome.step_seconds = statistics.median(took)
        scheduler.step()
        if epoch % spec.evaluate_every == 0 or epoch == epochs:
            means = {f"loss/{name}": value / per_epoch for name, value in parts.items()}
            judged = judge() | means
            if not _record(outcome, model, judged, epoch=epoch, loss=total / per_epoch, lr=lr, candidate=True):
                return outcome
            saved.save(outcome, epoch)
    return outcome


def precision(spec: RunSpec, device: torch.device) -> str:
    """What is in effect: mixed precision needs a graphics card."""
    return "float32" if spec.precision == "amp" and device.type == "cpu" else spec.precision


def _record(
    outcome: Outcome, model: nn.Module, judged: dict[str, float], *, epoch: int, candidate: bool, **more: float
) -> bool:
    """Adds a point to the curve and keeps the weights if they are the best; False if the run has diverged."""
    outcome.curve.append({"epoch": epoch} | more | {k: v for k, v in judged.items() if k != "score"})
    if not math.isfinite(judged["score"]) or judged["mean cosine"] >= COLLAPSED:
        outcome.status = "diverged"
        outcome.reason = f"all embeddings are one point after epoch {epoch} (mean cosine {judged['mean cosine']:.6f})"
        return False
    if candidate and judged["score"] > outcome.score:
        outcome.score, outcome.best_epoch = judged["score"], epoch
        outcome.state = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    return True


def _flat(outcome: Outcome, batches: int) -> Outcome:
    outcome.status = "error"
    outcome.reason = (
        f"no gradient reached the network in {batches} batch{'es' * (batches > 1)}: the loss does not depend on the "
        "embeddings (is it a constant, or computed from detached values?)"
    )
    return outcome


def _optimizer(spec: RunSpec, model: EmbeddingModel, loss: Loss) -> torch.optim.Optimizer:
    parts = [(model.backbone, spec.backbone_lr), (model.embedding, 1.0), (model.projector, spec.projector_lr)]
    groups = [{"params": list(m.parameters()), "lr": spec.lr * times} for m, times in parts]
    groups = [g for g in groups if g["params"]] + loss.parameter_groups(spec.lr, spec.proxy_lr)
    if spec.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=spec.lr, weight_decay=spec.weight_decay)
    kind = torch.optim.AdamW if spec.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=spec.lr, weight_decay=spec.weight_decay, fused=True)


class Checkpoint:
    """Everything that decides the rest of a run, written whole or not at all."""

    def __init__(self, path: Path | None, **parts: Any) -> None:
        self.path, self.parts = path, parts
        self.saved_at = time.monotonic()
        modules = parts["loss"].modules()
        self.generators = [m.generator for m in modules if isinstance(getattr(m, "generator", None), torch.Generator)]

    def save(self, outcome: Outcome, epoch: int) -> None:
        if self.path is None or time.monotonic() - self.saved_at < EVERY:
            return
        content = {
            "epoch": epoch,
            "outcome": dataclasses.asdict(outcome),
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "generators": [g.get_state() for g in self.generators],
        }
        with replacing(self.path) as temporary:
            torch.save(content, temporary)
        self.saved_at = time.monotonic()

    def restore(self, outcome: Outcome) -> int:
        """Puts the saved state back and gives the epoch to go on after; 0 if there is nothing to go on from."""
        if self.path is None or not self.path.exists():
            return 0
        device = next(self.parts["model"].parameters()).device
        try:
            content = torch.load(self.path, map_location=device, weights_only=True)
        except Exception:  # a damaged checkpoint costs time, not numbers
            self.path.unlink(missing_ok=True)
            return 0
        for name, part in self.parts.items():
            part.load_state_dict(content["parts"][name])
        for generator, state in zip(self.generators, content["generators"], strict=True):
            generator.set_state(state.cpu())
        vars(outcome).update(content["outcome"])
        return content["epoch"]
