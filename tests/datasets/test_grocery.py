"""Real photos, where they are at hand: a table that is opened as it is, and a run in each lane."""

import numpy as np
import pandas as pd
import pytest

from benchmark.datasets import open_dataset
from benchmark.errors import UserError
from benchmark.planning import settings
from benchmark.spec import RunSpec
from benchmark.training.run import run


@pytest.fixture(scope="module")
def index(shared_data):
    path = shared_data / "grocery" / "index.csv"
    if not path.exists():
        pytest.skip("no grocery photos")
    return path


@pytest.fixture(scope="module")
def few(index, tmp_path_factory):
    """Eight images of each of twelve classes, in a table of their own beside a link to the photos."""
    root = tmp_path_factory.mktemp("grocery")
    (root / "photos").symlink_to(index.parent, target_is_directory=True)
    table = pd.read_csv(index).groupby("fine").head(8)
    table = table[table["fine"].isin(np.unique(table["fine"])[::7])]
    table.assign(path="photos/" + table["path"]).drop(columns="split").to_csv(root / "few.csv", index=False)
    return root


def test_the_whole_set_has_the_classes_that_its_authors_count(index, tmp_path):
    dataset = open_dataset(f"{index}?split=order", tmp_path)
    assert [len(names) for names in dataset.names] == [81, 43, 3]
    assert len(dataset) == 5_421
    assert len(np.unique(dataset.labels[dataset.query, 0])) == 41
    assert dataset.source.read(0).shape[2] == 3


def test_its_own_split_is_refused_since_it_is_not_by_class(index, tmp_path):
    with pytest.raises(UserError, match=r"write index\.csv\?split=class"):
        open_dataset(str(index), tmp_path)


def spec(few, name: str, method: str, **fields: object) -> RunSpec:
    small = {"image_size": 64, "resize": 72, "batch_size": 16, "epochs": 2, "batches_per_epoch": 4, "lr_steps": ()}
    base = RunSpec(dataset=str(few / "few.csv"), method=method)
    return base.replace(**settings.setting(name, base.dataset, method) | small | fields)


def test_the_frozen_lane_reports_every_level(few):
    row = run(spec(few, "frozen", "contrastive", views=2), data=few)
    assert row["status"] == "ok", row["error"]
    assert {"test/mAP", "test/mAP/coarse", "test/mAP/super"} <= row["metrics"].keys()


def test_fine_tuning_learns_its_training_classes(few):
    row = run(spec(few, "light", "contrastive", lr=3e-4, train_resize=72, epochs=2), data=few)
    assert row["status"] == "ok", row["error"]
    losses = [point["loss"] for point in row["curve"][1:]]
    assert losses[-1] < losses[0]
