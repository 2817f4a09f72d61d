"""Warps that only copy: both sides mean what the loop meant, and blocks take every step once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dslc.compiler.cost import predict
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.kernels import every, one
from support.products import product

HOPPER = find_target("cuda:sm_90a")


def lowered(kernel: Kernel, units: int = HOPPER.units) -> Kernel:
    found = run_passes(kernel, gpu_passes(replace(HOPPER, units=units)))
    assert isinstance(found, Kernel)
    return found


def computed(kernel: Kernel, m: int, n: int, k: int, shuffle: int | None = None) -> None:
    rng = np.random.default_rng(m + n + k)
    a, b = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n))
    c = np.full((m, n), np.nan, np.float16)
    args = {"a": a.astype(np.float16), "b": b.astype(np.float16), "c": c}
    run(kernel, args, Options(shuffle=shuffle))
    np.testing.assert_array_equal(c, (a @ b).astype(np.float16))


def test_the_warps_aside_copy_and_the_others_start_no_copy() -> None:
    kernel = lowered(product((128, 128, 64)))
    (producers,) = every(kernel, ins.WarpSpecialize)
    assert {type(s) for s in walk(producers.body)} >= {ins.AwaitPhase, ins.Arrive, ins.CopyAsync}
    inside = {s for s in walk(producers.body) if isinstance(s, ins.CopyAsync)}
    copies = every(kernel, ins.CopyAsync)
    assert inside == {s for s in copies if s.barrier is not None}
    text = print_program(kernel)
    assert print_program(parse_program(text)) == text


@pytest.mark.parametrize(
    ("units", "dims"),
    [
        (1, (192, 128, 96)),  # one block takes all turns
        (3, (128, 192, 96)),  # whole rounds only
        (4, (64, 64, 512)),  # one turn for four blocks
        (7, (192, 192, 288)),  # a round, and two turns in three shares each
        (7, (128, 128, 8192)),  # four turns in three shares each, in two rounds
        (5, (64, 128, 32)),  # fewer steps than blocks
        (5, (64, 64, 0)),
        (2, (0, 64, 64)),
        (4, (80, 112, 208)),  # ragged tiles
    ],
)
def test_every_step_of_every_turn_is_taken_once(units: int, dims: tuple[int, int, int]) -> None:
    kernel = lowered(product((64, 64, 32)), units)
    computed(kernel, *dims)
    computed(kernel, *dims, shuffle=1)


def test_a_grid_of_three_axes_and_of_one() -> None:
    for axes, shape in (("r, m, n", "[R, M, N]"), ("m", "[M, N]")):
        batched = axes.startswith("r")
        loops = "range(0, R), range(0, M, 64), range(0, N, 64)" if batched else "range(0, M, 64)"
        to = "c[r, m : m + 64, n : n + 64]" if batched else "c[m : m + 64, 0 : 64]"
        columns = "n : n + 64" if batched else "0 : 64"
        text = f"""
kernel product(a: f16[M, K], b: f16[K, N], c: out f16{shape}):
    require K % 16 == 0
    require N % 16 == 0
    for {axes} in parallel({loops}):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 64, k : k + 32], b[k : k + 32, {columns}])
        {to} = cast(acc, f16)
"""
        kernel = lowered(one(text), 3)
        assert every(kernel, ins.WarpSpecialize)
        rng = np.random.default_rng(0)
        a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((100, 64), (64, 64)))
        c = np.full((2, 100, 64) if batched else (100, 64), np.nan, np.float16)
        run(kernel, {"a": a, "b": b, "c": c})
        np.testing.assert_array_equal(c, np.broadcast_to(a @ b, c.shape))


def test_a_start_that_is_not_zero_is_not_added_up() -> None:
    text = """
kernel biased(a: f16[M, K], b: f16[K, N], c: out f32[M, N]):
    require K % 16 == 0
    require N % 16 == 0
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = full(f32, [64, 64], 1.0)
        for k in range(0, K, 32):
            acc += dot(a[m : m + 64, k : k + 32], b[k : k + 32, n : n + 64])
        c[m : m + 64, n : n + 64] = acc
