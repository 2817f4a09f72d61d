"""Masks that are tested once for a tile."""

import meaning
import numpy as np
import pytest
from dslc.compiler.interpreter import run
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.uniform_masks import UniformMasks
from hypothesis import given, settings
from hypothesis import strategies as st

from support.kernels import every, one

TEXT = """
kernel f(x: f32[N], w: f32[4, 4], a: i32, y: out f32[N]):
    for i in range(0, N, 4):
        block = x[i : i + 4]
        product = dot(w[:, :], w[:, :])
        y[i : i + 4] = where({mask}, block, -1.0) + sum(product, 1)
"""


def masked(mask: str, *sizes: int, bound: int = 5):
    before = one(TEXT.format(mask=mask))
    after = UniformMasks()(before)
    verify(after)
    for n in sizes or (0, 3, 8, 21):
        x = np.arange(n, dtype=np.float32)
        w = np.arange(16, dtype=np.float32).reshape(4, 4)
        args = {"x": x, "w": w, "a": np.int32(bound), "y": np.zeros(n, np.float32)}
        meaning.assert_same_meaning(before, after, args)
    return after


@pytest.mark.parametrize(
    "mask",
    [
        "arange(4) + i < N",
        "N > arange(4) + i",
        "arange(4) + i <= a",
        "a >= arange(4) - 2 + i",
        "(arange(4) + i < N) & (a - arange(4) <= i)",
        "repeat(arange(2), 2, 0) < a",
    ],
)
def test_a_mask_of_sums_is_tested_once(mask: str) -> None:
    after = masked(mask)
    (loop,) = every(after, ins.For)
    (choice,) = every(after, ins.If)
    assert not any(isinstance(s, ins.Where | ins.Arange) for s in loop.body)
    assert any(isinstance(s, ins.Where) for s in choice.otherwise)


@pytest.mark.parametrize(
    "mask", ["block > 0.0", "(arange(4) * i) < a", "(arange(4) < a) | (arange(4) + i < N)"]
)
def test_other_masks_stay(mask: str) -> None:
    assert not every(masked(mask), ins.If)


WRAPPING = """\
kernel f[](@x: in f32[8], @y: out f32[8], a: i32, b: i32) {
  for i in range(0, 8, 4) {
    %w = full f32(1.0) : f32[4, 4]
    %d = dot %w, %w : f32[4, 4]
    %x = load @x[i : +4] : f32[4]
    %i = arange : i32[4]
    %a = full a : i32[4]
    %l = add %i, %a : i32[4]
    %b = full b : i32[4]
    %r = OP %b, %i : i32[4]
    %c = COMPARE %l, %r : bool[4]
    %n = full f32(-1.0) : f32[4]
    %y = where %c, %x, %n : f32[4]
    store @y[i : +4], %y
  }
}
"""
ENDS = st.sampled_from([-(1 << 31), (1 << 31) - 1, 0])


@settings(max_examples=80)
@given(
    st.sampled_from(["add", "sub"]), st.sampled_from(["le", "lt", "ge", "gt"]),
    ENDS, ENDS, st.integers(-5, 5), st.integers(-5, 5),
)  # fmt: skip
def test_integers_that_wrap_are_masked_as_before(
    op: str, compare: str, a: int, b: int, da: int, db: int
) -> None:
    before = parse_program(WRAPPING.replace("OP", op).replace("COMPARE", compare))
    after = UniformMasks()(before)
    assert every(after, ins.If)
    least, most = -(1 << 31), (1 << 31) - 1
    found = []
    for kernel in (before, after):
        args = {
            "x": np.arange(8, dtype=np.float32), "y": np.zeros(8, np.float32),
            "a": np.int32(min(max(a + da, least), most)), "b": np.int32(min(max(b + db, least), most)),
        }  # fmt: skip
        run(kernel, args)
        found.append(args["y"])
    np.testing.assert_array_equal(*found)
