import os
from importlib import import_module
from pathlib import Path

import pytest
from trees import TREES

from benchmark.datasets._dataset import Dataset


@pytest.fixture
def open_tree(tmp_path: Path):
    """Build a small tree and open it without the counts of the whole data set."""

    def build(tree: str) -> Dataset:
        name, builder = TREES[tree]
        return import_module(f"benchmark.datasets.{name}").open(builder(tmp_path), expect=None)

    return build


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data beside the project, for tests that skip where it is absent."""
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("BENCHMARK_SHARED", beside))
    if not folder.is_dir():
        pytest.skip("no shared data; set BENCHMARK_SHARED to its folder")
    return folder
