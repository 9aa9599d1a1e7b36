"""What a user would lose: photos that are not changed in the way that the run says."""

import numpy as np
import torch
from trees import photo

from benchmark.datasets._own import open_folder
from benchmark.spec import RunSpec
from benchmark.training.inputs import open_inputs
from benchmark.training.training_set import training_view


def batches(folder, augmentation: str) -> list[torch.Tensor]:
    dataset = open_folder(folder)
    spec = RunSpec(dataset="photos", image_size=32, resize=32, augmentation=augmentation)
    view = training_view(dataset, spec)
    inputs, _, _ = open_inputs(spec, dataset, view, folder, torch.device("cpu"))
    return list(inputs.train(1, [np.arange(8), np.arange(8)]))


def test_every_augmentation_changes_photos_and_repeats_itself(tmp_path):
    for i in range(24):
        photo(tmp_path / "photos" / f"class{i % 4}" / f"{i}.jpg", i, (48, 40))
    plain = batches(tmp_path / "photos", "none")
    assert torch.equal(plain[0], plain[1])
    for kind in ("affine", "crop"):
        first, again = batches(tmp_path / "photos", kind), batches(tmp_path / "photos", kind)
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
        assert not torch.equal(first[0], first[1])
        assert not torch.equal(first[0], plain[0])
