"""Which parameters are weights, and that long ways to a product are looked at in short time."""

import pytest
from dslc.compiler.analysis.weights import packed_freely
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.passes.cpu.weight_order import WeightOrder

KERNEL = """\
kernel k[](@a: in {a}[16, 16], @w: in i8[16, 16], @y: out {y}[16, 16]) {{
  %a = load @a[0 : +16, 0 : +16] : {a}[16, 16]
  %w = load @w[0 : +16, 0 : +16] : i8[16, 16]
  {steps}
  %d = dot {operands} : {y}[16, 16]
  store @y[0 : +16, 0 : +16], %d
}}
"""


def kernel(steps, operands, a="f16", y="f32"):
    text = KERNEL.format(a=a, y=y, steps="\n  ".join(steps), operands=operands)
    return parse_program(text)


def steps(count, dtype):
    """`x = x * x + x` so many times: 3 ** count ways lead from the first to the last."""
    found = []
    for i in range(count):
        found.append(f"%m{i} = mul %s{i}, %s{i} : {dtype}[16, 16]")
        found.append(f"%s{i + 1} = add %m{i}, %s{i} : {dtype}[16, 16]")
    return found


@pytest.mark.parametrize("operand", ["%a, %s40", "%s40, %a"])
def test_weights_are_cast_and_multiplied(operand):
    cast = ["%s0 = cast %w : f16[16, 16]", *steps(40, "f16")]
    found = packed_freely(kernel(cast, operand))
    assert [m.name for m in found] == ["w"]


def test_what_no_product_reads_is_an_ordinary_array():
    cast = ["%s0 = cast %w : f16[16, 16]", *steps(40, "f16")]
    assert not packed_freely(kernel(cast, "%a, %a"))


def test_bytes_that_a_unit_takes_as_they_are_have_no_order_of_their_own():
    bytes_ = kernel(["%s0 = cast %w : i8[16, 16]", *steps(40, "i8")], "%a, %s40", a="i8", y="i32")
    assert not packed_freely(bytes_)
    assert WeightOrder()(bytes_) is bytes_