"""
    kernel = lowered(one(text), 8)
    assert every(kernel, ins.WarpSpecialize)
    assert not kernel.workspaces
    ones = np.ones((64, 64), np.float16)
    c = np.zeros((64, 64), np.float32)
    run(kernel, {"a": ones, "b": ones, "c": c})
    assert (c == 65).all()


@pytest.mark.parametrize("stages", [1, 2])
def test_too_few_stages_leave_the_loop_to_its_warps(stages: int) -> None:
    assert not every(lowered(product((64, 64, 32), stages=stages)), ins.WarpSpecialize)


def test_scalars_of_memory_are_read_by_the_warps_that_multiply() -> None:
    text = """
kernel scaled(a: f16[M, K], b: f16[K, N], s: f32[K], c: out f32[M, N]):
    require K % 16 == 0
    require N % 16 == 0
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 64, k : k + 32], b[k : k + 32, n : n + 64]) * s[k]
        c[m : m + 64, n : n + 64] = acc
"""
    kernel = lowered(one(text), 8)
    assert every(kernel, ins.WarpSpecialize)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (64, 64)).astype(np.float16) for _ in "ab")
    s, c = rng.integers(1, 4, 64).astype(np.float32), np.zeros((64, 64), np.float32)
    run(kernel, {"a": a, "b": b, "s": s, "c": c})
    blocks = (a[:, k : k + 32].astype(np.float32) @ b[k : k + 32] * s[k] for k in (0, 32))
    np.testing.assert_array_equal(c, sum(blocks))


@pytest.mark.parametrize(
    "line", ["e = ids[m // 64]", "d[m : m + 64, n : n + 64] = zeros(f32, [64, 64])\n        e = 0"]
)
def test_what_warps_aside_cannot_know_and_blocks_cannot_repeat(line: str) -> None:
    text = f"""
kernel expert(a: f16[M, K], b: f16[E, K], ids: i32[R], c: out f32[M, N], d: out f32[M, N]):
    require K % 16 == 0
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        {line}
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 32):
            at = e * 64 + n
            acc += dot(a[m : m + 64, k : k + 32], transpose(b[at : at + 64, k : k + 32]))
        c[m : m + 64, n : n + 64] = acc
"""
    kernel = lowered(one(text))
    assert any(d.is_async for d in every(kernel, ins.Dot))
    assert not every(kernel, ins.WarpSpecialize)


def test_the_prediction_knows_what_blocks_share() -> None:
    dims = {"M": 4096, "N": 4096, "K": 4096}
    found = predict(lowered(product((128, 256, 64))), HOPPER, dims)
    assert found.at_once == 1
    assert found.terms["memory"] < found.terms["matrix"]


TEXT = """kernel t[M](@a: in f16[M, 64], @c: out f16[M, 64]) {
  threads(256)
  grid m in range(0, M, 64)
  alloc @full: buffer shared u64[1] offset 8192
  init_barriers @full[0 : +1!], arrivals=1
  sync
  alloc @x: buffer shared f16[64, 64] `swizzle(local(64, 8), dim=1).local(1, 8)` offset 0
  warp_specialize warps=4 registers=40 {
    arrive @full[0!], bytes=8192
    copy_async @x[0 : +64!, 0 : +64!], @a[m : +64, 0 : +64!], barrier=@full[0!]
  }
  await_phase @full[0!], 0
  %y = load @x[0 : +64!, 0 : +64!] : f16[64, 64] `local(2, 1).spatial(32, 8).local(1, 8)`
  store @c[m : +64, 0 : +64!], %y
}
"""


def test_an_aside_runs_beside_what_follows() -> None:
    kernel = parse_program(TEXT)
    verify(kernel)
    assert print_program(kernel) == TEXT
    a = np.random.default_rng(0).standard_normal((150, 64)).astype(np.float16)
    c = np.zeros_like(a)
    run(kernel, {"a": a, "c": c})
    np.testing.assert_array_equal(c, a)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("    arrive", "    sync\n    arrive", "DSL0416"),
        (
            "  await_phase",
            "  warp_specialize warps=1 {\n    commit_group\n  }\n  await_phase",
            "DSL0416",
        ),
        ("warps=4", "warps=0", "DSL0416"),
        ("    arrive", "    await_phase @full[0!], 0\n    arrive", "DSL0612"),
    ],
)
def test_asides_that_cannot_be(old: str, new: str, code: str) -> None:
    a = np.zeros((64, 64), np.float16)
    kernel = parse_program(TEXT.replace(old, new, 1))

    def checked() -> None:
        verify(kernel)
        run(kernel, {"a": a, "c": a.copy()})

    with pytest.raises(DiagnosticError, match=code):
        checked()
