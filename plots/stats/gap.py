"""The price of selecting on the test set: what each method gains by it, and if the ranking changes."""

import pandas as pd

from plots.stats.separable import paired


def protocol_gap(test: pd.DataFrame, validation: pd.DataFrame) -> pd.DataFrame:
    """Per method, test − validation on shared seeds: difference, half, n, p, the rank under each, and if it
    changes.

    Both frames: one row a seed, one column a method. Ranks count from 1 (best mean) over the methods that
    both have.
    """
    methods = [name for name in test.columns if name in validation.columns]
    ranks = {
        "rank_test": test[methods].mean().rank(ascending=False, method="min"),
        "rank_validation": validation[methods].mean().rank(ascending=False, method="min"),
    }
    rows = []
    for name in methods:
        gap = paired(test[name], validation[name])
        rows.append((gap.mean, gap.half, gap.n, gap.p))
    frame = pd.DataFrame(
        rows, index=pd.Index(methods, name="method"), columns=["difference", "half", "n", "p"]
    )
    frame = frame.assign(**ranks)
    return frame.assign(changed=frame["rank_test"] != frame["rank_validation"])
