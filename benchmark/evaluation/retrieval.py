"""Recall@k, mAP and mAP@R (appendix I.3), at every level of the labels, in one pass over the similarities.

Called by the trainer at the end of a run and by `python -m benchmark evaluate`. Exact at any size: blocked over queries,
with ranks from counts (`ranks.py`) of similarities that are as good as float64 (`similarity.py`).
"""

from collections.abc import Sequence

import numpy as np

from benchmark.errors import UserError
from benchmark.evaluation.checks import Checked, checked, positive_integers
from benchmark.evaluation.hierarchy import Hierarchy
from benchmark.evaluation.neighbours import Neighbours, block_neighbours, neighbours
from benchmark.evaluation.ranks import Positives, Ranks, Scores, block_ranks
from benchmark.evaluation.rerank import BETA, Reranking
from benchmark.evaluation.similarity import TIE, Array, Block, Similarities


def retrieval_metrics(
    query: object,
    query_labels: object,
    gallery: object = None,
    gallery_labels: object = None,
    ks: Sequence[int] = (1, 2, 4, 8),
    *,
    levels: Sequence[str] | None = None,
    rerank: Sequence[int] = (),
    beta: float = BETA,
    memory_mb: int = 1024,
) -> dict[str, float]:
    """R@k, mAP and mAP@R by cosine similarity, as fractions, with the number of queries they are means of.

    Without a gallery each sample is searched among all others. Labels are integers, (n,) or (n, levels) with the finest first;
    with several levels the keys end in "/0", "/1", … or in the names given as `levels`, and where each level is a coarsening
    of the one before, "H-AP", "ASI" and "NDCG" are added. For each k in `rerank` the metrics after contextual re-ranking are
    added as "rerank<k>/R@1" and so on. A tie (cosines within 1e-12) counts against the query. Queries without a positive in
    the gallery are left out of the means and counted as "excluded". `memory_mb` bounds the memory beside the embeddings.
    """
    ks, rerank = positive_integers("ks", ks), positive_integers("rerank", rerank)
    if not 0 <= beta <= 1:
        raise UserError(f"beta = {beta!r}: expected a weight from 0 (no re-ranking) to 1")
    data = checked(query, query_labels, gallery, gallery_labels, levels)
    positives = [Positives.of(data, level) for level in range(len(data.levels))]
    scores = [Scores.empty(p.counts) for p in positives]
    hierarchy = Hierarchy.of(data, positives)
    others = max(rerank, default=1) - 1  # members of the longest neighbour list beside the query
    lists = Neighbours.empty(len(data.query), len(data.gallery), others)

    def judged(block: Block) -> tuple[list[Ranks], Neighbours | None]:
        return block_ranks(block, positives), block_neighbours(block, others) if others else None

    similarities = Similarities(data.query, data.gallery, data.leave_one_out, memory_mb)
    order, width = _by_positives(positives)
    order = order if others else order[np.max([p.counts for p in positives], axis=0)[order] > 0]
    for rows, (ranks, listed) in similarities.map(order, judged, width):
        for of_level, found in zip(scores, ranks, strict=True):
            of_level.set(rows, found)
        if hierarchy is not None:
            hierarchy.set(rows, ranks)
        if listed is not None:
            lists.set(rows, listed)

    result = _named(data, scores, ks) | ({} if hierarchy is None else hierarchy.means())
    if rerank:
        within = neighbours(data.gallery, k=others) if others and not data.leave_one_out else None
        for k in rerank:
            reranking = Reranking.of(lists, within, k, beta)
            changed = [reranking.scores(*of_level) for of_level in zip(scores, positives, strict=True)]
            result |= {f"rerank{k}/{name}": value for name, value in _named(data, changed, ks).items()}
    return result


def _by_positives(positives: Sequence[Positives]) -> tuple[Array, int]:
    """All queries, those with few positives first (a block then either counts or sorts), and the largest number."""
    most = np.max([p.counts for p in positives], axis=0)
    return np.argsort(most, kind="stable"), int(most.max())


def _named(data: Checked, scores: Sequence[Scores], ks: Sequence[int]) -> dict[str, float]:
    return {
        data.key(name, level): value
        for level, of_level in enumerate(scores)
        for name, value in of_level.means(ks).items()
    }


def recall_at_1(
    query: object, query_labels: object, gallery: object = None, gallery_labels: object = None
) -> float:
    """Share of the queries with a positive whose nearest neighbour has their label (the finest, of several)."""
    data = checked(query, query_labels, gallery, gallery_labels)
    positives = Positives.of(data, 0)
    order = np.flatnonzero(positives.counts > 0)
    similarities = Similarities(data.query, data.gallery, data.leave_one_out)
    hits = sum(found for _, found in similarities.map(order, lambda block: _hits(block, positives)))
    return hits / max(len(order), 1)


def _hits(block: Block, positives: Positives) -> int:
    members, valid = positives.members(block.rows)
    own = np.where(valid, np.take_along_axis(block.values, members, axis=1), -np.inf)  # (rows, positives)
    rows = np.arange(len(own))[:, None]
    # Padding is replaced by the first member, which is a positive or the query itself.
    block.values[rows, np.where(valid, members, members[:, :1])] = -np.inf
    best, rival = own.max(axis=1), block.values.max(axis=1)
    low, high = block.window(best)
    hits = rival < low
    for row in (~hits & (rival <= high)).nonzero()[0]:
        close = members[row, own[row] >= low[row]]
        near = (block.values[row] >= low[row]).nonzero()[0]
        if block.settles(len(near)):
            hits[row] = _closest(block, row, close) > _closest(block, row, near) + TIE
    return int(hits.sum())


def _closest(block: Block, row: int, columns: Array) -> float:
    return block.cosines(np.full(len(columns), row), columns).max()
