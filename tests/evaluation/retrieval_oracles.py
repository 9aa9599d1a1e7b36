"""Slow, literal definitions of what evaluation computes, one query and one sample at a time.

Cosines in float64; two that differ by at most 1e-12 are tied, and among tied samples the less relevant comes first.
"""

import functools

import numpy as np

TIE = 1e-12


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    def unit(x):
        x = np.asarray(x).astype(np.float64)
        norm = np.sqrt((x**2).sum(axis=1, keepdims=True))
        return x / np.where(norm == 0, 1, norm)

    return unit(a) @ unit(b).T


def ranked(scores: np.ndarray, grades: np.ndarray) -> np.ndarray:
    """The grades in ranking order."""

    def before(a: int, b: int) -> float:
        tied = abs(scores[a] - scores[b]) <= TIE
        return grades[a] - grades[b] if tied else scores[b] - scores[a]

    return np.array([grades[i] for i in sorted(range(len(scores)), key=functools.cmp_to_key(before))], dtype=int)


def chained(scores: np.ndarray) -> bool:
    """Whether a row has scores that are tied one by one and not as a whole: then no ranking follows from the definition."""
    for row in np.sort(scores, axis=1):
        groups = np.split(row, np.flatnonzero(np.diff(row) > TIE) + 1)
        if any(group[-1] - group[0] > TIE for group in groups):
            return True
    return False


def query_metrics(scores: np.ndarray, positive: np.ndarray, ks: tuple[int, ...]) -> list[float] | None:
    """R@k …, AP and AP@R of appendix I.3 for one query; None if it has no positive."""
    hits = np.zeros(len(scores), dtype=int)  # in the order of the ranking
    before = sorted((scores[~positive] >= own - TIE).sum() for own in scores[positive])
    hits[[j + negatives for j, negatives in enumerate(before)]] = 1
    total = hits.sum()
    if total == 0:
        return None
    precision = [hits[: k + 1].sum() / (k + 1) for k in range(len(hits))]
    ap = sum(p for p, hit in zip(precision, hits, strict=True) if hit) / total
    ap_at_r = sum(p for p, hit in zip(precision[:total], hits[:total], strict=True) if hit) / total
    return [*(float(hits[:k].any()) for k in ks), ap, ap_at_r]


def retrieval(query, query_labels, gallery, gallery_labels, ks) -> tuple[dict[str, float], int]:
    """Means over queries that have a positive, and how many these are."""
    alone = gallery is None
    scores = cosines(query, query if alone else gallery)
    return means([_row(scores[i], query_labels, gallery_labels, i, ks) for i in range(len(scores))], ks)


def reranked(query, query_labels, gallery, gallery_labels, ks, k: int, beta: float) -> tuple[dict[str, float], int]:
    """Appendix I.5 on the matrix of the whole test set, or of the gallery with one query at a time."""
    rows = []
    if gallery is None:
        scores = contextual(cosines(query, query), k, beta)
        rows = [_row(scores[i], query_labels, None, i, ks) for i in range(len(scores))]
    else:
        for i in range(len(query)):
            both = np.concatenate([query[i : i + 1], gallery])
            scores = contextual(cosines(both, both), k, beta)
            rows.append(_row(scores[0, 1:], query_labels, gallery_labels, i, ks))
    return means(rows, ks)


def contextual(s: np.ndarray, k: int, beta: float) -> np.ndarray:
    n = len(s)
    near = s.copy()
    np.fill_diagonal(near, 2)  # a sample is its own first neighbour
    sets = []
    for i in range(n):
        last = sorted(near[i], reverse=True)[min(k, n) - 1]
        sets.append({j for j in range(n) if near[i, j] >= last - TIE})
    w = np.zeros((n, n))
    for i in range(n):
        for j in sets[i]:
            w[i, j] = len(sets[i] & sets[j]) / len(sets[i])
    return beta * w + (1 - beta) * np.exp(2 * s - 2)


