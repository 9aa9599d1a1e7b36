"""Fixtures that several test folders share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data folder for the whole session, so that the glyphs are drawn once."""
    return tmp_path_factory.mktemp("data")
