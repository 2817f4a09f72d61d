"""Any kernel: after the pass every tile has a layout, and the kernel means the same."""

from __future__ import annotations

import random_ir
from dslc.compiler.ir import Kernel, Place, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import definitions, memories, walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.layout import reduce
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.targets import find_target
from hypothesis import given, settings
from hypothesis import strategies as st
from meaning import assert_same_meaning

TARGET = find_target("cuda:sm_90a")
KERNELS = random_ir.kernels(statements=6)


def laid_out(kernel: Kernel, warps: int | None = None) -> Kernel:
    result = AssignLayouts(TARGET, warps)(kernel)
    assert isinstance(result, Kernel)
    verify(result)
    return result


@given(KERNELS, st.sampled_from([None, 1, 2]))
@settings(max_examples=60)
def test_the_meaning_is_kept(kernel: Kernel, warps: int | None) -> None:
    assert_same_meaning(kernel, laid_out(kernel, warps), random_ir.inputs(kernel, 1))


@given(KERNELS)
@settings(max_examples=60)
def test_every_tile_has_a_layout_over_the_threads(kernel: Kernel) -> None:
    result = laid_out(kernel)
    assert result.threads is not None
    assert result.threads % 32 == 0
    for name in definitions(result.body):
        if isinstance(name, Value):
            assert name.type.layout is not None
            assert name.type.layout.threads == result.threads
    buffers = {m for s in walk(result.body) for m in memories(s) if m.role is Role.BUFFER}
    assert all(m.place is Place.SHARED for m in buffers)


@given(KERNELS)
@settings(max_examples=60)
def test_elementwise_statements_and_reductions_move_nothing(kernel: Kernel) -> None:
    for stmt in walk(laid_out(kernel).body):
        match stmt:
            case ins.Unary() | ins.Binary() | ins.Fma() | ins.Where() | ins.Cast() | ins.Scan():
                tiles = [getattr(stmt, n, None) for n in ("condition", "x", "y", "z")]
                assert {t.type.layout for t in tiles if t is not None} == {stmt.out.type.layout}
            case ins.Reduce(out=out, x=x, axis=axis, keepdims=keepdims):
                assert x.type.layout is not None
                if out.type.rank:
                    assert out.type.layout == reduce(x.type.layout, [axis], keepdims)
            case ins.AtomicRmw(out=out, x=x) if out is not None:
                assert out.type.layout == x.type.layout


@given(KERNELS)
@settings(max_examples=30)
def test_the_text_reads_back_and_the_pass_is_deterministic(kernel: Kernel) -> None:
    result = laid_out(kernel)
    text = print_program(result)
    assert print_program(parse_program(text)) == text
    assert print_program(laid_out(kernel)) == text


@given(KERNELS)
@settings(max_examples=30)
def test_running_the_pass_again_changes_no_layout(kernel: Kernel) -> None:
    once = laid_out(kernel)
    assert print_program(laid_out(once)) == print_program(once)