def matched(query, query_labels, gallery, gallery_labels, ks, k: int, cells, eps=0.05) -> tuple[dict[str, float], int]:
    """DIML: the K nearest, and those as near as the last of them, by structural similarity plus cosine; then the others."""
    alone = gallery is None
    own, against = cells
    centers = query if alone else gallery
    s = cosines(query, centers)
    rows = []
    for i in range(len(query)):
        candidates = [j for j in range(len(centers)) if not (alone and j == i)]
        last = sorted((s[i, j] for j in candidates), reverse=True)[:k][-1] if candidates else 0
        scores = s[i].copy()
        for j in candidates:
            if s[i, j] >= last - TIE:  # in front of all others, whose cosines are at most 1
                scores[j] = 10 + s[i, j] + structural(query[i], own[i], centers[j], (own if alone else against)[j], eps)
        rows.append(_row(scores, query_labels, gallery_labels, i, ks))
    return means(rows, ks)


def structural(center_a, cells_a, center_b, cells_b, eps: float) -> float:
    """Σ T s with T from 100 steps of Sinkhorn, r ← u / K c and c ← v / Kᵀ r."""
    s = cosines(cells_a, cells_b)
    u, v = (
        _weights(cosines(cells, center[None])[:, 0]) for cells, center in ((cells_a, center_b), (cells_b, center_a))
    )
    kernel = np.exp(-(1 - s) / eps)
    c = np.ones(len(v))
    for _ in range(100):
        r = np.array([u[i] / sum(kernel[i, j] * c[j] for j in range(len(v))) for i in range(len(u))])
        c = np.array([v[j] / sum(kernel[i, j] * r[i] for i in range(len(u))) for j in range(len(v))])
    return sum(r[i] * kernel[i, j] * c[j] * s[i, j] for i in range(len(u)) for j in range(len(v)))


def _weights(correlation: np.ndarray) -> np.ndarray:
    positive = np.array([x if x > TIE else 0.0 for x in correlation])
    return positive / positive.sum() if positive.any() else np.full(len(positive), 1 / len(positive))


def hierarchical(x: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """H-AP, ASI and NDCG with leave-one-out; labels (n, levels)."""
    scores = cosines(x, x)
    levels = labels.shape[1]
    rows = []
    for i in range(len(x)):
        others = np.arange(len(x)) != i
        grades = ranked(scores[i][others], (labels[others] == labels[i]).sum(axis=1))
        if not grades.any():
            continue
        relevance = [g / levels / (grades == g).sum() if g else 0.0 for g in grades]
        hap = 0.0
        for k in range(len(grades)):
            if grades[k]:
                hap += sum(min(relevance[k], relevance[j]) for j in range(k + 1)) / (k + 1)
        ideal = np.array(sorted(grades, reverse=True))
        shares = []
        for depth in range(1, (grades > 0).sum() + 1):
            common = [min((grades[:depth] == g).sum(), (ideal[:depth] == g).sum()) for g in range(1, levels + 1)]
            shares.append(sum(common) / depth)
        rows.append([hap / sum(relevance), np.mean(shares), _dcg(grades) / _dcg(ideal)])
    return dict(zip(("H-AP", "ASI", "NDCG"), np.mean(rows, axis=0) if rows else np.zeros(3), strict=True))


def means(rows: list, ks: tuple[int, ...]) -> tuple[dict[str, float], int]:
    rows = [row for row in rows if row is not None]
    names = [*(f"R@{k}" for k in ks), "mAP", "mAP@R"]
    values = np.mean(rows, axis=0) if rows else np.zeros(len(names))
    return dict(zip(names, values, strict=True)), len(rows)


def _row(scores, query_labels, gallery_labels, i: int, ks):
    if gallery_labels is None:
        others = np.arange(len(scores)) != i
        return query_metrics(scores[others], query_labels[others] == query_labels[i], ks)
    return query_metrics(scores, gallery_labels == query_labels[i], ks)


def _dcg(grades: np.ndarray) -> float:
    return sum((2.0**g - 1) / np.log2(k + 2) for k, g in enumerate(grades))
