"""Settings of the loss tests."""

import pytest
import torch


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """Small batches: threads would spend their time waiting for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
