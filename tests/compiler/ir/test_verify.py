"""The verifier: valid kernels pass, each broken rule is named."""

from dataclasses import replace

import pytest
import random_ir
from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.compiler.dtypes import F32, INDEX
from dslc.compiler.ir import AxisSlice, Kernel, Memory, Region, Role, TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const, Var, index
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.verify import verify
from hypothesis import given

HEAD = """\
kernel k[M](@x: in f32[M, 8], @y: out f32[M, 8], @z: inout i32[M], n: i32) {
  %a = load @x[0 : +4, 0 : +8] : f32[4, 8]
  %b = full f32(1.0) : f32[4, 8]
  %h = full f16(1.0) : f16[8, 4]
  %i = arange : i32[4]
  %s = full i32(1) : i32[]
  %t = full True : bool[4, 8]
"""

WRONG = [
    ("DSL0415", "scatter @x[0 : +1, 0 : +8], %a, %i, axes=(0)", "only read"),
    (
        "DSL0413",
        "%j = full f32(1.0) : f32[4]\n  scatter @y[0 : +1, 0 : +8], %a, %j, axes=(0)",
        "integers",
    ),
    ("DSL0415", "scatter @y[0 : +4, 0 : +8], %a, %i, axes=(0)", "placeholder"),
    ("DSL0416", "scatter @y[0 : +1, 0 : +8], %a, %i, axes=(2)", "none of the 2 axes"),
    ("DSL0416", "%c = gather @x[0 : +1, 0 : +1], %i, axes=(0, 1) : f32[4]", "an axis of its own"),
    ("DSL0416", "%c = gather @x[0 : +1, 0 : +1], %i, %i, axes=(1, 0) : f32[4]", "order"),
    (
        "DSL0412",
        "%j = arange : i32[5]\n  %c = gather @x[0 : +1, 0 : +1], %i, %j, axes=(0, 1) : f32[4]",
        "one shape",
    ),
    ("DSL0416", "atomic_rmw sub @z[0 : +4], %i", "no atomic sub"),
    ("DSL0416", "atomic_rmw cas @z[0 : +4], %i", "what is expected"),
    ("DSL0412", "%c = full f32(0.0) : f32[4, 0]", "at least 1"),
    ("DSL0412", "%c = add %a, %b : f32[4]", "give a result of shape"),
    ("DSL0413", "%c = add %a, %b : f16[4, 8]", "f32 does not go with f16"),
    ("DSL0413", "%c = lt %a, %b : f32[4, 8]", "gives bool"),
    ("DSL0413", "%c = and %a, %b : f32[4, 8]", "for integers"),
    ("DSL0413", "%c = exp %i : i32[4]", "for floats"),
    ("DSL0413", "%c = add %t, %t : bool[4, 8]", "no meaning on bool"),
    ("DSL0413", "%q = cast %a : f8e4m3[4, 8]\n  %c = neg %q : f8e4m3[4, 8]", "no arithmetic"),
    ("DSL0413", "%c = where %a, %a, %b : f32[4, 8]", "condition"),
    ("DSL0413", "%c = full i32(1) : f32[4]", "the value is i32"),
    ("DSL0412", "%c = arange : i32[4, 4]", "one axis"),
    ("DSL0414", "%c = view %a : f16[4, 16]", "need a layout"),
    ("DSL0414", "%c = full f32(1.0) : f32[4] `spatial(8)`", "has shape [8]"),
    (
        "DSL0414",
        "%c = full f32(1.0) : f32[8] `spatial(8)`\n  %d = view %c : f16[8] `spatial(8)`",
        "32 bits on each of 8 threads are viewed as 16 bits",
    ),
    ("DSL0416", "%c = reduce sum %a, axis=2 : f32[4]", "axis 2"),
    ("DSL0416", "%c = reduce median %a, axis=0 : f32[8]", "no reduction"),
    ("DSL0412", "%c = reduce sum %a, axis=0 : f32[4]", "[8] comes out"),
    ("DSL0413", "%c = reduce argmax %a, axis=0 : f32[8]", "i32 comes out"),
    ("DSL0413", "%c = reduce any %a, axis=0 : f32[8]", "does not reduce"),
    ("DSL0416", "%c = scan max %a, axis=0 : f32[4, 8]", "no scan"),
    ("DSL0416", "%c = transpose %a, axes=(0, 0) : f32[4, 4]", "once"),
    ("DSL0412", "%c = transpose %a, axes=(1, 0) : f32[4, 8]", "comes out"),
    ("DSL0412", "%c = reshape %a : f32[31]", "numbers of elements"),
    ("DSL0412", "%c = broadcast %i : i32[4, 8]", "does not broadcast"),
    ("DSL0416", "%c = repeat %i, times=0, axis=0 : i32[4]", "below 1"),
    ("DSL0412", "%c = repeat %i, times=2, axis=0 : i32[4]", "comes out"),
    ("DSL0412", "%c = concat %a, %i, axis=0 : f32[8, 8]", "does not concatenate"),
    ("DSL0412", "%c = concat %a, %b, axis=0 : f32[4, 8]", "comes out"),
    ("DSL0416", "%c = extract %i, starts=(1), steps=(2) : i32[3]", "leaves"),
    ("DSL0412", "%c = dot %a, %b : f32[4, 8]", "does not multiply"),
    ("DSL0413", "%c = dot %a, %h : f32[4, 4]", "no f32 with f16"),
    ("DSL0413", "%c = dot %h, %h2 : f16[8, 8]", "f32 comes out"),
    ("DSL0415", "%c = load @y[0 : +4, 0] : f32[4]", "only written"),
    ("DSL0415", "store @x[0 : +4, 0 : +8], %a", "only read"),
    ("DSL0415", "%c = load @x[0 : +4] : f32[4]", "2 axes, not 1"),
    ("DSL0412", "%c = load @x[0 : +4, 0] : f32[4, 1]", "the region has shape"),
    ("DSL0413", "%c = load @x[0 : +4, 0] : f16[4]", "@x is f32"),
    ("DSL0413", "%c = load @x[0 : +4, 0], other=i32(0) : f32[4]", "`other`"),
    ("DSL0413", "%c = gather @x[0 : +1, 0], %b, axes=(0) : f32[4, 8]", "ids are integers"),
    ("DSL0412", "%c = gather @x[0 : +1, 0], %i, axes=(0) : f32[8]", "the region has shape"),
    ("DSL0415", "%c = gather @x[0 : +2, 0], %i, axes=(0) : f32[4]", "placeholder"),
    ("DSL0412", "semaphore_wait @z[0 : +2], i32(1)", "one element"),
    ("DSL0413", "semaphore_wait @z[0], 1", "the semaphore i32"),
    ("DSL0416", "wait_group pending=-1", "pending"),
    ("DSL0413", "assert M, 'x'".replace("'", '"'), "a condition is bool"),
    ("DSL0413", "let c: i32 = M", "c is i32, its value index"),
    ("DSL0413", "let c: bool = select(M, True, False)", "select"),
    ("DSL0412", "let c: f32 = read(%a)", "only rank 0"),
    ("DSL0413", "if M {\n  }", "not bool"),
    ("DSL0416", "for k in range(0, M, 0) {\n  }", "not 0"),
    ("DSL0413", "for k in range(0, n, 1) {\n  }", "not index"),
    ("DSL0416", "for k in range(0, M, 1) stages=0 {\n  }", "at least 1"),
    ("DSL0415", "alloc @b: in f32[4]", "no buffer"),
    ("DSL0414", "alloc @b: buffer f32[4] `local(8)`", "does not have the shape"),
    (
        "DSL0417",
        "%r = for k in range(0, M, 1) carry (%in : f32[4, 8] = %a) {\n    yield %h\n  }",
        "f32[4, 8], f16[8, 4]",
    ),
    (
        "DSL0417",
        "%r : f32[4, 8] = if n == n {\n    yield %a\n  } else {\n    yield %i\n  }",
        "other types",
    ),
    (
        "DSL0410",
        "for k in range(0, M, 1) {\n    let q = k\n  }\n  let r = q",
        "q is not defined here",
    ),
    (
        "DSL0415",
        "if M == 0 {\n    alloc @b: buffer f32[4]\n  }\n  %c = load @b[0 : +4] : f32[4]",
        "@b is not allocated here",
    ),
]


