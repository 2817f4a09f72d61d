"""Layouts of copies: who copies what."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from dslc.codegen.c_family.memory.copying import spread

SHAPES = [(64,), (8, 32), (3, 64), (128, 8), (2, 5, 16), (6, 96), (1, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [32, 96, 128])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_copy_s_threads_have_every_element_in_runs(
    shape: tuple[int, ...], threads: int, width: int
) -> None:
    layout = spread(shape, threads, width)
    assert layout.threads == threads
    found = layout.numbers()
    elements, copies = np.unique(found, return_counts=True)
    assert elements.tolist() == list(range(prod(shape)))
    assert set(copies) == {threads * layout.locals // prod(shape)}
    runs = found.reshape(threads, -1, width)
    assert (np.diff(runs, axis=2) == 1).all()
    assert (runs[:, :, 0] % width == 0).all()
