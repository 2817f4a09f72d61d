"""Loops that the machine counts: beyond the budget, and with bounds that only it knows."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.trainium import unroll_budget

from support.nki.trainium import both, lower, source

SCALED = """kernel scaled[](@x: in f32[300, 50], @y: out f32[300, 50]) {
  grid m in range(0, 300, 128)
  %s = full cast(m, f32) : f32[128, 50]
  %a = load @x[m : +128, 0 : +50!] : f32[128, 50]
  %b = add %a, %s : f32[128, 50]
  store @y[m : +128, 0 : +50!], %b
}
"""
COUNTED = """kernel counted[](@x: in f32[70, 8], @n: in i32[1], @y: out f32[16, 8]) {
  %n = load @n[0!] : i32[]
  %zero = full f32(0.0) : f32[16, 8]
  %sum = for k in range(0, cast(read(%n), index), 16) carry (%acc : f32[16, 8] = %zero) {
    %a = load @x[k : +16, 0 : +8!] : f32[16, 8]
    %at = full cast(k, f32) : f32[16, 8]
    %b = add %a, %at : f32[16, 8]
    %next = add %acc, %b : f32[16, 8]
    yield %next
  }
  store @y[0 : +16!, 0 : +8!], %sum
}
"""
SUMMED = """kernel summed[](@a: in f32[256, 256], @b: in f32[256, 1024], @c: out f32[256, 1024]) {
  grid m in range(0, 256, 128)
  %zero = full f32(0.0) : f32[128, 1024]
  %sum = for k in range(0, m, 128) carry (%acc : f32[128, 1024] = %zero) {
    %a = load @a[m : +128, k : +128] : f32[128, 128]
    %b = load @b[k : +128, 0 : +1024!] : f32[128, 1024]
    %next = dot %a, %b, acc=%acc : f32[128, 1024]
    yield %next
  }
  store @c[m : +128, 0 : +1024!], %sum
}
"""


def test_a_loop_past_the_budget_is_counted_by_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unroll_budget, "BUDGET", 4)
    text = source(SCALED)[0]
    assert "nl.fori_loop(0, 256, " in text
    assert "nl.ds(" in text
    x = np.arange(300 * 50, dtype=np.float32).reshape(300, 50)
    wanted, got = both(SCALED, {"x": x, "y": np.zeros((300, 50), np.float32)})
    np.testing.assert_array_equal(got["y"], wanted["y"])


def test_a_loop_within_the_budget_is_unrolled() -> None:
    assert "fori_loop" not in source(SCALED)[0]


@pytest.mark.parametrize("n", [0, 1, 16, 17, 64, 65, 80, 200])
def test_a_bound_read_from_a_tile(n: int) -> None:
    """Iterations within the tensor, at its edge (70 is no multiple of 16), and past it."""
    x = np.arange(70 * 8, dtype=np.float32).reshape(70, 8)
    args = {"x": x, "n": np.array([n], np.int32), "y": np.zeros((16, 8), np.float32)}
    wanted, got = both(COUNTED, args)
    np.testing.assert_array_equal(got["y"], wanted["y"])


def test_sums_of_no_products_are_zero() -> None:
    """The first turn of the grid has no turn of the loop, which would write the sums."""
    draw = np.random.default_rng(3)
    shapes = {"a": (256, 256), "b": (256, 1024), "c": (256, 1024)}
    args = {n: draw.integers(1, 4, shape).astype(np.float32) for n, shape in shapes.items()}
    wanted, got = both(SUMMED, args)
    np.testing.assert_array_equal(got["c"], wanted["c"])
    assert not got["c"][:128].any()
    assert got["c"][128:].all()


def test_the_largest_loop_is_taken_first() -> None:
    text = SCALED.replace("300", "30000000")
    lowered = lower(text)
    assert isinstance(lowered, Kernel)
    assert {v.name for v in unroll_budget.machine_counters(lowered)} == {"m"}
