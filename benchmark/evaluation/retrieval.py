"""Recall@k, mAP and mAP@R (appendix I.3), at every level of the labels, in one pass over the similarities.

Called by the trainer at the end of a run and by `python -m benchmark evaluate`. Exact at any size: blocked over queries,
with ranks (`ranks.py`) of similarities that are as good as float64 (`similarity.py`). R@1 alone is faster still.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from benchmark.errors import UserError
from benchmark.evaluation.checks import Checked, checked, positive_integers
from benchmark.evaluation.diml import Maps
from benchmark.evaluation.hierarchy import Hierarchy
from benchmark.evaluation.neighbours import Neighbours, block_neighbours, neighbours
from benchmark.evaluation.ranks import BELOW, FEW, Positives, Ranks, Scores, counted_ranks, hits
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
    diml: Sequence[int] = (),
    maps: Maps | None = None,
    memory_mb: int = 1024,
) -> dict[str, float]:
    """R@k, mAP and mAP@R by cosine similarity, as fractions, with the number of queries they are means of.

    Without a gallery each sample is searched among all others. Labels are integers, (n,) or (n, levels) with the finest first;
    with several levels the keys end in "/0", "/1", … or in the names given as `levels`, and where each level is a coarsening
    of the one before, "H-AP", "ASI" and "NDCG" are added. For each k in `rerank` the metrics after contextual re-ranking are
    added as "rerank<k>/R@1" and so on, and for each K in `diml`, which needs `maps`, as "diml<K>/R@1" those after structural
    matching of the K nearest (`diml.py`). A tie (cosines within 1e-12) counts against the query. Queries without a positive in
    the gallery are left out of the means and counted as "excluded". `memory_mb` bounds the memory beside the embeddings.
    """
    ks, rerank, diml = (positive_integers(*given) for given in (("ks", ks), ("rerank", rerank), ("diml", diml)))
    if not 0 <= beta <= 1:
        raise UserError(f"beta = {beta!r}: expected a weight from 0 (no re-ranking) to 1")
    if diml and maps is None:
        raise UserError(f"diml = {diml!r} compares feature maps: give them as maps = Maps(cells), cells (n, cells, d)")
    data = checked(query, query_labels, gallery, gallery_labels, levels)
    positives = [Positives.of(data, level) for level in range(len(data.levels))]
    scores = [Scores.empty(p.counts) for p in positives]
    hierarchy = Hierarchy.of(data, positives)
    others = max([0, *(k - 1 for k in rerank), *diml])  # members of the longest neighbour list beside the query
    lists = Neighbours.empty(len(data.query), len(data.gallery), others)

    def counted(block: Block) -> None:
        for of_level, of_label in zip(scores, positives, strict=True):
            of_level.set(block.rows, counted_ranks(block, of_label))
        if others:
            lists.set(block.rows, block_neighbours(block, others))

    def ordered(block: Block) -> None:
        if others:
            lists.set(block.rows, block_neighbours(block, others))
        for part in block.parts(groups):
            found = hits(part, positives)
            for level, of_level in enumerate(scores):
                hit = (found & (1 << level)) != 0
                ranks = Ranks.of_hits(hit, of_level.positives[part.rows])
                of_level.set(part.rows, ranks)
            if hierarchy is not None:
                hierarchy.set(part.rows, found, ranks)  # those of the last level

    similarities = Similarities(data.query, data.gallery, data.leave_one_out, memory_mb)
    most = np.max([p.counts for p in positives], axis=0)
    wanted = (most > 0) | bool(others)
    many = most > (FEW if hierarchy is None else 0)
    similarities.each(np.flatnonzero(wanted & ~many), counted, width=FEW)
    groups = np.unique(np.stack([p.query for p in positives]), axis=1, return_inverse=True)[1]
    by_group = np.argsort(groups, kind="stable")
    similarities.each(by_group[(wanted & many)[by_group]], ordered, groups=groups)

    result = _named(data, scores, ks) | ({} if hierarchy is None else hierarchy.means())

    def rerankings() -> Iterator[tuple[str, Reranking]]:
        most = max(rerank, default=1) - 1
        within = neighbours(data.gallery, k=most) if most and not data.leave_one_out else None
        yield from ((f"rerank{k}", Reranking.of(lists, within, k, beta)) for k in rerank)
        if maps is not None:
            yield from ((f"diml{k}", made) for k, made in zip(diml, maps.rerankings(lists, data, diml), strict=True))

    for prefix, reranking in rerankings():
        changed = [reranking.scores(*of_level) for of_level in zip(scores, positives, strict=True)]
        result |= {f"{prefix}/{name}": value for name, value in _named(data, changed, ks).items()}
    return result


def _named(data: Checked, scores: Sequence[Scores], ks: Sequence[int]) -> dict[str, float]:
    return {
        data.key(name, level): value
        for level, of_level in enumerate(scores)
        for name, value in of_level.means(ks).items()
    }


def recall_at_1(query: object, query_labels: object, gallery: object = None, gallery_labels: object = None) -> float:
    """`retrieval_metrics(...)["R@1"]` (at the finest level) by maxima alone: what a run looks at along the way."""
    data = checked(query, query_labels, gallery, gallery_labels)
    counted = int((Positives.of(data, 0).counts > 0).sum())
    return int(first_hits(data).sum()) / max(counted, 1)


def first_hits(given: Checked) -> Array:
    """Whether the nearest neighbour of each query has its label; False for those without a positive."""
    # Samples of a class stand together where half of the products is enough.
    order = torch.argsort(given.query_labels[:, 0]) if given.leave_one_out else None
    data = given if order is None else given.taken(order)
    positives = Positives.of(data, 0)
    similarities = Similarities(data.query, data.gallery, data.leave_one_out)
    hit, undecided = np.zeros(len(data.query), dtype=bool), positives.counts > 0
    if data.leave_one_out:
        best, rival = _best(similarities, data.query_labels[:, 0].contiguous())
        low, high = similarities.window(best)
        hit, undecided = undecided & (rival < low), undecided & (rival >= low) & (rival <= high)

    def settle(block: Block) -> None:
        hit[block.rows] = _hits(block, positives)

    similarities.each(np.flatnonzero(undecided), settle)
    if order is not None:
        hit[order.cpu().numpy()] = hit.copy()
    return hit


def _best(similarities: Similarities, labels: Tensor) -> tuple[Array, Array]:
    """The similarity of each sample to the nearest of its class, and of the others, from half of the products."""
    best, rival = torch.full((2, len(labels)), BELOW, device=labels.device)
    for rows, columns, values in similarities.halves():
        if labels[columns.start] <= labels[rows.stop - 1]:  # there may be some of one class
            same = labels[rows, None] == labels[columns]
            own = values.masked_fill(~same, -torch.inf)
            if rows.start == columns.start:
                own.fill_diagonal_(-torch.inf)
            best[rows] = torch.maximum(best[rows], own.amax(1))
            best[columns] = torch.maximum(best[columns], own.amax(0))
            values.masked_fill_(same, -torch.inf)
        rival[rows] = torch.maximum(rival[rows], values.amax(1))
        rival[columns] = torch.maximum(rival[columns], values.amax(0))
    return best.cpu().numpy(), rival.cpu().numpy()


def _hits(block: Block, positives: Positives) -> Array:
    """Whether the nearest of its class comes before all others, for the queries of a block."""
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
    return hits


def _closest(block: Block, row: int, columns: Array) -> float:
    return block.cosines(np.full(len(columns), row), columns).max()
