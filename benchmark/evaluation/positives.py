"""Which samples of the gallery share a query's label, at one level of the labels.

Made once for each level from the checked inputs; `ranks.py` asks it block by block.
"""

from dataclasses import dataclass

import numpy as np

from benchmark.evaluation.inputs import Inputs

Array = np.ndarray


@dataclass(frozen=True)
class Positives:
    query: Array  # (queries,) labels
    gallery: Array  # (gallery,) labels
    order: Array  # (gallery,) indices sorted by label
    start: Array  # (queries,) where the query's label begins in `order`
    stop: Array  # (queries,) and where it ends
    counts: Array  # (queries,) number of positives, the query itself not counted
    leave_one_out: bool

    @classmethod
    def of(cls, data: Inputs, level: int) -> "Positives":
        query, gallery = (y[:, level].cpu().numpy() for y in (data.query_labels, data.gallery_labels))
        order = np.argsort(gallery, kind="stable")
        ranked = gallery[order]
        start, stop = (np.searchsorted(ranked, query, side=side) for side in ("left", "right"))
        return cls(query, gallery, order, start, stop, stop - start - data.leave_one_out, data.leave_one_out)

    def members(self, queries: Array) -> tuple[Array, Array]:
        """Gallery indices of the positives, (queries, most), and which of them are: not padding, not the query."""
        width = max(int((self.stop - self.start)[queries].max()), 1)
        place = self.start[queries, None] + np.arange(width)
        found = self.order[np.minimum(place, len(self.order) - 1)]
        valid = place < self.stop[queries, None]
        return found, valid & (found != queries[:, None]) if self.leave_one_out else valid