@pytest.mark.parametrize(("code", "text", "message"), WRONG)
def test_a_broken_rule_is_named(code, text, message):
    if "%h2" in text:
        text = "%h2 = full f16(1.0) : f16[4, 8]\n  " + text
    kernel = parse_program(f"{HEAD}  {text}\n}}\n")
    with pytest.raises(DiagnosticError) as raised:
        verify(kernel)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, message in diagnostic.message) == (code, True), diagnostic.message


def test_the_head_alone_is_valid():
    verify(parse_program(HEAD + "}\n"))


@given(random_ir.kernels())
def test_random_kernels_are_valid(kernel):
    verify(kernel)


def test_one_definition_a_value():
    value = Value(TileType(F32, (4,)), "x")
    full = ins.Full(value, Const(0.0, F32))
    with pytest.raises(DiagnosticError, match="%x is defined twice"):
        verify(Kernel("k", (), (), (), (full, full)))


def test_one_definition_a_scalar():
    let = ins.Let(Var("i", INDEX), index(1))
    with pytest.raises(DiagnosticError, match="i is defined twice"):
        verify(Kernel("k", (), (), (), (let, let)))


def test_a_definition_in_one_branch_is_not_seen_in_the_other_or_after():
    value = Value(TileType(F32, (4,)), "x")
    full = ins.Full(value, Const(0.0, F32))
    use = ins.Unary(Value(TileType(F32, (4,))), "neg", value, loc=Loc("a.tile", 7, 3))
    condition = parse_program('kernel k[]() {\n  assert 1 == 2, ""\n}\n').body[0].condition
    for body in [(ins.If(condition, (full,), (use,)),), (ins.If(condition, (full,)), use)]:
        with pytest.raises(DiagnosticError, match=r"(?s)%x is not defined here.*a\.tile:7:3"):
            verify(Kernel("k", (), (), (), body))


