"""Products: roles of the operands, what stays on chip, and what the tensor engine can sum exactly."""

from __future__ import annotations

from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.nki_simulator import Run, simulate

EXAMPLES = Path(__file__).parents[4] / "examples"
BF16 = ml_dtypes.bfloat16


def text(kernel: str, target: str = "nki:trn2", **fixed: int) -> str:
    library = dslc.compile(EXAMPLES / "neuronmm.tile", target, cache=False)
    return str(library[kernel].specialize(**fixed).source("nki"))


def modelled(source: str, entry: str, *shapes: tuple[int, ...], target: str = "nki:trn2") -> Run:
    """A run for its rules, traffic and times alone."""
    arguments = [np.broadcast_to(np.zeros((), BF16), s) for s in shapes]
    return simulate(source, entry, arguments, target, values=False)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
@pytest.mark.parametrize("kernel", ["xuv", "xuv_to_t", "xuv_from_t"])
def test_no_intermediate_is_transposed(kernel: str, target: str) -> None:
    found = text(kernel, target, M=256, K=512, R=256, N=512, BM=256, BN=512, BK=512)
    transposed = found.count("nc_transpose")
    # X alone, where it does not come transposed and the DMA engines do not transpose it.
    assert transposed == (1 if target == "nki:trn1" and kernel != "xuv_from_t" else 0)
    if kernel == "xuv_from_t":
        assert "dma_transpose" not in found


def test_the_result_transposed_or_not_is_the_same_work() -> None:
    sizes = {"M": 512, "K": 512, "R": 256, "N": 1024, "BM": 512, "BN": 512, "BK": 512}
    shapes = ((512, 512), (512, 256), (256, 1024))
    plain = modelled(text("xuv", **sizes), "xuv", *shapes)
    turned = modelled(text("xuv_to_t", **sizes), "xuv_to_t", *shapes)
    assert turned.trace.flops == plain.trace.flops
    assert turned.timeline.busy["PE"] == plain.timeline.busy["PE"]


def test_shared_blocks_are_read_once() -> None:
    sizes = {"M": 1024, "K": 1024, "N": 1024, "BM": 512, "BN": 512, "BK": 512}
    run = modelled(text("xw", **sizes), "xw", (1024, 1024), (1024, 1024))
    assert run.hbm_bytes == 3 * 1024 * 1024 * 2


def test_blocks_that_do_not_fit_are_read_again() -> None:
    sizes = {"M": 1024, "K": 16384, "N": 16384, "BM": 512, "BN": 512, "BK": 512}
    run = modelled(text("xw", **sizes), "xw", (1024, 16384), (16384, 16384))
    weights = 16384 * 16384 * 2
    assert 2 * weights < run.hbm_bytes < 2.2 * weights


def test_all_banks_of_psum_are_used() -> None:
    sizes = {"M": 1024, "K": 1024, "R": 2048, "N": 1024, "BM": 1024, "BN": 1024, "BK": 512}
    run = modelled(text("xuv", **sizes), "xuv", (1024, 1024), (1024, 2048), (2048, 1024))
    assert run.psum_peak == 8 * 2048


def test_rows_of_large_transfers_have_two_kibibytes() -> None:
    found = text("xuv", M=4096, K=7168, R=4096, N=18432, BM=1024, BN=1024, BK=512)
    assert "0:2048" in found  # panels of u: 4 KiB
    assert "n:n + 1024" in found  # rows of v and of y: 2 KiB


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(DiagnosticError) as caught:
        text("xuv", M=4096, K=7168, R=8192, N=18432, BM=2048, BN=512, BK=1024)
    (found,) = caught.value.diagnostics
    assert found.code == "DSL0541"
    assert "f32[2048, 8192] 512 KiB" in found.message
    assert "nki:trn2 has 207.7 KiB" in found.message


def test_sums_that_do_not_fit_are_made_in_parts_of_a_strip() -> None:
    sizes = {"M": 2048, "K": 1024, "R": 4096, "N": 1024, "BM": 2048, "BN": 512, "BK": 512}
    shapes = ((2048, 1024), (1024, 4096), (4096, 1024))
    found = text("xuv_to_t", "nki:trn1", **sizes)
    run = modelled(found, "xuv_to_t", *shapes, target="nki:trn1")
    x, u, v, y = 2048 * 1024, 1024 * 4096, 4096 * 1024, 1024 * 2048
    assert run.hbm_bytes == 2 * (x + 3 * u + v + y)  # 1024, 512 and 512 rows
    assert run.timeline.active("PE") > 0.96


def test_integers_are_summed_exactly() -> None:
    library = dslc.compile(EXAMPLES / "gemm.tile", "nki:trn2", cache=False)
    a = np.full((8, 4096), -128, np.int8)
    b = np.full((4096, 16), 127, np.int8)
    b[0] = 126  # an odd sum, far past 2^24
    c = np.zeros((8, 16), np.int32)
    library.gemm_i8(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64))


