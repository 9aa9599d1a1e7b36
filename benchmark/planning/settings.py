"""The paper's training settings, once, as data: what the network sees, how it is built and how it is trained.

A study names a setting; `setting(name, dataset, method)` lies under the study's own fields and `params(...)`
under its parameters of the method. Sources: [224] the paper's main setting, [256] its appendix G, as used
where text and use differ.
"""

from pathlib import Path
from typing import Any

import baselines
from benchmark.datasets import is_path, open_dataset, parse
from benchmark.errors import UserError, unknown

Fields = dict[str, Any]


def _steps(every: int, epochs: int) -> tuple[int, ...]:
    return tuple(range(every, epochs, every))


# fmt: off
# [224] main tables: ResNet-50 V1, GeM, AdamW, batch norm frozen, 512 dimensions.
MAIN: Fields = {
    "backbone": "resnet50", "pretrained": True, "pooling": "gem", "layer_norm": False, "embedding_dim": 512,
    "projector": "linear", "projector_dim": 2048, "batch_norm": "frozen", "precision": "amp",
    "image_size": 224, "resize": 256, "augmentation": "crop",
    "optimizer": "adamw", "weight_decay": 1e-4, "backbone_lr": 1.0, "projector_lr": 2.0, "proxy_lr": 100.0,
    "batch_size": 128, "per_class": 4, "evaluate_every": 10, "ks": (1, 2, 4, 8),
}
MAIN_BY_DATASET: dict[str, Fields] = {
    "cub": {
        "epochs": 60, "lr_steps": _steps(10, 60), "lr_factor": 0.3,
        "batches_per_epoch": 45, "crop_scale": 0.16,
    },
    "cars": {
        "epochs": 160, "lr_steps": _steps(20, 160), "lr_factor": 0.5,
        "batches_per_epoch": 126, "crop_scale": 0.12, "batch_size": 64,
    },
    "sop": {
        "epochs": 80, "lr_steps": _steps(15, 80), "lr_factor": 0.3,
        "batches_per_epoch": 655, "crop_scale": 0.08, "sampler": "hierarchical", "projector": "identity",
        "evaluate_every": 5, "ks": (1, 10, 100, 1000),
    },
}
MAIN_WARM_UP: dict[str, Fields] = {  # what differs for proxy losses, those whose file says WARM_UP
    "cub": {"warm_epochs": 10},
    "cars": {"warm_epochs": 10},
    "sop": {"warm_epochs": 1, "epochs": 115, "lr_steps": _steps(21, 115)},
}

# [256] appendix G, ablations, regulariser, In-Shop, iNaturalist: as Roadmap, with a faster schedule.
APPENDIX: Fields = {
    "backbone": "resnet50", "pretrained": True, "pooling": "average", "layer_norm": False,
    "embedding_dim": 512, "projector": "identity", "batch_norm": "statistics", "precision": "amp",
    "image_size": 256, "resize": 288, "augmentation": "crop", "crop_scale": 0.16,
    "optimizer": "adam", "weight_decay": 1e-4, "backbone_lr": 0.5, "proxy_lr": 100.0,
    "epochs": 80, "lr_steps": (15, 30, 45), "lr_factor": 0.3,
    "batch_size": 128, "per_class": 4, "evaluate_every": 5, "ks": (1, 2, 4, 8),
}
_SQUARE: Fields = {"train_resize": 288, "resize_square": True}  # 288 first, and a 288 square at test
APPENDIX_BY_DATASET: dict[str, Fields] = {
    "cub": {"lr": 8e-5, "batches_per_epoch": 15, "pooling": "max", "layer_norm": True},
    "cars": {"lr": 1.6e-4, "batches_per_epoch": 30, "pooling": "max", "layer_norm": True},
    "sop": {"lr": 4e-5, "batches_per_epoch": 655, "sampler": "hierarchical", "ks": (1, 10, 100), **_SQUARE},
    "inat": {
        "lr": 8e-5, "batches_per_epoch": 576, "sampler": "hierarchical", "ks": (1, 4, 16, 32),
        "batch_size": 256, "image_size": 224, "resize": 256,
    },
    "inshop": {"lr": 4e-5, "batches_per_epoch": 600, "ks": (1, 10, 20, 30, 40, 50), **_SQUARE},
}

