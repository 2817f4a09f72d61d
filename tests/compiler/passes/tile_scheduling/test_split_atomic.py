"""Split reductions whose parts add themselves to the result."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.passes.tile_scheduling.split_k import SplitReduction
from hypothesis import given, settings
from hypothesis import strategies as st

SUM = """\
kernel rows[M, K](@x: in f32[M, K], @b: in f32[M], @y: out f32[M]) {
  grid m in range(0, M, 16)
  %zero = full f32(0.5) : f32[16]
  %sum = for k in range(0, K, 64) split=4 atomic=1 carry (%acc : f32[16] = %zero) {
    %x = load @x[m : +16, k : +64] : f32[16, 64]
    %s = reduce sum %x, axis=1 : f32[16]
    %next = add %acc, %s : f32[16]
    yield %next
  }
  %b = load @b[m : +16] : f32[16]
  TAIL
}
"""
PLAIN = "%r = add %b, %sum : f32[16]\n  store @y[m : +16], %r"
SPLIT = """\
  grid m in range(0, M, 16), part in range(0, 4, 1)
  %zero = full f32(0.5) : f32[16]
  %neutral = full f32(0.0) : f32[16]
  if part == 0 {
    %b = load @b[m : +16] : f32[16]
    %r = add %b, %zero : f32[16]
    store @y[m : +16], %r
    semaphore_release @signal[m // 16!], i32(1)
  }
  %part = for k in"""
AFTER = """\
  if part == 0 {
  } else {
    semaphore_wait @signal[m // 16!], i32(1)
  }
  %b_1 = load @b[m : +16] : f32[16]
  atomic_rmw add @y[m : +16], %part
  %one = full i32(1) : i32[]
  %arrived = atomic_rmw add @arrivals[m // 16!], %one : i32[]
  if read(%arrived) == i32(3) {
    %none = full i32(0) : i32[]
    store @arrivals[m // 16!], %none
    store @signal[m // 16!], %none
  }
}
"""
TAILS = [
    PLAIN,
    "store @y[m : +16], %sum",
    "%r = sub %sum, %b : f32[16]\n  %t = mul %b, %r : f32[16]\n  store @y[m : +16], %t",
    "%r = add %sum, %sum : f32[16]\n  %t = neg %r : f32[16]\n  store @y[m : +16], %t",
    "%r = reshape %sum : f32[16, 1]\n  %t = broadcast %r : f32[16, 4]\n"
    "  %u = reduce sum %t, axis=1 : f32[16]\n  atomic_rmw add @y[m : +16], %u",
]


def split(text, atomic=True):
    kernel = parse_program(text)
    verify(kernel)
    changed = SplitReduction(atomic=atomic)(kernel)
    verify(changed)
    return kernel, changed


def test_golden():
    text = print_program(split(SUM.replace("TAIL", PLAIN))[1])
    assert SPLIT in text
    assert text.endswith(AFTER)


def test_only_where_the_machine_adds_to_memory():
    text = SUM.replace("TAIL", PLAIN)
    _, ordered = split(text.replace(" atomic=1", ""))
    assert print_program(split(text, atomic=False)[1]) == print_program(ordered)


@given(st.sampled_from(TAILS), st.integers(0, 300), st.integers(0, 99))
@settings(max_examples=40)
def test_parts_add_up_to_the_whole(tail, extent, seed):
    """Whole numbers, so that no order rounds; a second launch finds what the first left."""
    text = SUM.replace("TAIL", tail)
    if "atomic_rmw add @y" in tail:
        text = text.replace("@y: out", "@y: inout")
    kernel, changed = split(text)
    simple = Bounds()(Simplify()(changed))
    verify(simple)
    random = np.random.default_rng(seed)
    x, b = (random.integers(-9, 10, s).astype(np.float32) for s in ((21, extent), 21))
    found = []
    for k in (kernel, changed, simple):
        y = np.zeros(21, np.float32)
        run(k, {"x": x, "b": b, "y": y}, Options(shuffle=seed))
        found.append(y.tolist())
    assert found[0] == found[1] == found[2]


REFUSED = [
    "%r = max %sum, %b : f32[16]\n  store @y[m : +16], %r",
    "%r = mul %sum, %sum : f32[16]\n  store @y[m : +16], %r",
    "%r = sub %b, %sum : f32[16]\n  store @y[m : +16], %r",
    "%r = div %b, %sum : f32[16]\n  store @y[m : +16], %r",
    "%r = cast %sum : i32[16]\n  %t = cast %r : f32[16]\n  store @y[m : +16], %t",
    "store @z[m : +16], %sum",
    "if m == 0 {\n    store @y[m : +16], %sum\n  }",
]


@pytest.mark.parametrize("tail", REFUSED)
def test_more_than_a_sum_is_refused(tail):
    text = SUM.replace("TAIL", tail)
    if "@z" in tail:
        text = text.replace("@y: out", "@z: out f8e4m3[M], @y: out")
        text = text.replace(
            "store @z[m : +16], %sum", "%q = cast %sum : f8e4m3[16]\n  store @z[m : +16], %q"
        )
    with pytest.raises(DiagnosticError, match="is a sum") as raised:
        split(text)
    assert raised.value.diagnostics[0].code == "DSL0514"


def test_an_extreme_is_refused():
    with pytest.raises(DiagnosticError, match="sums of tiles"):
        split(SUM.replace("TAIL", PLAIN).replace("add %acc", "max %acc"))
