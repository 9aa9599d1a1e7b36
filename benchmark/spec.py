"""RunSpec: everything that decides the outcome of one training run, and nothing else.

A study is expanded into RunSpecs (`plan.py`), a RunSpec is trained and judged (`run.py`), and the result is stored under
`RunSpec.run_id` (`store.py`). The number of workers, the device and the folders are not here: they do not change a number.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from benchmark.errors import UserError, unknown

# Raise this when a change of the code changes the numbers of an unchanged spec: stored runs are then done again.
RECIPE = 2

CHOICES: dict[str, tuple[str, ...]] = {
    "augmentation": ("none", "affine", "crop"),
    "pooling": ("gem", "max", "average", "avg_max"),
    "projector": ("identity", "linear"),
    "batch_norm": ("train", "statistics", "frozen"),
    "lane": ("end_to_end", "stage", "frozen"),
    "optimizer": ("adamw", "adam", "sgd"),
    "sampler": ("method", "balanced", "shuffle", "hierarchical"),
    "precision": ("float32", "amp", "bfloat16"),
    "protocol": ("test", "validation"),
    "phase": ("tune", "final"),
}
BOUNDS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "lr epochs batch_size per_class image_size embedding_dim evaluate_every views": ("be above 0", lambda v: v > 0),
    "weight_decay backbone_lr projector_lr proxy_lr warm_epochs batches_per_epoch": (
        "not be negative",
        lambda v: v >= 0,
    ),
    "label_noise image_noise validation_share": ("lie in [0, 1]", lambda v: 0 <= v <= 1),
}


def later(default: Any) -> Any:
    """A field that came after the first results were stored: at its default it stands in no run_id, so they keep theirs."""
    return field(default=default, metadata={"later": True})


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    # data
    dataset: str  # a name from `python -m benchmark list`, or the path of a CSV, Parquet file or folder
    train_classes: float = 0  # use only the first so many training classes (a share if below 1; 0: all)
    test_classes: float = 0  # the same for the test classes
    label_noise: float = 0.0  # share of training samples with a label drawn at random
    label_noise_excludes_true: bool = False  # whether the drawn label must differ from the true one
    image_noise: float = 0.0  # share of training images replaced by distractors
    distractors: str = ""  # folder of distractor images ("": those of the data set, where it has some)
    judged_on: str = later("")  # another data set, whose test side is what is judged
    gallery_distractors: str = later("")  # more images to search: "rest" (other test classes), or data sets "a,b"
    # images
    image_size: int = 32  # side of what the network sees
    resize: int = 0  # test: resize the shorter side to this before the centre crop (0: to image_size)
    resize_square: bool = False  # test: resize to a square of side `resize` instead of keeping the aspect
    train_resize: int = 0  # train: resize the shorter side to this before the random crop (0: none)
    augmentation: str = "affine"
    crop_scale: float = 0.16  # smallest share of the area that a random crop keeps
    # method
    method: str = "contrastive"
    params: Mapping[str, object] = field(default_factory=dict)  # of the loss; the others have their defaults
    # model
    backbone: str = "convnet"  # convnet, resnet50, resnet50_caffe, efficientnet_lite0, or any timm name
    pretrained: bool = False
    weights: str = later("")  # a file of weights for the backbone, here or below the data folder; "FILE@HASH"
    lane: str = "end_to_end"  # frozen: train only the head, on features computed once; stage: the last stage too
    trainable: str = later("")  # stage lane: the first part of the backbone that is trained, such as layer4
    views: int = 1  # frozen and stage lane: views of each training image, the plain one and augmented ones
    pooling: str = "gem"
    layer_norm: bool = False  # affine-free LayerNorm before the embedding
    embedding_dim: int = 64
    projector: str = "identity"  # linear: training sees a projection of the embedding, evaluation does not
    projector_dim: int = 2048
    batch_norm: str = "train"  # statistics: running statistics frozen; frozen: affine too
    # optimisation
    optimizer: str = "adamw"
    lr: float = 1e-3
    weight_decay: float = 1e-4
    backbone_lr: float = 1.0  # multiplies lr
    projector_lr: float = 2.0  # multiplies lr
    proxy_lr: float = 100.0  # multiplies lr
    epochs: int = 10
    batches_per_epoch: int = 20  # 0: one pass over the training set
    batch_size: int = 128
    per_class: int = 4  # images of a class in a balanced batch
    sampler: str = "method"  # method: what the loss asks for (proxy losses: shuffle; others: balanced)
    lr_steps: tuple[int, ...] = ()  # epochs at which lr is multiplied by lr_factor
    lr_factor: float = 0.3
    warm_epochs: int = 0  # epochs in which only embedding, projector and proxies train
    precision: str = "float32"  # amp: mixed, on a graphics card; bfloat16: the backbone alone, on any device
    # judgement
    evaluate_every: int = 1  # epochs between looks at the score, of which the best counts
    ks: tuple[int, ...] = (1, 2, 4, 8)
    monitor: bool = False  # also keep L_context and train mAP along the way, whatever the method
    rerank: tuple[int, ...] = ()  # also evaluate with contextual re-ranking at these k
    diml: tuple[int, ...] = later(())  # also with the K nearest ranked again by matching feature maps, at these K
    protocol: str = "test"  # test: the paper's, best test R@1 over epochs; validation: held-out training classes choose
    validation_share: float = 0.2  # of the training classes, with protocol = validation
    phase: str = "final"  # tuning seeds and final seeds are disjoint
    seed: int = 0
    # identity: fingerprints that planning fills in (`planning/identity.py`); "": not recorded
    code: str = later("")  # of the method's file and what it is built from
    data: str = later("")  # of the data set's content; "" for data that come with the project
    recipe: int = RECIPE

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            object.__setattr__(self, f.name, _checked(f.name, getattr(self, f.name), f.type))
        if self.judged_on == self.dataset:
            object.__setattr__(self, "judged_on", "")  # one run has one id
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise unknown(name, getattr(self, name), choices)
        for names, (wanted, holds) in BOUNDS.items():
            for name in names.split():
                if not holds(getattr(self, name)):
                    raise UserError(f"{name} = {getattr(self, name)!r} must {wanted}")
        if (self.lane == "stage") != bool(self.trainable):
            raise UserError(
                f"lane = {self.lane!r} with trainable = {self.trainable!r}: lane = 'stage' trains the backbone from a "
                "named part on, such as trainable = 'layer4', and the other lanes have none"
            )
        if not self.ks or min(self.ks) < 1:
            raise UserError(f"ks = {self.ks!r} must hold numbers from 1 on")
        if min(self.diml, default=1) < 1:
            raise UserError(f"diml = {self.diml!r} must hold numbers from 1 on")
        if self.diml and self.lane == "frozen":
            raise UserError(
                f"diml = {self.diml!r} matches feature maps, and lane = 'frozen' keeps only pooled features; "
                "use setting = 'stage' (lane = 'stage') or lane = 'end_to_end', or leave diml out"
            )

    def canonical(self) -> str:
        """The JSON that the run_id is a hash of: sorted keys, no spaces, no `later` field at its default."""
        left_out = {f.name for f in FIELDS.values() if f.metadata.get("later") and getattr(self, f.name) == f.default}
        fields = {name: getattr(self, name) for name in FIELDS if name not in left_out}
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def run_id(self) -> str:
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]

    @property
    def base_id(self) -> str:
        return base_id(self.canonical())

    def __hash__(self) -> int:
        return hash(self.run_id)

    def elsewhere(self) -> list["RunSpec"]:
        """What the run sees of other data sets than its own: plain images, as specs on these."""
        more = () if self.gallery_distractors == "rest" else self.gallery_distractors.split(",")
        plain = {"judged_on": "", "gallery_distractors": "", "views": 1, "image_noise": 0.0, "data": ""}
        return [self.replace(dataset=name.strip(), **plain) for name in (self.judged_on, *more) if name.strip()]

    def replace(self, **changes: object) -> "RunSpec":
        """A copy with changed fields; `{"params.lam": 0.4}` changes one parameter of the loss."""
        params = dict(self.params) | {k[7:]: v for k, v in changes.items() if k.startswith("params.")}
        fields = {k: v for k, v in changes.items() if not k.startswith("params.")}
        for name in fields:
            if name not in FIELDS:
                raise unknown("spec field", name, FIELDS, "python -m benchmark list fields")
        changed: dict[str, Any] = {"params": params} | fields
        return dataclasses.replace(self, **changed)

    @classmethod
    def from_json(cls, text: str) -> "RunSpec":
        return cls(**json.loads(text))


def base_id(canonical: str) -> str:
    """What was asked, whatever the code and data that answered: the same for runs that differ in these alone."""
    asked = {name: value for name, value in json.loads(canonical).items() if name not in ("code", "data")}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _checked(name: str, value: object, annotation: object) -> object:
    """`value` as the type that the field declares, or a UserError that says what was expected."""
    kind = getattr(annotation, "__name__", str(annotation))
    if isinstance(value, {"bool": bool, "str": str}.get(kind, ())):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        if kind == "float" and not math.isfinite(value):
            raise UserError(f"{name} = {value!r} must be finite")
        if kind == "float" or (kind == "int" and math.isfinite(value) and value == int(value)):
            return float(value) if kind == "float" else int(value)
    if kind == "tuple" and isinstance(value, list | tuple) and all(isinstance(v, int) for v in value):
        return tuple(value)
    if kind == "Mapping" and isinstance(value, Mapping):
        return dict(sorted(value.items()))
    raise UserError(f"{name} = {value!r} must be of type {kind}")


FIELDS: dict[str, dataclasses.Field] = {f.name: f for f in dataclasses.fields(RunSpec)}
