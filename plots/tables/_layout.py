"""What a comparison table shows: its columns as measures, what makes its sections, titles of its variants.

A table is little more than a `Layout`; `_comparison.py` fills it from the runs and the paper's numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from plots.tables._table import Column


@dataclass(frozen=True)
class Measure:
    """A metric as a column of ours and, where the paper has it, one of the paper's."""

    metric: str  # "test/R@1"
    title: str  # "R@1"
    where: Mapping[str, str] = field(default_factory=dict)  # values of the study's [vary]: {"lam": "0.8"}
    group: str = ""
    shaded: bool = False
    digits: int = 1
    published: str = ""  # the metric's name in results/published, if it differs
    ranked: bool = True  # whether the highest is the best
    against: str = ""  # key of the measure that a coloured change is shown against

    @property
    def key(self) -> str:
        return ";".join([self.metric, *(f"{k}={v}" for k, v in self.where.items())])

    @property
    def column(self) -> Column:
        return Column(self.key, self.title, self.group, self.digits, self.shaded)

    @property
    def paper_column(self) -> Column:
        return Column(f"{self.key} paper", "paper", self.group, self.digits)


@dataclass(frozen=True)
class Layout:
    measures: tuple[Measure, ...]
    sections: tuple[str, ...] = ()  # keys of [vary] that make sections instead of rows
    extras: tuple[str, ...] = ("lr", "trials", "seeds")  # of EXTRAS
    titles: Mapping[str, str] = field(default_factory=dict)  # of variants: {"variant=step1": "step 1 only"}
    stub: str = "Method"
    note: str = ""  # a sentence of the caption

    @property
    def varied(self) -> set[str]:
        """Keys of [vary] that the columns spread out."""
        return {key for measure in self.measures for key in measure.where}


EXTRAS = {
    "lr": Column("lr", "lr", text=True),
    "tuned": Column("tuned", "tuned", text=True),
    "trials": Column("trials", "trials", digits=0),
    "seeds": Column("seeds", "seeds", text=True),
}


def recalls(*ks: int) -> tuple[Measure, ...]:
    """Columns R@k; the first is shaded, as in the paper."""
    return tuple(Measure(f"test/R@{k}", f"R@{k}", shaded=k == 1) for k in ks)


KS = {"sop": (1, 10, 100, 1000), "inat": (1, 4, 16, 32), "inshop": (1, 10, 20, 30, 40, 50)}


def usual_recalls(dataset: str) -> tuple[Measure, ...]:
    """The k that the literature reports on a data set."""
    return recalls(*KS.get(dataset, (1, 2, 4, 8)))


MAP = Measure("test/mAP", "mAP")
MAP_AT_R = Measure("test/mAP@R", "mAP@R")
TRAIN = Measure("train/R@1", "train R@1", ranked=False)