# This project's own, for machines without a GPU.
GLYPHS: Fields = {  # chosen by measurement: docs/DATA.md
    "backbone": "convnet", "image_size": 32, "augmentation": "none", "pooling": "gem", "layer_norm": True,
    "embedding_dim": 64, "batch_norm": "train", "optimizer": "adamw", "batch_size": 64, "per_class": 4,
    "epochs": 6, "batches_per_epoch": 30, "lr_steps": (4,), "lr_factor": 0.3,
    "train_classes": 100, "test_classes": 100, "validation_share": 0.4,  # of a fifth nearly every letter is found
    "ks": (1, 2, 4, 8, 10, 16, 20, 30, 32, 40, 50, 100, 1000), "rerank": (4, 16, 32),  # those of every table
}
EMBEDDED_ONLY = ("train_classes", "test_classes", "validation_share")  # counts that say nothing about other data
GLYPHS_QUICK: Fields = GLYPHS | {  # a rehearsal of everything in minutes: fewer classes and steps
    "epochs": 2, "batches_per_epoch": 20, "lr_steps": (), "train_classes": 60, "test_classes": 60,
}
FROZEN: Fields = {  # ImageNet features computed once; only the head is trained
    "backbone": "efficientnet_lite0", "pretrained": True, "lane": "frozen", "pooling": "average",
    "embedding_dim": 128, "batch_norm": "frozen", "image_size": 224, "resize": 256, "augmentation": "crop",
    "optimizer": "adamw", "lr": 1e-3, "epochs": 10, "lr_steps": (6, 8), "lr_factor": 0.3,
    "batch_size": 128, "per_class": 4, "batches_per_epoch": 30,
}
# Views by measurement (16 birds train, 16 test, EfficientNet-Lite0 at 96 pixels, a contrastive head, 3 seeds): with 1, 2, 4
# views train R@1 is 90.5, 86.6, 83.9 after 300 batches and test R@1 45.9, 47.5, 48.2. With one, it learns pictures by heart.
# Length by measurement (CUB, contrastive, proxy anchor, contextual, MS at rate 1e-3, one seed): from 300 to 600 batches the best
# test R@1 rises by 0.1 to 0.9 points, from 600 to 1,200 it falls by 0.5 to 1.0 (three of them) while train R@1 goes on rising.
PHOTOS: Fields = FROZEN | {  # the paper's backbone, pooling and dimensions [224], with a frozen backbone
    "backbone": "resnet50_caffe", "weights": "resnet50_v1.pt@2bd0aec3a7c78489", "pooling": "gem", "embedding_dim": 512,
    "crop_scale": 0.16, "views": 4, "epochs": 20, "batches_per_epoch": 30, "lr_steps": (12, 16), "evaluate_every": 4,
    "rerank": (4, 16, 32),  # those of the paper's table
}
# Length by measurement (CUB, contrastive and contextual at rate 1e-4, one seed): in 600 batches train R@1 rises to the end (75.5,
# 73.8), test R@1 does not: its best is 47.9 after 100 of them, 48.9 after 500. 300 batches at 8e-5 give 48.8 and 48.1.
STAGE: Fields = PHOTOS | {  # its last stage is trained too, as far as two cores can: minutes a run
    "lane": "stage", "trainable": "layer4", "image_size": 128, "resize": 146, "batch_norm": "frozen", "batch_size": 64,
    "precision": "bfloat16", "lr": 1e-4, "epochs": 6, "batches_per_epoch": 50, "lr_steps": (4,), "evaluate_every": 2,
}
PHOTOS_BY_DATASET: dict[str, Fields] = {  # crops and ranks as published for each
    name: {key: row[key] for key in ("crop_scale", "ks") if key in row}
    for name, row in (APPENDIX_BY_DATASET | MAIN_BY_DATASET).items()
}
# In-Shop: 52,712 photos, of which each view and each look costs most; length by measurement (MS, contrastive, contextual, proxy
# anchor at rate 2e-3, one seed): from 600 to 1,200 batches test R@1 rises by 2.7 to 3.1 points (proxy anchor 15.8), to 2,400 by
# 1.6 to 2.0 (6.9), to 4,800 by 0.45 (MS at 5e-3); the last of three looks was the best in all.
PHOTOS_BY_DATASET["inshop"] |= {"views": 2, "batches_per_epoch": 120, "evaluate_every": 20}
SMALL: Fields = {key: value for key, value in GLYPHS.items() if key not in EMBEDDED_ONLY}  # any images of that size
LIGHT: Fields = FROZEN | {  # end to end on a CPU
    "lane": "end_to_end", "image_size": 96, "resize": 112, "train_resize": 112, "crop_scale": 0.3,
    "lr": 3e-4, "epochs": 4, "lr_steps": (3,), "batch_size": 64, "batches_per_epoch": 20,
}
# fmt: on

