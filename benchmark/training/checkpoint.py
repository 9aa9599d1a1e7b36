"""Checkpoints of long runs: everything that decides the rest of a run, written whole or not at all.

A run that goes on from its checkpoint ends with the numbers of an uninterrupted one.
"""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from benchmark.files import replacing

if TYPE_CHECKING:
    from benchmark.training.trainer import Outcome

EVERY = 60.0  # seconds between checkpoints; a run shorter than that writes none


class Checkpoint:
    def __init__(self, path: Path | None, **parts: Any) -> None:
        self.path, self.parts = path, parts
        self.saved_at = time.monotonic()
        modules = parts["loss"].modules()
        self.generators = [m.generator for m in modules if isinstance(getattr(m, "generator", None), torch.Generator)]

    def save(self, outcome: "Outcome", epoch: int) -> None:
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

    def restore(self, outcome: "Outcome") -> int:
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
        for name, value in content["outcome"].items():
            setattr(outcome, name, value)
        return content["epoch"]
