"""Times on a core of a CPU: what bounds them, and which choice comes first."""

from __future__ import annotations

import dslc
import pytest
from dslc.compiler.cost import predict
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.targets.cpu import TARGETS

ZEN4 = next(t for t in TARGETS if t.name == "cpu:znver4")
SOURCE = """
kernel product(a: DT[M, K], b: DT[K, N], c: out f32[M, N]):
    tune BM = 4 | 64
    for m, n in parallel(range(0, M, BM), range(0, N, 64)):
        acc = zeros(f32, [BM, 64])
        for k in range(0, K, 64):
            acc += dot(a[m : m + BM, k : k + 64], b[k : k + 64, n : n + 64])
        c[m : m + BM, n : n + 64] = acc

kernel copy(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 4096)):
        y[n : n + 4096] = x[n : n + 4096]
"""


def predicted(kernel: str, dtype: str = "f32", rows: int = 64, **sizes: int):  # type: ignore[no-untyped-def]
    library = dslc.compile(SOURCE.replace("DT", dtype), "interp", cache=False)
    config = {"BM": rows} if kernel == "product" else {}
    made = library[kernel].specialize_for(sizes, config)
    return predict(parse_program(made.source("ir"), "test"), ZEN4, sizes)


def test_a_copy_takes_the_bytes_at_the_bandwidth_of_memory() -> None:
    found = predicted("copy", N=1 << 24)
    assert found.bound == "memory"
    assert found.seconds == pytest.approx(2 * 4 * (1 << 24) / 26e9, rel=0.01)


def test_a_product_takes_its_multiply_adds() -> None:
    sizes = dict.fromkeys("MNK", 1024)
    for dtype, rate in (("f32", 16), ("bf16", 32)):
        found = predicted("product", dtype, **sizes)
        assert found.bound == "issue"
        assert found.floor_operations == pytest.approx((1 << 30) / rate / 3.6e9)
        assert found.floor <= found.seconds < 1.1 * found.floor


def test_small_tiles_ask_caches_for_more() -> None:
    sizes = dict.fromkeys("MNK", 1024)
    small, large = predicted("product", rows=4, **sizes), predicted("product", rows=64, **sizes)
    assert small.terms["cache"] > 5 * large.terms["cache"]
    assert small.seconds > large.seconds


def test_every_kind_of_cpu_has_rates() -> None:
    for target in TARGETS:
        rates = target.core_rates
        if rates is not None:
            assert rates.multiply_adds(8) >= rates.multiply_adds(32) > rates.multiply_adds(64)
            assert rates.multiply_adds(16) >= rates.multiply_adds(32)
