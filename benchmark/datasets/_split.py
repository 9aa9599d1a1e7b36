"""Class-disjoint splits of data that has none: half of the classes train, the other half is never seen.

Used for tables (`_table.py`), folders (`_folder.py`) and the torchvision data sets.
"""

import numpy as np

from benchmark.errors import UserError, unknown
from benchmark.seeds import numpy_generator

KINDS = ("class", "order", "column")


def by_class(fine: np.ndarray, how: str = "class", seed: int | str = 0) -> tuple[np.ndarray, np.ndarray]:
    """Indices that train and that test. class: a random half from the seed; order: the first half trains.

    A class of one image cannot be judged, since nothing is left to find, so it always trains.
    """
    if how not in ("class", "order"):
        raise unknown("split", how, KINDS)
    size = np.bincount(fine)
    order = np.arange(len(size))
    if how == "class":
        order = numpy_generator("split by class", seed).permutation(order)
    order = order[size[order] > 0]
    half = len(order) // 2
    test = order[half:][size[order[half:]] > 1]
    if half < 2 or len(test) < 2:
        raise UserError(
            f"{len(order)} classes, {int((size > 1).sum())} of them with more than one image, are too few to "
            "split by class; at least 2 must train and 2 with two images each must test"
        )
    in_test = np.isin(fine, test)
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)
