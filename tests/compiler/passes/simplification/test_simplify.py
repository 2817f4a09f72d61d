"""Simplification of expressions and control flow."""

import meaning
import pytest
import random_ir
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.simplify import Simplify
from hypothesis import given, settings
from hypothesis import strategies as st

HEAD = "kernel f[M, N](@x: in f32[M], @y: inout f32[M], @z: inout i32[1], p: bool, i: i32) {\n"
GRID = "  grid m in range(0, M, 16)\n"


def after(body):
    kernel = parse_program(f"{HEAD}{body}}}\n")
    verify(kernel)
    changed = Simplify()(kernel)
    verify(changed)
    return print_program(changed).removeprefix(HEAD).removesuffix("}\n")


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        # the example of the pass
        (
            GRID
            + """\
  for k in range(0, 64, 64) {
    let n = (k + 64) // 64
    if m % 16 == 0 {
      %x = load @x[m + n * 64 - 64 : +16] : f32[16]
      store @y[m + k : +16], %x
    }
  }
""",
            GRID + "  %x = load @x[m : +16] : f32[16]\n  store @y[m : +16], %x\n",
        ),
        # no turn: what went in comes out
        (
            """\
  %a = load @x[0 : +4] : f32[4]
  %r, n = for k in range(8, 8, 4) carry (%i : f32[4] = %a, c : index = 3) {
    %b = neg %i : f32[4]
    yield %b, c + 1
  }
  store @y[n : +4], %r
""",
            "  %a = load @x[0 : +4] : f32[4]\n  store @y[3 : +4], %a\n",
        ),
        # one turn, seen by the range of the grid
        (
            GRID
            + """\
  for k in range(m, min(m + 16, m + 8 + 8), 16) {
    %b = load @x[k : +16] : f32[16]
    store @y[k : +16], %b
  }
""",
            GRID + "  %b = load @x[m : +16] : f32[16]\n  store @y[m : +16], %b\n",
        ),
        # what a loop never changes leaves it
        (
            """\
  %a = load @x[0 : +4] : f32[4]
  %r, n = for k in range(0, M, 4) carry (%i : f32[4] = %a, c : index = N) {
    store @y[k + c : +4], %i
    yield %i, c
  }
  store @y[n : +4], %r
""",
            """\
  %a = load @x[0 : +4] : f32[4]
  for k in range(0, M, 4) {
    store @y[N + k : +4], %a
  }
  store @y[N : +4], %a
""",
        ),
        # equal scalars are one, expensive ones keep their name
        (
            """\
  let a: f32 = exp(cast(i, f32))
  let b: f32 = exp(cast(i, f32))
  %t = full a + b : f32[4]
  store @y[0 : +4], %t
""",
            """\
  let a: f32 = exp(cast(i, f32))
  %t = full a + a : f32[4]
  store @y[0 : +4], %t
""",
        ),
        # a name of one branch is not known in the other
        (
            """\
  if p {
    let a: f32 = exp(cast(i, f32))
    %t = full a : f32[4]
    store @y[0 : +4], %t
  } else {
    let b: f32 = exp(cast(i, f32))
    %u = full b : f32[4]
    store @y[0 : +4], %u
  }
""",
            None,
        ),
        # branches: the condition of the outer one decides the inner one
        (
            """\
  if M < 16 {
    if M >= 20 {
      sync
    } else {
      commit_group
    }
  }
""",
            "  if M < 16 {\n    commit_group\n  }\n",
        ),
        # a choice between equals
        (
            """\
  n : index = if p {
    yield M + 1
  } else {
    yield 1 + M
  }
  %b = load @x[n : +4] : f32[4]
  store @y[n : +4], %b
""",
            "  %b = load @x[M + 1 : +4] : f32[4]\n  store @y[M + 1 : +4], %b\n",
        ),
        # a counter modulo 3 stays within 0 to 2
        (
            """\
  %b = load @x[0 : +4] : f32[4]
  s = for k in range(0, M, 4) carry (c : index = 0) {
    store @y[c // 3 * 8 + c % 3 : +4], %b
    yield (c + 1) % 3
  }
  store @y[s // 3 : +4], %b
""",
            """\
  %b = load @x[0 : +4] : f32[4]
  s = for k in range(0, M, 4) carry (c : index = 0) {
    store @y[c : +4], %b
    yield (c + 1) % 3
  }
  store @y[0 : +4], %b
""",
        ),
        # a while whose body is empty is not decided by its own condition
        (
            """\
  while {
    semaphore_wait @z[0], i32(1)
  } test M < N do {
  }
""",
            None,
        ),
    ],
)
def test_golden(before, wanted):
    assert after(before) == (before if wanted is None else wanted)


def test_requirements_are_kept_unless_they_hold_by_arithmetic():
    text = """\
kernel f[M](@x: in f32[M]) {
  require M % 16 == 0, "M % 16 == 0"
  require M * 16 % 16 == 0, "M * 16 % 16 == 0"
  assert M % 16 == 0, "kept out"
}
"""
    found = print_program(Simplify()(parse_program(text)))
    assert found.count("require") == 1
    assert "assert True" in found


@given(random_ir.kernels(), st.integers(0, 9))
@settings(max_examples=100)
def test_simple_kernels_mean_the_same(kernel, seed):
    changed = Simplify()(kernel)
    verify(changed)
    meaning.assert_same_meaning(kernel, changed, random_ir.inputs(kernel, seed))


@given(random_ir.kernels())
@settings(max_examples=60)
def test_simplification_is_idempotent(kernel):
    changed = Simplify()(kernel)
    assert Simplify()(changed) is changed