def test_a_memory_is_allocated_before_its_use():
    memory = Memory("b", F32, (index(4),), Role.BUFFER)
    load = ins.Load(Value(TileType(F32, (4,))), Region(memory, (AxisSlice(index(0), 4),)))
    verify(Kernel("k", (), (), (), (ins.Alloc(memory), load)))
    with pytest.raises(DiagnosticError, match="not allocated"):
        verify(Kernel("k", (), (), (), (load,)))


@pytest.mark.parametrize(("limit", "dropped"), [(4, False), (-1, False), (0, True)])
def test_padding_is_a_part_of_what_an_access_takes(limit, dropped):
    memory = Memory("x", F32, (index(9),), Role.IN)
    size = 1 if dropped else 4
    region = Region(memory, (AxisSlice(index(0), size, 1, dropped, limit=limit),))
    load = ins.Load(Value(TileType(F32, region.shape)), region)
    with pytest.raises(DiagnosticError, match="DSL0415"):
        verify(Kernel("k", (memory,), (), (), (load,)))


def test_unknown_dims_are_named():
    memory = Memory("x", F32, (Var("M", INDEX),), Role.IN)
    with pytest.raises(DiagnosticError, match="M is not defined"):
        verify(Kernel("k", (memory,), (), (), ()))


CALLS = """\
kernel copy[M](@x: in f32[M], @y: out f32[M], n: i32) {
}

program p[S](@a: in f32[S], @b: out f32[S], @c: out f16[S], k: i32) {
  call copy(@a, @b, k)
}
"""


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("(@a, @b)", "DSL0404"),
        ("(@a, @c, k)", "DSL0413"),
        ("(@b, @a, k)", "DSL0415"),
        ("(@a, k, k)", "DSL0415"),
        ("(@a, @b, @b)", "DSL0415"),
        ("(@a, @b, S)", "DSL0413"),
    ],
)
def test_a_call_fits_its_kernel(call, code):
    verify(parse_program(CALLS))
    with pytest.raises(DiagnosticError) as raised:
        verify(parse_program(CALLS.replace("(@a, @b, k)", call)))
    assert raised.value.diagnostics[0].code == code


@pytest.mark.parametrize("place", ["start", "stop", "step"])
@pytest.mark.parametrize("bound", [Var("nowhere", INDEX), Const(2.0, F32)])
def test_bounds_of_the_grid_are_known_numbers(place, bound):
    kernel = parse_program("kernel k[M](@x: in f32[M]) {\n  grid m in range(0, M, 4)\n}\n")
    (axis,) = kernel.grid
    with pytest.raises(DiagnosticError):
        verify(replace(kernel, grid=(replace(axis, **{place: bound}),)))
