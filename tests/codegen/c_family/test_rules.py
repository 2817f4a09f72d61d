"""What is chosen by dtype and shape alone: layouts of copies, rules of casts."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest
from dslc.codegen.c_family.cast_rules import biased_rule
from dslc.codegen.c_family.copying import spread
from dslc.compiler.dtypes import DType, parse_dtype

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


def named(name: str) -> DType:
    found = parse_dtype(name)
    assert found is not None
    return found


@pytest.mark.parametrize("to", ["f16", "bf16"])
def test_integers_of_no_more_bits_than_a_mantissa_have_a_biased_rule(to: str) -> None:
    for letter, bits in itertools.product("iu", range(1, 9)):
        rule = biased_rule(named(f"{letter}{bits}"), named(to))
        assert (rule is not None) == (bits <= named(to).mantissa), (letter, bits)
    assert biased_rule(named("i16"), named(to)) is None
