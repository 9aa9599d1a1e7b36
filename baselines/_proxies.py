"""Proxies: learnable points, one per class, that a classification-like loss compares embeddings with.

Around the proxy losses of pytorch-metric-learning, so that labels may be any integers where the library wants 0 … classes − 1.
Its constructors draw the proxies; the methods' files pass them a generator, so that the global one stays untouched.
"""

import torch
from torch import Tensor, nn

from baselines._loss import Seen
from benchmark.errors import UserError


class ProxyLoss(nn.Module):
    loss: nn.Module

    def __init__(self, loss: nn.Module, num_classes: int):
        super().__init__()
        self.loss, self.num_classes = loss, num_classes
        self.rows: dict[int, int] = {}  # label -> row of the proxies

    def forward(self, f: Tensor, labels: Tensor, *seen: Seen) -> Tensor:
        rows = torch.tensor([self.row(label) for label in labels.tolist()], device=labels.device)  # (n,)
        return self.loss(f, rows, *seen)

    @property
    def parts(self) -> dict[str, Tensor]:
        return getattr(self.loss, "parts", {})

    def row(self, label: int) -> int:
        """The label itself where it is one of 0 … classes − 1, else the first row that is free when it is first seen."""
        if label not in self.rows:
            taken = set(self.rows.values())
            free = [label] if 0 <= label < self.num_classes and label not in taken else []
            free += [row for row in range(self.num_classes) if row not in taken] if not free else []
            if not free:
                fits = f"num_classes = {self.num_classes} fits labels 0 … {self.num_classes - 1}"
                raise UserError(f"label {label} is the {len(taken) + 1}th different label; {fits}")
            self.rows[label] = free[0]
        return self.rows[label]
