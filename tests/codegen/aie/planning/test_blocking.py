"""Blocks of operands that are read transposed: those of the operand as it is read, turned."""

from __future__ import annotations

import pytest

from support.npu.kernels import case

_PRODUCT = """
kernel product(a: {t}[{a}], b: {t}[{b}], c: out {sum}[M, N]):
    for m, n in parallel(range(0, M, 32), range(0, N, 64)):
        acc = zeros({sum}, [32, 64])
        for k in range(0, K, 16):
            acc += dot({x}, {y})
        c[m : m + 32, n : n + 64] = acc
"""
_LEFT = ("M, K", "a[m : m + 32, k : k + 16]"), ("K, M", "transpose(a[k : k + 16, m : m + 32])")
_RIGHT = ("K, N", "b[k : k + 16, n : n + 64]"), ("N, K", "transpose(b[n : n + 64, k : k + 16])")


def blocks_of(
    left: tuple[str, str], right: tuple[str, str], dtype: str
) -> dict[str, tuple[int, int] | None]:
    total = "f32" if dtype == "bf16" else "i32"
    text = _PRODUCT.format(a=left[0], b=right[0], x=left[1], y=right[1], t=dtype, sum=total)
    made = case(text, "product", M=32, N=64, K=32)
    return {s.memory.name: s.blocks for f in made.planned.plan.fifos for s in f.streams}


@pytest.mark.parametrize("dtype", ["bf16", "i16"])  # cubes, and products of 8x2x8
@pytest.mark.parametrize("turned", ["a", "b"])
def test_an_operand_that_is_read_transposed_lies_in_turned_blocks(turned: str, dtype: str) -> None:
    plain = blocks_of(_LEFT[0], _RIGHT[0], dtype)
    found = blocks_of(_LEFT[turned == "a"], _RIGHT[turned == "b"], dtype)
    blocks = plain[turned]
    assert blocks is not None
    assert found == {**plain, turned: blocks[::-1]}
