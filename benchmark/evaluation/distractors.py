"""R@1 as the gallery grows by images of no query's class: how soon a method takes one of them for the nearest.

The same number as `recall_at_1` would give on each of the larger galleries, from one product with the distractors.
"""

from collections.abc import Sequence

import numpy as np

from benchmark.errors import UserError
from benchmark.evaluation.checks import Checked, checked, embeddings
from benchmark.evaluation.ranks import Positives
from benchmark.evaluation.retrieval import first_hits
from benchmark.evaluation.similarity import TIE, Array, Block, Similarities

CHUNK = 8192  # distractors at a time: whom one of them beats is not compared with the next ones


def recall_among_distractors(
    query: object,
    query_labels: object,
    distractors: object,
    counts: Sequence[int],
    gallery: object = None,
    gallery_labels: object = None,
) -> list[float]:
    """R@1 with the first so many distractors in the gallery, for each of `counts`; a tie counts against the query."""
    data = checked(query, query_labels, gallery, gallery_labels)
    others = embeddings(distractors, "distractor").to(data.query.device)
    if others.shape[1] != data.query.shape[1]:
        raise UserError(
            f"query embeddings have {data.query.shape[1]} dimensions, distractors {others.shape[1]}: give the same"
        )
    if not all(0 <= count <= len(others) for count in counts):
        raise UserError(f"counts = {tuple(counts)!r}: expected numbers from 0 to {len(others)}, the distractors")
    positives = Positives.of(data, 0)
    hit = first_hits(data)
    best = _best(data, positives, np.flatnonzero(hit))
    beaten = np.where(hit, len(others), 0)  # by this distractor first
    for start in range(0, len(others), CHUNK):
        similarities = Similarities(data.query, others[start : start + CHUNK], leave_one_out=False)

        def beat(block: Block, start: int = start) -> None:
            first = _first(block, best[block.rows])
            beaten[block.rows] = np.where(first < block.source.size, start + first, len(others))

        similarities.each(np.flatnonzero(beaten == len(others)), beat)
    share = max(int((positives.counts > 0).sum()), 1)
    return [int((hit & (beaten >= count)).sum()) / share for count in counts]


def _first(block: Block, best: Array) -> Array:
    """The first of the gallery that is as similar as `best` to each query of the block, or the size of the gallery."""
    first = np.full(len(best), block.source.size)
    low, high = block.window(best.astype(block.values.dtype))
    row = np.flatnonzero(block.values.max(axis=1) >= low)
    values = block.values[row]
    above = values > high[row, None]
    first[row] = np.where(above.any(axis=1), above.argmax(axis=1), block.source.size)
    place, column = np.nonzero((values >= low[row, None]) & ~above)
    if block.settles(len(place)):
        nearer = block.cosines(row[place], column) >= best[row[place]] - TIE
        np.minimum.at(first, row[place][nearer], column[nearer])
    return first


def _best(data: Checked, positives: Positives, rows: Array) -> Array:
    """The cosine of each query in `rows` to the nearest of its class, in float64."""
    similarities = Similarities(data.query, data.gallery, data.leave_one_out)
    best = np.full(len(data.query), -np.inf)
    for start in range(0, len(rows), 512):
        some = rows[start : start + 512]
        members, valid = positives.members(some)
        row, place = np.nonzero(valid)
        cosine = np.full(members.shape, -np.inf)
        cosine[row, place] = similarities.cosines(some[row], members[row, place])
        best[some] = cosine.max(axis=1)
    return best
