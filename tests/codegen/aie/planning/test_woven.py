"""A third tensor of a product comes in the blocks of an operand, and costs the product little."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.aie.printing.descriptors import print_descriptors
from dslc.runtime.aie_simulator import simulate

from support.npu.kernels import Case, assert_close, case

_KERNEL = """
kernel product(a: bf16[M, K], b: bf16[K, N], c: {kind}, y: out bf16[M, N]):
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 64):
            acc += dot(a[m : m + 64, k : k + 64], b[k : k + 64, n : n + 64])
        y[m : m + 64, n : n + 64] = cast({result}, bf16)
"""
_THIRD = {
    "none": ("bf16[1]", "acc"),
    "bias": ("bf16[N]", "acc + cast(c[n : n + 64], f32)"),
    "bias f32": ("f32[N]", "acc + c[n : n + 64]"),
    "scales of rows": ("f32[M]", "acc * c[m : m + 64][:, None]"),
    "two rows": (
        "bf16[2, N]",
        "acc + cast(c[0:1, n : n + 64], f32) * cast(c[1:2, n : n + 64], f32)",
    ),
}


def product(third: str, **sizes: int) -> Case:
    kind, result = _THIRD[third]
    return case(_KERNEL.format(kind=kind, result=result), "product", **sizes)


_DEEP = [pytest.param(t, marks=pytest.mark.deep) for t in ("bias", "two rows")]


@pytest.mark.parametrize("third", ["bias f32", "scales of rows", *_DEEP])
def test_numbers_are_those_of_the_interpreter(third: str) -> None:
    made = product(third, M=256, N=512, K=128)
    assert any(s.weave is not None for s in made.planned.plan.streams)
    assert all(f.dims for f in made.planned.plan.fifos if f.producer[1] == 1)
    first, second = made.padded, made.padded
    simulate(made.text, first)
    assert_close(made.written(first), made.expected())
    simulate(print_descriptors(made.planned, "npu2"), second)
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("third", ["bias", pytest.param("scales of rows", marks=pytest.mark.deep)])
def test_it_costs_at_most_a_tenth(third: str) -> None:
    plain, more = (product(t, M=512, N=512, K=512) for t in ("none", third))
    assert simulate(more.text, None).cycles <= 1.1 * simulate(plain.text, None).cycles
