"""What a caption says about the runs behind a table or figure: setting, protocol, scale, ceiling, intervals.

Sentences are generated from the rows themselves, so that a caption cannot describe other runs than it shows.
"""

from collections import Counter
from collections.abc import Iterable
from statistics import multimode
from typing import Any

import pandas as pd

from benchmark.errors import UserError
from benchmark.planning import study
from plots.data import variant_values
from plots.stats import MARGIN
from plots.tables._cells import trains

SEPARABLE = (
    "≈: not separable from the best (no other is above it in a one-sided paired t-test on shared seeds at 5 % divided by the "
    "number of others); the true best is among these and the bold one with 95 % confidence."
)
INTERVAL = f"Values in percent: mean ± half-width of the 95 % t-interval over seeds. Bold: the best mean; {SEPARABLE}"
PAPER = (
    "Columns “paper”: the published value, in brackets ours minus the paper's; = reproduced (the 95 % interval of the "
    f"difference, from both spreads, lies within ± {MARGIN:g} point), ↑ above, ↓ below (it excludes zero), ? undecided, "
    "with the number of our seeds that would decide; without brackets: not run in its setting."
)
PROTOCOLS = {  # on which classes something is chosen, and whose values are shown if that is the epoch
    "test": ("the test classes, as the paper does", ": values are those of each run's best epoch, not of its last"),
    "validation": ("held-out training classes", "; the test classes are seen once, at the chosen epoch"),
}
LAST = "; values are those of the last epoch, the only one that was looked at"
SCALES = {
    "quick": "Scale quick: a rehearsal, not evidence.",
    "laptop": "Scale laptop: this project's embedded data and small network, not the paper's setting.",
    "photos": "Scale photos: the paper's photos, with a network that is not trained or only in its last stage, which is not "
    "the paper's setting.",
    "paper": "Scale paper: the paper's data and setting.",
}
LANES = {
    "frozen": "features frozen, only the head is trained",
    "stage": "its last stage and the head are trained, on what lies before, computed once",
}
# What decides a run beside method, parameters and seed; rows that differ from the others get a footnote.
FACTS = (
    "backbone", "pretrained", "lane", "embedding_dim", "pooling", "layer_norm", "projector", "image_size",
    "augmentation", "crop_scale", "batch_norm", "optimizer", "batch_size", "per_class", "sampler", "epochs",
    "batches_per_epoch", "warm_epochs", "train_classes", "test_classes", "views",
)  # fmt: skip
DEVICE = ("device", "precision_used", "deterministic")
MISSING = "data/missing images"  # a metric of runs on data that lack some
CEILING = "data/ceiling R@1"
BATCH_NORM = {"train": "trained", "statistics": "with frozen statistics", "frozen": "frozen"}
GALLERIES = ("inshop",)  # on the others every test image looks for its class among all others


def device(kind: object, precision: object, repeatable: object) -> str:
    """Where and how a run was made: "cpu, float32"; older runs did not say."""
    if not isinstance(kind, str) or not kind:
        return "not recorded"
    return f"{kind}, {precision}" + ("" if repeatable else ", not deterministic")


def devices(runs: pd.DataFrame) -> str:
    """A sentence where runs of different kinds of device, precision or determinism are mixed."""
    told = Counter(device(*values) for values in zip(*(runs[name].tolist() for name in DEVICE), strict=True))
    if len(told) < 2:
        return ""
    kinds = "; ".join(f"{count} runs {name}" for name, count in told.most_common())
    return f"Runs of different kinds are mixed ({kinds}); their numbers can differ by more than rounding."


def scale(name: str) -> str:
    return SCALES.get(name, f"Scale {name}.")


def variant(text: str) -> str:
    """ "lam=0.8;variant=min" → "lam 0.8, variant min"."""
    return ", ".join(f"{key} {value}" for key, value in variant_values(text).items())


def named(title: str, variant: str, alone: bool = False) -> str:
    """A method with its variant; the variant only where the method is the only one."""
    return variant if alone and variant else title + (f" ({variant})" if variant else "")


def same_runs(studies: list[str]) -> list[str]:
    return [f"The same holds for studies whose runs are among these: {', '.join(studies)}."] if studies else []


def headline(dataset: str, metrics: list[str], rows: str, runs: pd.DataFrame) -> str:
    """What a table shows, said of its rows: measures, what is compared, data set, size of the images."""
    shown = [*dict.fromkeys(map(_metric, metrics))]
    told = f"{' and '.join(filter(None, (', '.join(shown[:-1]), shown[-1])))} of {rows} on {dataset}"
    sizes = sorted(runs["image_size"].dropna().unique()) if len(runs) else []
    told += ", " + " and ".join(f"{size:g} × {size:g}" for size in sizes) + " pixels" if sizes else ", as published"
    return told + (", queries against a gallery." if dataset in GALLERIES else ".")


def _metric(name: str) -> str:
    """ "train/R@1" → "train R@1", "test/mAP/order" → "mAP (order)", "rerank4/R@1" → "R@1 re-ranked with k = 4"."""
    part, metric, *level = name.split("/")
    if part.startswith("rerank"):
        return f"{metric} re-ranked with k = {part.removeprefix('rerank')}"
    if part.startswith("diml"):
        return f"{metric} after matching the {part.removeprefix('diml')} nearest"
    return ("train " if part == "train" else "") + metric + (f" ({level[0]})" if level else "")