def test_a_tile_that_stays_both_ways_is_that_of_its_iteration() -> None:
    """Rows that two products take, one of them transposed, and that the iterations of e share."""
    source = """
kernel state(k: f32[S, 16], v: f32[S, E], y: out f32[S, E]):
    for e in parallel(range(0, E, 16)):
        state = zeros(f32, [16, 16])
        for s in range(0, S, 8):
            rows = k[s : s + 8, :]
            y[s : s + 8, e : e + 16] = dot(rows, state)
            state += dot(rows, v[s : s + 8, e : e + 16], transposed="a")
"""
    rng = np.random.default_rng(0)
    k, v = (rng.integers(-3, 4, s).astype(np.float32) for s in ((24, 16), (24, 40)))
    y, sums = np.zeros((24, 40), np.float32), np.zeros((16, 40), np.float32)
    wanted = np.zeros_like(y)
    for s in (slice(0, 8), slice(8, 16), slice(16, 24)):
        wanted[s] = k[s] @ sums
        sums += k[s].T @ v[s]
    dslc.compile(source, "nki:trn2", cache=False).state(k, v, y)
    np.testing.assert_array_equal(y, wanted)


def test_what_a_kept_tile_is_made_of_stays_for_its_other_readers() -> None:
    """The loop keeps `a` turned; before the loop `a` is read as it is."""
    source = """
kernel k(x: i32[16, 8], y: out i32[8, 8]):
    a = x[0:8, :] & 1023
    q = a + x[8:16, :]
    acc = a * 2
    for j in range(2):
        acc += dot(a, q)
    y[0:8, :] = acc
"""
    x = np.arange(128, dtype=np.int32).reshape(16, 8)
    y = np.zeros((8, 8), np.int32)
    dslc.compile(source, target="nki:trn2", cache=False).k(x, y)
    a = x[:8] & 1023
    np.testing.assert_array_equal(y, a * 2 + 2 * (a @ (a + x[8:])))


def test_sums_are_not_left_in_what_others_read() -> None:
    """Not in a tile whose transposition they start from, nor in one kept for the next iteration."""
    source = """
kernel k(x: f32[16, 8], y: out f32[8, 8], z: out f32[8, 8]):
    a = x[0:8, :]
    b = x[8:16, :]
    c = transpose(b)
    for i in range(2):
        e = x[0:8, :]
        e += dot(b, a)
        c += e
    d = transpose(a)
    d += dot(b, b)
    y[:, :] = c + a
    z[:, :] = d + b
"""
    x = np.random.default_rng(0).integers(-4, 5, (16, 8)).astype(np.float32)
    y, z = np.zeros((2, 8, 8), np.float32)
    dslc.compile(source, target="nki:trn2", cache=False).k(x, y, z)
    a, b = x[:8], x[8:]
    np.testing.assert_array_equal(y, b.T + 2 * (a + b @ a) + a)
    np.testing.assert_array_equal(z, a.T + b @ b + b)


def test_a_product_that_is_read_beside_its_cast_is_not_rounded() -> None:
    source = """
kernel both(a: bf16[M, K], b: bf16[K, N], rounded: out bf16[M, N], sums: out f32[M, N]):
    for m, n in parallel(range(0, M, 32), range(0, N, 64)):
        product = dot(a[m : m + 32, 0 : 128], b[0 : 128, n : n + 64])
        rounded[m : m + 32, n : n + 64] = cast(product, bf16)
        sums[m : m + 32, n : n + 64] = product
"""
    draw = np.random.default_rng(5)
    a, b = (draw.integers(0, 9, shape).astype(BF16) for shape in ((32, 128), (128, 64)))
    rounded, sums = np.zeros((32, 64), BF16), np.zeros((32, 64), np.float32)
    dslc.compile(source=source, target="nki:trn2", cache=False).both(a, b, rounded, sums)
    exact = a.astype(np.float32) @ b.astype(np.float32)
    assert (exact != exact.astype(BF16)).any()
    np.testing.assert_array_equal(sums, exact)
    np.testing.assert_array_equal(rounded, exact.astype(BF16))


@pytest.mark.parametrize("batch", [1, 2])
def test_sums_of_products_of_bytes_are_exact_beyond_what_f32_has(batch: int) -> None:
    """2099 products of -127 and -127 have an odd sum above 2^25."""
    source = """
kernel sums(a: i8[B, M, K], b: i8[B, K, N], c: out i32[B, M, N]):
    for m in parallel(range(0, M, 16)):
        c[0 : BATCH, m : m + 16, 0 : 24] = dot(
            a[0 : BATCH, m : m + 16, 0 : 2099], b[0 : BATCH, 0 : 2099, 0 : 24]
        )
""".replace("BATCH", str(batch))
    a, b = np.full((batch, 16, 2099), -127, np.int8), np.full((batch, 2099, 24), -127, np.int8)
    c = np.zeros((batch, 16, 24), np.int32)
    dslc.compile(source=source, target="nki:trn2", cache=False).sums(a, b, c)
    assert (c == 127 * 127 * 2099).all()
