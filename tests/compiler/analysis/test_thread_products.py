"""Products by threads: what lies in shared memory, and what a thread loads for a multiply-add."""

import pytest
from dslc.compiler.analysis.thread_products import slab_bytes, slab_depth, thread_product
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import parse_layout
from dslc.compiler.passes.pipelining.stage_count import converted_bytes


def product(m: int, n: int, k: int, layout: str | None = None, dtype: str = "f32") -> ins.Dot:
    known = parse_dtype(dtype)
    assert known is not None
    out = TileType(known, (m, n), None if layout is None else parse_layout(layout))
    a, b = (Value(TileType(known, shape), name) for name, shape in (("a", (m, k)), ("b", (k, n))))
    return ins.Dot(Value(out, "c"), a, b)


@pytest.mark.parametrize(
    ("shape", "dtype", "depth"),
    [
        ((16, 64, 64), "f32", 32),
        ((16, 64, 51), "f32", 51),
        ((64, 128, 128), "f32", 16),
        ((16, 64, 64), "f64", 16),
    ],
)
def test_a_slab_is_all_of_k_or_a_power_of_two(
    shape: tuple[int, int, int], dtype: str, depth: int
) -> None:
    dot = product(*shape, dtype=dtype)
    assert slab_depth(dot) == depth
    assert slab_bytes(dot) <= 16384
    assert converted_bytes((dot,), 32) == slab_bytes(dot)  # rings leave it room


def test_threads_with_more_of_the_result_load_less_for_a_multiply_add() -> None:
    wide = thread_product(
        product(64, 128, 64, "local(16, 1).spatial(4, 32).local(1, 4)"), 4, 32, 128
    )
    narrow = thread_product(product(1, 64, 64, "spatial(1, 32).local(1, 2)"), 1, 32, 128)
    assert wide.multiply_adds == 64 * 128 * 64 / 32
    assert narrow.multiply_adds == 64 * 64 / 32
    assert wide.others / wide.multiply_adds < 0.3
    assert narrow.others / narrow.multiply_adds > 1
    assert wide.slabs == 4


def test_without_a_layout_threads_share_the_result() -> None:
    open_ = thread_product(product(64, 128, 64), 4, 32, 128)
    laid = thread_product(
        product(64, 128, 64, "local(16, 1).spatial(4, 32).local(1, 4)"), 4, 32, 128
    )
    assert open_ == laid