def first_sentence(name: str, scale: str) -> str:
    """The title of the study and its notes, as its TOML says them."""
    try:
        title = study.load(name, scale).title.rstrip(".")
    except UserError:  # results of a study whose file is not here any more
        title = name
    return f"{title}. {notes(name, scale)}".rstrip()


def notes(name: str, scale: str) -> str:
    try:
        return study.load(name, scale).notes.strip()
    except UserError:
        return ""


def protocol(name: str, runs: pd.DataFrame) -> str:
    """What was chosen, and on which classes."""
    runs = runs[runs["protocol"] == name]
    trained = runs[[trains(method) for method in runs["method"]]]
    looks = trained.reindex(columns=["evaluate_every", "epochs"]).dropna()
    once = len(looks) > 0 and bool((looks["evaluate_every"] >= looks["epochs"]).all())
    tuned = runs["trials"].fillna(0).gt(0).any()
    where, values = PROTOCOLS[name]
    if once and not tuned:
        return f"Protocol {name}: the learning rate was given, and nothing is chosen{LAST}."
    chosen = " and ".join(["learning rate"] * bool(tuned) + ["epoch"] * (not once))
    given = "" if tuned else " (the learning rate was given, not tuned)"
    return f"Protocol {name}: {chosen}{given} chosen on {where}{LAST if once else values}."


def usual(runs: pd.DataFrame) -> dict[str, Any]:
    """The most frequent value of each fact, among the runs that train something."""
    trained = [trains(method) for method in runs["method"]]
    runs = runs[trained] if any(trained) else runs
    known = {name: _known(runs[name]) for name in FACTS if name in runs}
    return {name: min(multimode(values)) for name, values in known.items() if values}


def _known(values: pd.Series) -> list[Any]:
    """As a list: on the few runs of a cell a Series takes fifty times as long."""
    return [value for value in values.tolist() if value is not None and value == value]


def setting(runs: pd.DataFrame, varied: Iterable[str] = ()) -> str:
    """How the runs were made, in one sentence; of what the study varies, every value."""
    if runs.empty:
        return ""
    fact = {name: _plain(value) for name, value in usual(runs).items()}
    for name in set(varied) & set(fact):
        fact[name] = "/".join(map(_plain, sorted(runs[name].dropna().unique())))
    weights = "ImageNet weights" if fact["pretrained"] == "True" else "from scratch"
    parts = [f"{fact['backbone']} ({weights})"]
    if fact["lane"] in LANES:
        parts.append(LANES[fact["lane"]])
    parts.append(f"embedding {fact['embedding_dim']}")
    parts.append(f"{fact['pooling']} pooling" + (" and layer norm" if fact["layer_norm"] == "True" else ""))
    if fact["projector"] != "identity":
        parts.append(f"projector {fact['projector']}")
    crop = f" (scale {fact['crop_scale']}–1)" if fact["augmentation"] == "crop" else ""
    views = f" in {fact['views']} views" if fact["views"] != "1" else ""
    parts.append(f"{fact['image_size']} px, augmentation {fact['augmentation']}{crop}{views}")
    parts.append(f"batch norm {BATCH_NORM.get(fact['batch_norm'], fact['batch_norm'])}")
    parts.append(f"batch {fact['batch_size']}, {fact['per_class']} per class")
    batches = f" of {fact['batches_per_epoch']} batches" if fact["batches_per_epoch"] != "0" else ""
    parts.append(f"{fact['epochs']} epochs{batches}, {fact['optimizer']}")
    used = set(_known(runs["precision_used"])) if "precision_used" in runs else set()
    if len(used) == 1 and used != {"float32"}:  # where kinds are mixed, `devices` says so
        parts.append(f"in {used.pop()}")
    for side in ("train", "test"):
        if fact[f"{side}_classes"] != "0":
            parts.append(f"{side} classes {fact[f'{side}_classes']}")
    return "; ".join(parts) + "."


def unusual(runs: pd.DataFrame, fact: dict[str, Any], varied: set[str]) -> str:
    """What sets some runs apart from the usual ones of their section, for a footnote; "" for nothing."""
    apart = []
    for name, value in fact.items():
        seen = set() if name in varied else set(_known(runs[name]))
        if seen - {value}:
            values = sorted(map(_plain, seen))
            apart.append(f"{name} {' and '.join(values)} (others {_plain(value)})")
    return "trained with " + ", ".join(apart) if apart else ""


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def absent(runs: pd.DataFrame) -> str:
    """How many images of the data set were not there."""
    count = runs[MISSING].max() if MISSING in runs else 0
    return f"{count:g} images of the data set are missing and were left out." if count > 0 else ""


def ceiling(runs: pd.DataFrame) -> str:
    """The best R@1 that the labels of the data allow, where the data set can tell."""
    if CEILING not in runs or runs[CEILING].isna().all():
        return ""
    return f"R@1 cannot exceed {100 * runs[CEILING].max():.1f} here: some images of different classes are equal."
