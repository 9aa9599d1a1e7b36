"""Arrays that many processes fill together: nothing is computed twice, nothing that looks finished is not."""

import threading

import numpy as np
import pytest

from benchmark.files import Claims
from benchmark.images.chunked import ChunkedArray


def made(tmp_path, rows: int = 20) -> ChunkedArray:
    return ChunkedArray(tmp_path / "a.npy", rows, np.arange(2, rows), 4, {"of": "a test"})


def numbers(chunk: int, indices: np.ndarray) -> np.ndarray:
    return np.stack([indices, indices**2], axis=1).astype(np.float32)


def test_rows_stand_where_they_belong_and_what_is_not_asked_for_is_zero(tmp_path):
    array = made(tmp_path)
    array.fill(numbers)
    found = array.array()
    assert (found[2:] == numbers(0, np.arange(2, 20))).all()
    assert (found[:2] == 0).all()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "a.lock", "a.npy"]


def test_who_comes_back_after_the_end_computes_nothing(tmp_path):
    array = made(tmp_path)
    array.fill(numbers)
    (tmp_path / "a.chunks").mkdir()  # as if it had looked just before the marks were taken away
    array._round(lambda *_: pytest.fail("computed again"))
    array.fill(lambda *_: pytest.fail("computed again"))


def test_a_chunk_that_somebody_is_at_is_left_to_them_and_waited_for(tmp_path):
    array, mine = made(tmp_path), []
    others = Claims(tmp_path / "a.chunks" / "claims")
    assert others.take("1")

    def compute(chunk: int, indices: np.ndarray) -> np.ndarray:
        mine.append(chunk)
        return numbers(chunk, indices)

    waiting = threading.Thread(target=array.fill, args=(compute,))
    waiting.start()
    waiting.join(0.7)
    assert waiting.is_alive()
    assert mine == [0, 2, 3, 4]
    assert array.done() == 14
    others.release("1")  # as if its process had been killed
    waiting.join(10)
    assert mine == [0, 2, 3, 4, 1]
    assert array.done() == 18
