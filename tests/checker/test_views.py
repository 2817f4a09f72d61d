"""Parts and other shapes of a program's tensors: what they are, and what they cannot be."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Program
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_expr, print_program
from dslc.compiler.ir.verify import verify
from dslc.lang import *  # noqa: F403

from support.kernels import check

# ruff: noqa: F405

KERNELS = """
kernel copy(x: f32[M, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 64)):
        y[m : m + 16, n : n + 64] = x[m : m + 16, n : n + 64]

kernel flat(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 64)):
        y[n : n + 64] = x[n : n + 64]

kernel columns(x: f32[M, N] strides (s, 1), y: out f32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 64)):
        y[m : m + 16, n : n + 64] = x[m : m + 16, n : n + 64]

program p(x: f32[B, T, D], n: i32, w: u4[K, D] packed row, y: inout f32[R, D]):
"""


def program(*lines: str) -> Program:
    made = check(KERNELS + "".join(f"    {line}\n" for line in lines)).templates["p"].elaborate({})
    assert isinstance(made, Program)
    return made


@pytest.mark.parametrize(
    ("part", "offset", "shape", "strides"),
    [
        ("x[1]", "D * T", "T, D", "D, 1"),
        ("x[:, 2]", "D * 2", "B, D", "D * T, 1"),
        ("x[0, 3 : T - 1 : 2]", "D * 3", "(T + 1) // 2 - 2, D", "D * 2, 1"),
        ("x[0][1:5][2:3]", "D * 3", "1, D", "D, 1"),
        ("reshape(x, [-1, D])", "0", "B * T, D", "D, 1"),
        ("reshape(x, [B * T, D])", "0", "B * T, D", "D, 1"),
        ("reshape(x[:, :, 0:4], [-1, 4])", "0", "B * T, 4", "D, 1"),
        ("reshape(x[:, 1:], [B, -1])", "D", "B, D * T - D", "D * T, 1"),
        ("transpose(x[0])", "0", "D, T", "1, D"),
        ("reshape(y, [2, R, D // 2])[1]", "R * (D // 2)", "R, D // 2", "D // 2, 1"),
    ],
)
def test_a_part_lies_where_its_elements_do(part, offset, shape, strides):
    (view,) = program(f"t = {part}", "z = buffer(f32, [dim(t, 0), dim(t, 1)])", "copy(t, z)").views
    texts = [", ".join(map(print_expr, e)) for e in (view.memory.shape, view.memory.strides or ())]
    assert [print_expr(view.offset), *texts] == [offset, shape, strides]


def test_equal_parts_are_one_and_unused_ones_none():
    made = program("z = buffer(f32, [T, D])", "a = x[1]", "b = x[0]", "copy(x[0], z)", "copy(b, z)")
    assert len(made.views) == 1
    assert made.calls[0].args[0] is made.calls[1].args[0]


def test_only_parts_with_gaps_make_kernels_of_their_own():
    made = program("z = buffer(f32, [B, D])", "copy(x[0][0:4], z[0:4])", "copy(x[:, 0], z)")
    dense, apart = (c.kernel.params[0] for c in made.calls)
    assert dense.strides is None
    assert len(apart.strides) == 2
    assert {v.name for v in made.calls[1].kernel.dims} == {"M", "N", "x_step"}


def test_a_fixed_dim_of_the_program_is_none_of_the_kernel():
    """-D M=64 says nothing of a kernel's M that the call gives another extent."""
    text = KERNELS.replace("R, D", "M, D") + "    copy(x[0, 0:n], y[0:n])\n"
    made = check(text, M=64, D=32).templates["p"].elaborate({})
    assert made.params[-1].shape == (ex.index(64), ex.index(32))
    assert [v.name for v in made.calls[0].kernel.dims] == ["M"]
    assert made.calls[0].kernel.fixed == (("N", 32),)


def test_alignment_follows_from_the_offset():
    made = program("z = buffer(f32, [B, 4])", "copy(x[:, 0, 4:8], z)", "copy(x[:, 0, 2:6], z)")
    assert [v.memory.align for v in made.views] == [None, 8]


