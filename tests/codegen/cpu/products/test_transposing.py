"""Squares of lanes transposed and rows zipped, by the interpreter of Vector IR."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from dslc.codegen.cpu.products.transposing import interleaved, square
from dslc.compiler.dtypes import I32
from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.types import VectorType


@pytest.mark.parametrize("side", [2, 4, 8, 16])
def test_rows_of_a_square_become_its_columns(side: int) -> None:
    b = Builder("transpose")
    source, target = b.pointer("source"), b.pointer("target")
    type_ = VectorType(I32, side)
    rows = [b.load(source, 4 * side * k, type_) for k in range(side)]
    for k, row in enumerate(square(SimpleNamespace(b=b), rows)):  # type: ignore[arg-type]
        b.store(target, 4 * side * k, row)
    given = np.arange(side * side, dtype=np.int32)
    found = np.zeros_like(given)
    assert interpret(Module((b.function(),)), "transpose", given, found) == 0
    np.testing.assert_array_equal(found.reshape(side, side), given.reshape(side, side).T)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_word_has_its_elements_of_every_row(count: int) -> None:
    b = Builder("zip")
    source, target = b.pointer("source"), b.pointer("target")
    rows = [b.load(source, 32 * k, VectorType(I32, 8)) for k in range(count)]
    b.store(target, 0, interleaved(SimpleNamespace(b=b), rows))  # type: ignore[arg-type]
    given = np.arange(8 * count, dtype=np.int32)
    found = np.zeros_like(given)
    assert interpret(Module((b.function(),)), "zip", given, found) == 0
    np.testing.assert_array_equal(found, given.reshape(count, 8).T.reshape(-1))
