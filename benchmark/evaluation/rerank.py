"""Contextual re-ranking (appendix I.5): rank by β w̃ + (1 − β) exp(2s − 2) instead of the cosine s.

w̃ᵢⱼ = |N(i) ∩ N(j)| / |N(i)| for j in N(i), else 0, where N(i) holds i and its nearest samples, k in all, and those as similar
as the last of them (equations contextsim1 and contextsim2 with ε = 0). Outside N(i) the score is below every score inside it
and ordered as before, so re-ranking only permutes the neighbour list: no second pass over the similarities, no n × n matrix.
(β = 1 is the limit of that: outside N(i) the cosine decides.) With a gallery, the test set of a query is the gallery and that
query alone: what an index can give to one query.
"""

from dataclasses import dataclass

import numpy as np

from benchmark.evaluation.neighbours import Neighbours
from benchmark.evaluation.ranks import NEVER, Positives, Ranks, Scores
from benchmark.evaluation.similarity import TIE, Array

BETA = 0.1  # weight of the contextual similarity in table contextual-reranking


@dataclass(frozen=True)
class Reranking:
    """Neighbour lists of the queries with their new scores, at one k."""

    lists: Neighbours
    inside: Array  # (queries, longest) which members are in N
    score: Array  # (queries, longest)

    @classmethod
    def of(cls, queries: Neighbours, gallery: Neighbours | None, k: int, beta: float) -> "Reranking":
        """`gallery` holds the lists of the gallery within itself; None in leave-one-out, where they are the queries'."""
        queries = queries.cut(k - 1)
        inside = queries.cosine > -np.inf
        if gallery is None:
            context = _leave_one_out(queries, inside)
        else:
            context = _with_gallery(queries, inside, gallery.cut(k - 1), k)
        context /= inside.sum(axis=1, keepdims=True) + 1
        return cls(queries, inside, beta * context + (1 - beta) * np.exp(2 * queries.cosine - 2))

    def scores(self, plain: Scores, positives: Positives) -> Scores:
        """The scores of every query with its list in the new order."""
        before, after = (self._listed(score, plain, positives) for score in (self.lists.cosine, self.score))
        moved = after.first > 0
        return Scores(
            np.where(moved, after.first, plain.first),
            plain.average_precision + (after.average_precision - before.average_precision),
            plain.average_precision_at_r + (after.average_precision_at_r - before.average_precision_at_r),
            plain.positives,
        )

    def _listed(self, score: Array, plain: Scores, positives: Positives) -> Scores:
        """Scores from the positives in the lists alone."""
        result = Scores.empty(plain.positives)
        labels = np.append(positives.gallery, 0)[self.lists.index]
        positive = self.inside & (labels == positives.query[:, None])
        step = max(1, 4_000_000 // score.shape[1] ** 2)
        for start in range(0, len(score), step):
            part = slice(start, start + step)
            rival = np.where(self.inside[part] & ~positive[part], score[part], -np.inf)
            before = (rival[:, None, :] >= score[part, :, None] - TIE).sum(axis=2)  # (queries, members)
            before[~positive[part]] = NEVER
            result.set(np.arange(len(score))[part], Ranks.of_rows(before, positive[part].sum(axis=1)))
        return result


def _leave_one_out(lists: Neighbours, inside: Array) -> Array:
    """|N(i) ∩ N(j)| for the members j of each list."""
    size = len(inside)
    members = np.where(inside, lists.index, size)
    common = np.zeros(inside.shape)
    mark = np.zeros(size + 1, dtype=bool)  # membership in N(i); the padding index is never a member
    for i, kept in enumerate(inside):
        own = members[i, kept]
        mark[own] = mark[i] = True
        common[i, kept] = mark[members[own]].sum(axis=1) + 1  # j is in both
        mark[own] = mark[i] = False
    return common


def _with_gallery(queries: Neighbours, inside: Array, gallery: Neighbours, k: int) -> Array:
    """The same where the query joins the gallery as one more sample, which may push others out of N(j)."""
    size = len(gallery.index)
    common = np.zeros(inside.shape)
    mark = np.zeros(size + 1, dtype=bool)
    missing = max(0, k - gallery.cosine.shape[1])
    cosine = np.pad(gallery.cosine, ((0, 0), (0, missing)), constant_values=-np.inf)
    for i, kept in enumerate(inside):
        own, s = queries.index[i, kept], queries.cosine[i, kept]
        if k < 2 or not len(own):
            continue
        # The (k − 1)-th similarity to j among gallery and query, from the two of the gallery that it can lie between.
        better = cosine[own, k - 3] if k > 2 else np.full(len(own), np.inf)
        last = np.maximum(np.minimum(better, s), cosine[own, k - 2])
        mark[own] = True
        shared = mark[gallery.index[own]] & (gallery.cosine[own] >= last[:, None] - TIE)
        common[i, kept] = shared.sum(axis=1) + 1 + (s >= last - TIE)
        mark[own] = False
    return common
