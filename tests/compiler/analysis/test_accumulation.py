"""Which carried values are accumulators, and that long bodies are looked at in short time."""

import itertools

import pytest
from dslc.compiler.analysis.accumulation import accumulators
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program

LOOP = """\
kernel k[N](@x: in f32[N, 16], @y: out f32[16]) {{
  %zero = full f32(0.0) : f32[16]
  %sum = for i in range(0, N, 1) carry (%acc : f32[16] = %zero) {{
    %x = load @x[i, 0 : +16] : f32[16]
    {body}
    yield {last}
  }}
  store @y[0 : +16], %sum
}}
"""


def operation(*body, last="%z"):
    kernel = parse_program(LOOP.format(body="\n    ".join(body), last=last))
    (loop,) = (s for s in kernel.body if isinstance(s, ins.For))
    (found,) = accumulators(loop)
    return found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (["%z = add %acc, %x : f32[16]"], "add"),
        (["%z = add %x, %acc : f32[16]"], "add"),
        (["%z = sub %acc, %x : f32[16]"], "add"),
        (["%z = sub %x, %acc : f32[16]"], None),
        (["%z = fma %x, %x, %acc : f32[16]"], "add"),
        (["%z = max %x, %acc : f32[16]"], "max"),
        (["%s = add %acc, %x : f32[16]", "%z = max %s, %x : f32[16]"], None),
        (["%z = add %acc, %acc : f32[16]"], None),
        (["%z = mul %acc, %x : f32[16]"], None),
        (["%s = mul %acc, %x : f32[16]", "%z = add %s, %acc : f32[16]"], None),
        (["%s = add %acc, %x : f32[16]", "%z = add %s, %s : f32[16]"], None),
        (["%z = full f32(1.0) : f32[16]"], None),
    ],
)
def test_an_accumulator_is_handed_through_one_kind_of_operation(body, found):
    assert operation(*body) == found


@pytest.mark.parametrize("place", ["{old}, %x", "%x, {old}"])
def test_a_long_sum_takes_no_longer_than_it_is(place):
    """Once every addition was looked through twice: 64 of them took for ever."""
    names = ["%acc", *(f"%s{i}" for i in range(63)), "%z"]
    body = [f"{n} = add {place.format(old=o)} : f32[16]" for o, n in itertools.pairwise(names)]
    assert operation(*body) == "add"


def test_a_way_that_leads_nowhere_is_taken_once():
    doubled = ["%d0 = add %x, %x : f32[16]"]
    doubled += [f"%d{i} = add %d{i - 1}, %d{i - 1} : f32[16]" for i in range(1, 64)]
    assert operation(*doubled, "%z = add %d63, %acc : f32[16]") == "add"