SETTINGS: dict[str, tuple[Fields, dict[str, Fields]]] = {
    "224": (MAIN, MAIN_BY_DATASET),
    "256": (APPENDIX, APPENDIX_BY_DATASET),
    "glyphs": (GLYPHS, {}),
    "glyphs-quick": (GLYPHS_QUICK, {}),
    "frozen": (FROZEN, {}),
    "photos": (PHOTOS, PHOTOS_BY_DATASET),
    "stage": (STAGE, PHOTOS_BY_DATASET),
    "small": (SMALL, {}),
    "light": (LIGHT, {}),
}
EMBEDDED = ("glyphs", "glyphs-quick")  # settings for the data that come with the project
SMALL_SIDE = 64  # pixels up to which images are trained on as they are
SMALL_DATASETS = ("cifar100", "omniglot")
PAPER_DATASETS = ("cub", "cars", "sop", "inat", "inshop")
NEAREST = "cub"  # a data set that the paper does not have gets the values of its smallest one


def names() -> list[str]:
    return list(SETTINGS)


def fitting(dataset: str, data: Path) -> str:
    """The setting for a data set that a study was not written for: photos are seen by a backbone that is not trained."""
    if parse(dataset)[0] in SMALL_DATASETS:
        return "small"
    if not is_path(dataset):
        return "photos"
    found = open_dataset(dataset, data)
    some = [found.source.read(int(i)).shape for i in found.train[:: len(found.train) // 9 + 1]]
    return "small" if sorted(min(shape[:2]) for shape in some)[len(some) // 2] <= SMALL_SIDE else "frozen"


def setting(name: str, dataset: str, method: str = "") -> Fields:
    """RunSpec fields of a setting on a data set; with a method, also what the setting changes for it."""
    dataset = parse(dataset)[0]
    if name not in SETTINGS:
        raise unknown("setting", name, SETTINGS, "python -m benchmark list settings")
    common, rows = SETTINGS[name]
    if rows and dataset in PAPER_DATASETS and dataset not in rows:
        raise UserError(
            f"setting {name!r} was never published for data set {dataset!r}, only for {', '.join(rows)}; "
            "use setting = '256'"
        )
    fields = common | rows.get(dataset, rows.get(NEAREST, {}))
    if name == "224" and method and baselines.card(method).warm_up:
        fields |= MAIN_WARM_UP.get(dataset, MAIN_WARM_UP[NEAREST])
    return fields


# λ, ε of the contextual loss [224]; λ always weighs the contextual term.
CONTEXTUAL: dict[str, Fields] = {
    "cub": {"lam": 0.95, "eps": 0.04},
    "cars": {"lam": 0.8, "eps": 0.05},
    "sop": {"lam": 0.8, "eps": 0.05},
}
APPENDIX_PARAMS: dict[str, Fields] = {  # [256]
    "contextual": {"lam": 0.4, "rest": "1 - lam - gamma", "eps": 0.05, "gamma": 0.1, "s_tilde": 0.25},
    "proxy_nca": {"softmax_scale": 10.0},
}
# Points a class as their authors choose them for SOP, where classes are many and small.
FEW_A_CLASS: dict[str, Fields] = {"soft_triple": {"centers": 2}, "potential_field": {"proxies": 2}}
MANY_CLASSES = ("sop", "inat", "inshop")


def params(name: str, dataset: str, method: str) -> Fields:
    """Loss parameters that the setting changes from the method's own defaults."""
    dataset = parse(dataset)[0]
    if name == "256" and method in APPENDIX_PARAMS:
        return APPENDIX_PARAMS[method]
    if method == "s2sd":  # the published delay is an eighth of the published run
        fields = setting(name, dataset)
        return {"delay": fields["epochs"] * fields["batches_per_epoch"] // 8}
    if dataset in MANY_CLASSES and method in FEW_A_CLASS:
        return FEW_A_CLASS[method]
    if name == "224" and method == "contextual":
        return CONTEXTUAL.get(dataset, CONTEXTUAL[NEAREST])
    return {}


# [224] tuned by the paper's authors: lr, projector, γ. Sampler and warm-up are in the setting.
# fmt: off
PUBLISHED: dict[str, dict[str, tuple[float, str, float]]] = {
    "contextual":
        {"cub": (1.4e-4, "linear", 0.1), "cars": (8e-5, "linear", 0.1), "sop": (6e-5, "identity", 0.1)},
    "contrastive":
        {"cub": (2e-5, "linear", 0), "cars": (8e-5, "linear", 0.1), "sop": (4e-5, "identity", 0)},
    "roadmap":
        {"cub": (2e-5, "linear", 0.1), "cars": (2e-5, "linear", 0), "sop": (4e-5, "identity", 0.1)},
    "triplet":
        {"cub": (8e-5, "identity", 0.1), "cars": (8e-5, "identity", 0.1), "sop": (4e-5, "identity", 0.1)},
    "multi_similarity_miner":
        {"cub": (1.6e-4, "linear", 0), "cars": (8e-5, "linear", 0), "sop": (8e-5, "identity", 0)},
    "proxy_anchor":
        {"cub": (1.6e-4, "linear", 0), "cars": (8e-5, "linear", 0), "sop": (1.6e-4, "identity", 0)},
    "proxy_nca":
        {"cub": (1.6e-4, "linear", 0), "cars": (1.6e-4, "linear", 0), "sop": (1.6e-4, "identity", 0)},
}
# fmt: on
LR_RANGE = (1e-5, 3.2e-4)  # covers every published rate of [224]
PROXY_LR = {"low": 10.0, "high": 1000.0, "log": True}  # × lr, tuned by methods with proxies; 100 in [224]


def published(method: str, dataset: str, name: str = "224") -> Fields:
    """The published tuned values of a method as RunSpec changes: lr, projector and "params.gamma".

    At 256 one rate per data set was used for every method and is part of the setting.
    """
    dataset = parse(dataset)[0]
    if name == "256":
        return {"lr": setting(name, dataset)["lr"]}
    if method not in PUBLISHED or dataset not in PUBLISHED[method]:
        have = ", ".join(f"{m} ({', '.join(d)})" for m, d in PUBLISHED.items())
        raise UserError(
            f"no learning rate is published for {method!r} on {dataset!r} in setting {name!r}, only for "
            f"{have}. Tune it instead: [tuning] lr = [{LR_RANGE[0]:g}, {LR_RANGE[1]:g}]"
        )
    lr, projector, gamma = PUBLISHED[method][dataset]
    return {"lr": lr, "projector": projector, "params.gamma": gamma}
