"""Dead code."""

import meaning
import pytest
import random_ir
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.dead_code import DeadCode
from hypothesis import given, settings
from hypothesis import strategies as st

HEAD = "kernel f[M](@x: in f32[M], @y: out f32[M], @z: inout i32[M]) {\n"


def after(body):
    kernel = parse_program(f"{HEAD}{body}}}\n")
    verify(kernel)
    changed = DeadCode()(kernel)
    verify(changed)
    return print_program(changed).removeprefix(HEAD).removesuffix("}\n")


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("  %a = load @x[0 : +4] : f32[4]\n  %b = neg %a : f32[4]\n  let i = M\n", ""),
        # a buffer that nobody reads
        (
            "  alloc @b: buffer f32[4]\n  %a = load @x[0 : +4] : f32[4]\n  store @b[0 : +4], %a\n",
            "",
        ),
        # a loop that hands on one of two values
        (
            """\
  %a = full f32(0.0) : f32[4]
  %r, n, %q = for k in range(0, M, 4) carry (%i : f32[4] = %a, c : index = 0, %p : f32[4] = %a) {
    %x = load @x[k : +4] : f32[4]
    %j = add %i, %x : f32[4]
    %o = mul %p, %x : f32[4]
    yield %j, c + 1, %o
  }
  store @y[0 : +4], %r
""",
            """\
  %a = full f32(0.0) : f32[4]
  %r = for k in range(0, M, 4) carry (%i : f32[4] = %a) {
    %x = load @x[k : +4] : f32[4]
    %j = add %i, %x : f32[4]
    yield %j
  }
  store @y[0 : +4], %r
""",
        ),
        # an unused result feeds what is used
        (
            """\
  %a = full f32(0.0) : f32[4]
  %r, %s = for k in range(0, M, 4) carry (%i : f32[4] = %a, %j : f32[4] = %a) {
    %x = add %i, %j : f32[4]
    yield %x, %i
  }
  store @y[0 : +4], %r
""",
            None,
        ),
        ("  n = while carry (i : index = 0) {\n  } test i < M do {\n    yield i + 1\n  }\n", ""),
        (
            "  %r : f32[4] = if M == 1 {\n    %a = full f32(1.0) : f32[4]\n    yield %a\n"
            "  } else {\n    %b = full f32(2.0) : f32[4]\n    yield %b\n  }\n",
            "",
        ),
        (
            "  %a = full i32(1) : i32[4]\n  %old = atomic_add @z[0 : +4], %a : i32[4]\n",
            "  %a = full i32(1) : i32[4]\n  atomic_add @z[0 : +4], %a\n",
        ),
        ('  let i = M + 1\n  assert i == 2, "two"\n', None),
        ('  for k in range(0, M, 1) {\n    print "turn", k\n  }\n', None),
        ("  if M == 1 {\n    sync\n  }\n", None),
    ],
)
def test_what_no_effect_needs_goes(before, wanted):
    assert after(before) == (before if wanted is None else wanted)


@given(random_ir.kernels(), st.integers(0, 9))
@settings(max_examples=60)
def test_dead_code_has_no_meaning(kernel, seed):
    changed = DeadCode()(kernel)
    verify(changed)
    assert DeadCode()(changed) is changed
    meaning.assert_same_meaning(kernel, changed, random_ir.inputs(kernel, seed))
