"""Weights in the order of a unit's registers: sixteen codes of one place in sixteen bytes."""

from __future__ import annotations

import itertools

import pytest
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.passes.cpu.weight_order import is_in_fours, order
from dslc.compiler.targets import find_target


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_codes_of_sixteen_bytes_are_registers_of_a_product_by_lane(bits: int) -> None:
    dtype, atom = parse_dtype(f"u{bits}"), find_target("aarch64:dotprod").atom("sdot.lane")
    assert dtype is not None
    assert atom is not None
    assert atom.b is not None
    layout = order((32, 32), dtype)
    assert layout is not None
    assert is_in_fours(layout)
    together = 8 // bits if 8 % bits == 0 else 1
    for block, place in itertools.product(range(32 * 32 // (16 * together)), range(together)):
        at = [layout.index(0, (block * 16 + lane) * together + place) for lane in range(16)]
        first = at[0]
        offsets = [tuple(x - y for x, y in zip(p, first, strict=True)) for p in at]
        assert offsets == [atom.b.index(0, lane) for lane in range(16)]


def test_two_blocks_zipped_by_words_are_two_of_a_matrix_product() -> None:
    atom, codes = find_target("aarch64:i8mm").atom("smmla"), parse_dtype("i8")
    assert atom is not None
    assert atom.b is not None
    assert codes is not None
    layout = order((16, 8), codes)
    assert layout is not None
    first, second = ([layout.index(0, 16 * block + i) for i in range(16)] for block in (0, 1))
    words = [(first[i : i + 4], second[i : i + 4]) for i in range(0, 16, 4)]
    for pair, column in ((words[:2], 0), (words[2:], 2)):
        zipped = [place for x, y in pair for place in (*x, *y)]
        expected = [atom.b.index(0, lane) for lane in range(16)]
        assert zipped == [(k, n + column) for k, n in expected]


@pytest.mark.parametrize("shape", [(12, 32), (32, 12), (4, 8)])
def test_tiles_that_blocks_do_not_divide_have_no_order(shape: tuple[int, int]) -> None:
    dtype = parse_dtype("u4")
    assert dtype is not None
    assert order(shape, dtype) is None
