"""Counts of work, against counting by hand and by brute force."""

from __future__ import annotations

import sys

import pytest
from dslc.checker import check_module
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.workload import checked_axes, tensor_bytes, workload
from dslc.frontend.tile_parser import parse_tile

counting = sys.modules[workload.__module__]


def kernel_of(source: str) -> Kernel:
    (template,) = check_module(parse_tile(source, "<test>")).templates.values()
    kernel = template.elaborate({}, {})
    assert isinstance(kernel, Kernel)
    return kernel


GEMM = """
kernel gemm(a: f16[M, K], w: u4[K, N], c: out f16[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(f32, [16, 32])
        for k in range(0, K, 64):
            acc += dot(a[m : m + 16, k : k + 64], cast(w[k : k + 64, n : n + 32], f16))
        c[m : m + 16, n : n + 32] = cast(acc, f16)
"""


def test_a_product_by_hand() -> None:
    work = workload(kernel_of(GEMM), {"M": 32, "N": 128, "K": 256})
    turns, steps = 2 * 4, 4
    assert work.turns == turns
    assert work.loaded == {
        "a": turns * steps * 16 * 64 * 2,
        "w": turns * steps * 64 * 32 * 4 / 8,
    }
    assert work.stored == {"c": 32 * 128 * 2}
    assert work.dot_operations == 2 * 32 * 128 * 256
    # a cast of each weight and of each result
    assert work.other_operations == turns * (steps * 64 * 32 + 16 * 32)
    assert work.exact


def test_ragged_ends_count_whole_tiles() -> None:
    work = workload(kernel_of(GEMM), {"M": 17, "N": 1, "K": 65})
    assert work.turns == 2
    assert work.dot_operations == 2 * 2 * (2 * 16 * 32 * 64)


def test_an_empty_launch_is_no_work() -> None:
    work = workload(kernel_of(GEMM), {"M": 0, "N": 64, "K": 64})
    assert (work.turns, work.dot_operations, work.loaded) == (0, 0, {})


TRIANGLE = """
kernel triangle(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        acc = zeros(f32, [8])
        for k in range(0, n + 8, 8):
            acc = acc + x[k : k + 8]
        y[n : n + 8] = acc
"""


@pytest.mark.parametrize("blocks", [1, 2, 7, 31, 32])
def test_a_triangle_is_counted_exactly_where_its_turns_are_few(blocks: int) -> None:
    work = workload(kernel_of(TRIANGLE), {"N": 8 * blocks})
    loads = sum(n + 1 for n in range(blocks))
    assert work.loaded["x"] == pytest.approx(loads * 32)


def test_a_large_triangle_is_sampled_closely() -> None:
    blocks = 10_000
    work = workload(kernel_of(TRIANGLE), {"N": 8 * blocks})
    assert work.loaded["x"] == pytest.approx(blocks * (blocks + 1) / 2 * 32, rel=0.02)
    assert work.stored["y"] == pytest.approx(blocks * 32)


@pytest.mark.parametrize(("heads", "rows"), [(64, 32), (2, 1000), (128, 128), (32, 64)])
def test_rows_of_turns_are_not_in_step_with_the_samples(heads: int, rows: int) -> None:
    source = """
kernel triangles(x: f32[H, N], y: out f32[H, N]):
    for h, n in parallel(range(0, H, 1), range(0, N, 8)):
        acc = zeros(f32, [8])
        for k in range(0, n + 8, 8):
            acc = acc + x[h, k : k + 8]
        y[h, n : n + 8] = acc
"""
    work = workload(kernel_of(source), {"H": heads, "N": 8 * rows})
    assert work.loaded["x"] == pytest.approx(heads * rows * (rows + 1) / 2 * 32, rel=0.05)


def test_a_loop_within_a_loop_follows_its_outer_variable() -> None:
    source = """
kernel nested(x: f32[N], y: out f32[8]):
    acc = zeros(f32, [8])
    for i in range(0, 4):
        for j in range(0, i):
            acc = acc + x[j * 8 : j * 8 + 8]
    y[0:8] = acc
"""
    assert workload(kernel_of(source), {"N": 100}).loaded["x"] == pytest.approx(6 * 32)


def test_branches_that_data_decides_are_not_exact() -> None:
    source = """
kernel branchy(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        v = x[n : n + 8]
        if x[0] > 0.0:
            y[n : n + 8] = exp(v) + exp(v + 1.0)
        else:
            y[n : n + 8] = v
"""
    work = workload(kernel_of(source), {"N": 64})
    assert not work.exact
    assert work.other_operations >= 8 * 8 * 3  # the longer branch


def test_branches_that_dims_decide_are() -> None:
    source = """
kernel branchy(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        if n < 16:
            y[n : n + 8] = exp(x[n : n + 8])
        else:
            y[n : n + 8] = x[n : n + 8]
"""
    work = workload(kernel_of(source), {"N": 64})
    assert work.exact
    assert work.other_operations == 16


def test_on_chip_buffers_are_no_traffic() -> None:
    source = """
kernel buffered(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        b = buffer(f32, [8])
        b[0:8] = x[n : n + 8]
        y[n : n + 8] = b[0:8]
"""
    work = workload(kernel_of(source), {"N": 16})
    assert work.loaded == {"x": 64}
    assert work.stored == {"y": 64}


def test_checked_axes_and_tensor_bytes() -> None:
    kernel = kernel_of(GEMM)
    checked, every = checked_axes(kernel)
    assert every == 6
    assert 0 < checked <= 6
    sizes = {m.name: tensor_bytes(m, {"M": 3, "K": 5, "N": 7}) for m in kernel.tensors}
    assert sizes == {"a": 30, "w": 17.5, "c": 42}
    assert tensor_bytes(kernel.tensors[0], {"M": 3}) is None


def test_a_bound_that_a_scalar_hands_on_follows_the_turn() -> None:
    source = """
kernel sums(x: f32[M, N], y: out f32[M]):
    for m in parallel(range(M)):
        end = m * 16
        total = zeros(f32, [16])
        for n in range(0, end, 16):
            total += x[m, n : n + 16]
        y[m] = sum(total, 0)
"""
    work = workload(kernel_of(source), {"M": 8, "N": 128})
    assert work.loaded["x"] == sum(range(8)) * 16 * 4


def test_turns_that_do_the_same_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    body = counting._body
    monkeypatch.setattr(counting, "_body", lambda *args: looked.append(1) or body(*args))
    assert workload(kernel_of(GEMM), {"M": 1024, "N": 4096, "K": 4096}).turns == 64 * 128
    assert len(looked) == 2  # a turn, and an iteration of its loop
