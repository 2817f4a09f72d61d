"""Blocked layouts with rows together: words along both axes of a tile of bytes."""

import numpy as np
import pytest
from dslc.compiler.layout.neighbours import neighbours_last
from dslc.compiler.passes.layouts.blocked import blocked, squares


@pytest.mark.parametrize(
    ("shape", "threads"), [((128, 128), 256), ((64, 128), 128), ((256, 64), 256)]
)
def test_threads_hold_four_rows_side_by_side(shape: tuple[int, int], threads: int) -> None:
    apart = blocked(shape, threads, 16)
    square = squares(apart)
    assert square is not None
    assert sorted(square.numbers().ravel()) == list(range(shape[0] * shape[1]))
    assert (square.numbers()[:, :16] % 16 == np.arange(16)).all()  # loads stay 16 bytes wide
    turned = neighbours_last(square, 0).numbers().reshape(threads, -1, 4)
    assert (turned - turned[:, :, :1] == np.arange(4) * shape[1]).all()


def test_rows_that_are_fewer_stay_apart() -> None:
    assert squares(blocked((32, 128), 256, 16)) is None
