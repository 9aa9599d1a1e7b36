"""The ceiling of R@1 that images without a visible difference put on any method.

Kept with every run on data whose images lie in one array, and printed in the tables' captions.
"""

import collections

import numpy as np


def ceiling(images: np.ndarray, labels: np.ndarray) -> float:
    """The highest R@1 that any embedding can reach, leave-one-out within these images.

    A query fails for certain when other images equal it pixel by pixel and none of them has its label.
    images: (n, h, w, c) uint8; labels: (n,).
    """
    groups: dict[bytes, list[int]] = collections.defaultdict(list)
    for i, image in enumerate(images):
        groups[image.tobytes()].append(i)
    lost = 0
    for members in groups.values():
        if len(members) > 1:
            counts = collections.Counter(labels[i] for i in members)
            lost += sum(1 for n in counts.values() if n == 1)
    return 1 - lost / max(1, len(images))
