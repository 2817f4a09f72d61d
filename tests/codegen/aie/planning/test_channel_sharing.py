"""Tensors that share a channel whatever their shapes are: the largest object serves all."""

from __future__ import annotations

import pytest
from dslc.runtime.aie_simulator import simulate

from support.npu.kernels import assert_close, case

_KERNELS = {
    "unlike": """
kernel unlike(a: f32[M, 5, 3], b: i16[M, 7, 2], c: f32[M, 11, 1], d: f32[M, 13, 2], y: out f32[M]):
    for m in parallel(range(M)):
        s = sum(a[m, :, :]) + sum(cast(b[m, :, :], f32)) * 2
        y[m : m + 1] = full(f32, [1], s + sum(c[m, :, :]) * 3 + sum(d[m, :, :]) * 5)
""",
    "alike_but_for_words": """
kernel alike_but_for_words(a: u8[M, 2, 3], b: u8[M, 3, 2], c: u8[M, 6, 1], y: out i32[M]):
    for m in parallel(range(M)):
        s = sum(cast(a[m, :, :], i32)) + sum(cast(b[m, :, :], i32)) * 2
        y[m : m + 1] = full(i32, [1], s + sum(cast(c[m, :, :], i32)) * 3)
""",
}


@pytest.mark.parametrize("name", _KERNELS)
def test_objects_are_widened_as_far_as_they_must(name: str) -> None:
    made = case(_KERNELS[name], name, M=6)
    arrays = made.padded
    simulate(made.text, arrays)
    assert_close(made.written(arrays), made.expected())


def test_results_that_are_whole_tensors_leave_by_one_channel() -> None:
    source = """
kernel sorted_out(x: i32[M], most: out i32[3], sums: out f32[4, M], places: out u8[M], own: out i16[5]):
    v = x[:]
    most[:] = full(i32, [3], max(v))
    sums[:, :] = cast(arange(4)[:, None] * v, f32)
    places[:] = cast(v % 7, u8)
    own[:] = full(i16, [5], 3)
"""
    made = case(source, "sorted_out", M=24)
    arrays = made.padded
    simulate(made.text, arrays)
    assert_close(made.written(arrays), made.expected())
