"""Desks for the tests of the runner."""

from pathlib import Path

import pytest
from desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.write()
    return made


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The small study, run from beginning to end with nothing in its way."""
    made = Desk(tmp_path_factory.mktemp("undisturbed"))
    made.write()
    done = made.run()
    assert done.returncode == 0, done.stderr
    return made