def test_what_cannot_be_known_is_required_and_nothing_else():
    made = program("z = buffer(f32, [T, D])", "copy(x[n], z)", "copy(x[0:1][0], z)")
    assert [print_expr(r.condition) for r in made.requires] == [
        "0 <= cast(n, index)", "cast(n, index) + 1 <= B", "1 <= B",
    ]  # fmt: skip


def test_views_and_conditions_are_text():
    made = program(
        "if n > 2:", "    copy(x[0], y)", "else:", "    copy(x[n], y)", "    if T > 4:",
        "        copy(x[1], y)",
    )  # fmt: skip
    conditions = [print_expr(c.when) for c in made.calls if c.when is not None]
    assert conditions == ["n > i32(2)", "n <= i32(2)", "(n <= i32(2)) & (T > 4)"]
    verify(made)
    text = print_program(made)
    again = parse_program(text)
    verify(again)
    assert print_program(again) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("view @x + 0 as @v: in f16[4] strides (1)", "DSL0413"),
        ("view @x + 0 as @v: in f32[4]", "DSL0415"),
        ("view @x + 0 as @v: out f32[4] strides (1)", "DSL0415"),
        ("view @x + Q as @v: in f32[4] strides (1)", "DSL0402"),
        ("view @v + 0 as @v: in f32[4] strides (1)", "DSL0402"),
        ("call k(@x) when 3", "DSL0413"),
    ],
)
def test_the_verifier_refuses(text, code):
    kernel = "kernel k[](@x: in f32[4]) {\n}\n"
    with pytest.raises(DiagnosticError) as e:
        verify(parse_program(f"{kernel}\nprogram p[](@x: in f32[4]) {{\n  {text}\n}}\n"))
    assert e.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    ("lines", "code", "text"),
    [
        (("copy(x[0][4:2], y)",), "DSL0228", "x[0][4 : 2] is not within"),
        (("copy(x[0, -3:], y)",), "DSL0228", "do not count from the end"),
        (("copy(x[0, :, 0:4:0], y)",), "DSL0212", "step"),
        (("copy(x[0, 0, 0, 0], y)",), "DSL0212", "4 subscripts"),
        (("copy(x, y)",), "DSL0203", "axes"),
        (("copy(reshape(x, [-1, -1]), y)",), "DSL0203", "-1"),
        (("copy(reshape(x[:, 1:, 1:], [-1, D - 1]), y)",), "DSL0228", "would have to move"),
        (("copy(w[0:2], y)",), "DSL0228", "packed"),
        (("copy(x[0], x[1])",), "DSL0211", "is an input"),
        (("t = buffer(f32, [4, D])", "copy(t[0:2], y)"), "DSL0228", "t is read before"),
        (("columns(transpose(x[0]), y)",), "DSL0203", "stride 1"),
        (("y = buffer(f32, [4], init=x)",), "DSL0216", "meaning"),
        (("t = buffer(f32, [4], init=x)",), "DSL0210", "a scalar is needed"),
        (
            ("if n > 3:", "    t = x[0]", "else:", "    t = x[1]", "copy(t, y)"),
            "DSL0209",
            "one branch",
        ),
        (
            ("t = buffer(f32, [R, D])", "if n > 3:", "    copy(y, t)", "copy(t, y)"),
            "DSL0228",
            "t is read before",
        ),
    ],
)
def test_what_a_part_cannot_be(lines, code, text):
    with pytest.raises(DiagnosticError) as e:
        program(*lines)
    assert (e.value.diagnostics[0].code, text in str(e.value)) == (code, True), str(e.value)


@dslc.kernel
def add(x: f32[N], y: f32[N], z: out[f32[N]]):
    for n in parallel(range(0, N, 64)):
        z[n : n + 64] = x[n : n + 64] + y[n : n + 64]


@dslc.program(target="interp")
def sums(x: f32[M, N], z: out[f32[M, N]]):
    t = buffer(f32, [N], init=1)
    add(x[0], t, z[1])
    if N > 32:
        add(x[1, :], t, reshape(z, [-1])[0:N])


def test_decorated_programs_have_them_too():
    x = np.arange(200, dtype=np.float32).reshape(2, 100)
    z = np.zeros_like(x)
    sums(x, z)
    assert np.array_equal(z, x[::-1] + 1)
