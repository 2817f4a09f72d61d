"""Hand-written layouts stay; what cannot be is an error that names both places."""

from __future__ import annotations

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.layout import parse_layout
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.targets import find_target

TARGET = find_target("cuda:sm_90a")


def laid_out(body: str, warps: int | None = None) -> Kernel:
    head = "kernel k[](@x: in f16[64, 64], @y: out f16[64, 64]) {\n"
    kernel = parse_program(head + body + "\n}\n", "k.tir")
    verify(kernel)
    result = AssignLayouts(TARGET, warps)(kernel)
    verify(result)
    assert isinstance(result, Kernel)
    return result


GIVEN = "replicate(2).spatial(16, 2).local(4, 32)"


def test_an_explicit_layout_stays_and_its_neighbours_follow() -> None:
    kernel = laid_out(
        f"  %a = load @x[0 : +64, 0 : +64] : f16[64, 64] `{GIVEN}`\n"
        "  %b = neg %a : f16[64, 64]\n"
        "  store @y[0 : +64, 0 : +64], %b"
    )
    assert kernel.threads == 64
    (load,) = (s for s in walk(kernel.body) if isinstance(s, ins.Load))
    assert load.out.type.layout == parse_layout(GIVEN)
    (neg,) = (s for s in walk(kernel.body) if isinstance(s, ins.Unary))
    assert neg.out.type.layout == parse_layout(GIVEN)


def test_two_explicit_layouts_meet_in_a_conversion() -> None:
    other = "spatial(1, 64).local(64, 1)"
    kernel = laid_out(
        f"  %a = load @x[0 : +64, 0 : +64] : f16[64, 64] `{GIVEN}`\n"
        f"  %b = neg %a : f16[64, 64] `{other}`\n"
        "  store @y[0 : +64, 0 : +64], %b"
    )
    (converted,) = (s for s in walk(kernel.body) if isinstance(s, ins.ConvertLayout))
    assert converted.x.type.layout == parse_layout(GIVEN)
    assert converted.out.type.layout == parse_layout(other)


def test_other_numbers_of_threads_are_an_error_with_both_places() -> None:
    with pytest.raises(DiagnosticError) as found:
        laid_out(
            "  %a = load @x[0 : +64, 0 : +64] : f16[64, 64] `spatial(8, 4).local(8, 16)`"
            ' at "k.tile":3:1\n'
            '  %b = neg %a : f16[64, 64] `spatial(16, 4).local(4, 16)` at "k.tile":4:1\n'
            "  store @y[0 : +64, 0 : +64], %b"
        )
    (diagnostic,) = found.value.diagnostics
    assert diagnostic.code == "DSL0520"
    assert diagnostic.loc is not None
    assert diagnostic.loc.line == 4
    assert "line 3" in diagnostic.message
    assert "%a = load" in diagnostic.message
    assert "%b = neg" in diagnostic.message


@pytest.mark.parametrize("layout", ["spatial(8, 2).local(8, 32)", "spatial(64, 64)"])
def test_threads_that_are_no_whole_warps_or_too_many(layout: str) -> None:
    with pytest.raises(DiagnosticError, match="DSL0521"):
        laid_out(
            f"  %a = load @x[0 : +64, 0 : +64] : f16[64, 64] `{layout}`\n"
            "  store @y[0 : +64, 0 : +64], %a"
        )


@pytest.mark.parametrize("warps", [0, -1, 33])
def test_a_number_of_warps_that_no_turn_has(warps: int) -> None:
    with pytest.raises(DiagnosticError, match="DSL0521"):
        laid_out("  sync", warps)


def test_warps_that_disagree_with_explicit_layouts() -> None:
    with pytest.raises(DiagnosticError, match="DSL0521"):
        laid_out(f"  %a = load @x[0 : +64, 0 : +64] : f16[64, 64] `{GIVEN}`", 4)


def test_one_tile_as_both_operands() -> None:
    kernel = laid_out(
        "  %a = load @x[0 : +64, 0 : +64] : f16[64, 64]\n"
        "  %d = dot %a, %a : f32[64, 64]\n"
        "  %h = cast %d : f16[64, 64]\n"
        "  store @y[0 : +64, 0 : +64], %h"
    )
    (dot,) = (s for s in walk(kernel.body) if isinstance(s, ins.Dot))
    assert dot.atom is not None
    assert dot.a.type.layout != dot.b.type.layout


def test_a_conversion_of_what_no_loop_changes_stands_outside() -> None:
    kernel = laid_out(
        f"  %a = load @x[0 : +64, 0 : +64] : f16[64, 64] `{GIVEN}`\n"
        "  for k in range(0, 64, 1) {\n"
        "    %b = neg %a : f16[64, 64] `spatial(1, 64).local(64, 1)`\n"
        "    store @y[0 : +64, 0 : +64], %b\n"
        "  }"
    )
    assert any(isinstance(s, ins.ConvertLayout) for s in kernel.body)


def test_verify_knows_the_threads() -> None:
    kernel = parse_program(
        "kernel k[](@y: out f32[64]) {\n  threads(64)\n"
        "  %a = full f32(0.0) : f32[64] `spatial(32).local(2)`\n  store @y[0 : +64], %a\n}\n"
    )
    with pytest.raises(DiagnosticError, match="DSL0414"):
        verify(kernel)


def test_an_explicit_result_in_its_own_order_is_on_the_matrix_unit() -> None:
    kernel = laid_out(
        "  %a = load @x[0 : +32, 0 : +64] : f16[32, 64]\n"
        "  %b = load @x[0 : +64, 0 : +32] : f16[64, 32]\n"
        "  %d = dot %a, %b : f32[32, 32] "
        "`column_local(2, 2).column_spatial(1, 2).local(2, 1).spatial(8, 4).local(1, 2)`\n"
        "  %h = cast %d : f16[32, 32]\n"
        "  store @y[0 : +32, 0 : +32], %h"
    )
    (dot,) = (s for s in walk(kernel.body) if isinstance(s, ins.Dot))
    assert dot.atom == "mma.m16n8k16"
    assert dot.a.type.layout is not None
    assert dot.a.type.layout.replication == 2
