"""Recall@k, mAP and mAP@R (appendix I.3), exactly, blocked over queries.

Two similarities that differ by at most 1e-12 are a tie, and a tie counts against the query: the negatives of a tied
group are ranked before its positives.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from benchmark.evaluation.inputs import checked, recall_ks

TIE = 1e-12  # float64 cosines this close are equal


def retrieval_metrics(
    query: object,
    query_labels: object,
    gallery: object = None,
    gallery_labels: object = None,
    ks: Sequence[int] = (1, 2, 4, 8),
    *,
    levels: Sequence[str] | None = None,
) -> dict[str, float]:
    """R@k, mAP and mAP@R as fractions, with the number of queries that count and of those without a positive."""
    ks = recall_ks(ks)
    data = checked(query, query_labels, gallery, gallery_labels, levels)
    q, g = _normalised(data.query), _normalised(data.gallery)
    result: dict[str, float] = {}
    for level in range(len(data.levels)):
        values = []
        for start in range(0, len(q), 256):
            block = torch.arange(start, min(start + 256, len(q)), device=q.device)
            s = q[block] @ g.T  # (b, n)
            same = data.query_labels[block, level, None] == data.gallery_labels[:, level]
            if data.leave_one_out:
                same[torch.arange(len(block)), block] = False
                s[torch.arange(len(block)), block] = -torch.inf
            values.append(_block(s, same, ks))
        table = torch.cat(values)
        valid = table[:, -1] > 0
        means = table[valid].mean(0) if bool(valid.any()) else torch.zeros(table.shape[1])
        for name, value in zip([f"R@{k}" for k in ks] + ["mAP", "mAP@R"], means.tolist()[:-1], strict=True):
            result[data.key(name, level)] = value
        result[data.key("queries", level)] = int(valid.sum())
        result[data.key("excluded", level)] = len(q) - int(valid.sum())
    return result


def recall_at_1(
    query: object, query_labels: object, gallery: object = None, gallery_labels: object = None
) -> float:
    """R@1 alone (finest level)."""
    found = retrieval_metrics(query, query_labels, gallery, gallery_labels, ks=(1,))
    return next(iter(found.values()))


def _normalised(x: Tensor) -> Tensor:
    return torch.nn.functional.normalize(x.double(), dim=1)


def _block(s: Tensor, same: Tensor, ks: tuple[int, ...]) -> Tensor:
    rows = []
    for row, mask in zip(s, same, strict=True):
        positive = row[mask]
        negative = row[~mask].sort().values
        above = len(negative) - torch.searchsorted(negative, positive - TIE)  # negatives at least as similar
        place = torch.arange(1, len(positive) + 1, device=s.device)
        rank = above.sort().values + place
        r = max(len(positive), 1)
        precision = place / rank
        first = rank[:1].sum() if len(positive) else torch.tensor(torch.inf)
        hits = [float(first <= k) for k in ks]
        ap, ap_r = float(precision.sum()) / r, float(precision[rank <= r].sum()) / r
        rows.append([*hits, ap, ap_r, float(len(positive) > 0)])
    return torch.tensor(rows, dtype=torch.float64)
