"""R@1 alone, for every epoch of a training run: one product and one maximum.

The same number as `retrieval_metrics(...)["R@1"]`, with the same rule for ties, several times faster.
"""

import numpy as np

from benchmark.evaluation.block import TIE, Array, Block
from benchmark.evaluation.inputs import checked
from benchmark.evaluation.positives import Positives
from benchmark.evaluation.similarity import Similarities


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
