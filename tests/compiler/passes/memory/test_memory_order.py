"""Barriers between accesses of a tensor: where one is needed, where none is, and that each one is."""

from __future__ import annotations

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.memory.memory_order import MemoryOrder
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.features import Feature
from support.gpu.orders import ORDERS, barriers, ordered
from support.without import without

TARGET = find_target("cuda:sm_90a")
ROW = "`local(2).spatial(128).local(4)`"
EVERY = "`modes([], spatial=[[128]])`"
NARROW = "`spatial(32).local(4)`"


def order(body: str, params: str = "@x: inout f32[2048]", threads: int = 128) -> str:
    """The text of a kernel of these lines with its barriers."""
    text = f"kernel k[]({params}) {{\n  threads({threads})\n{body}}}\n"
    return print_program(run_passes(parse_program(text), [MemoryOrder(TARGET)]))


def counted(kernel: Kernel) -> tuple[int, int]:
    """How many barriers of the block and of warps."""
    of_warps = sum(s.warp > 0 for s in barriers(kernel))
    return len(barriers(kernel)) - of_warps, of_warps


@pytest.mark.parametrize("name", ORDERS)
def test_a_program_has_the_barriers_that_it_needs(name: str) -> None:
    sizes = ORDERS[name].sizes
    assert counted(ordered(ORDERS[name])) == (sizes["block"], sizes["warp"])


@pytest.mark.parametrize("name", ORDERS)
def test_each_barrier_is_missed(name: str) -> None:
    """The interpreter finds nothing to report, and reports what each barrier keeps apart."""
    kernel = ordered(ORDERS[name])
    interpret(ORDERS[name], kernel)
    for barrier in barriers(kernel):
        with pytest.raises(DiagnosticError) as caught:
            interpret(ORDERS[name], without(kernel, barrier))
        (found,) = caught.value.diagnostics
        assert found.code == "DSL0613"
        assert found.loc is not None
        assert [label.loc for label in found.labels] != [None]


def interpret(feature: Feature, kernel: Kernel) -> None:
    run(kernel, feature.arguments(feature.compile("interp").origin.signature), Options())


def test_lanes_of_one_warp_meet_alone() -> None:
    """The elements that lie 4 further are the next lane's, in the same warp but for the last lane's."""
    within = (
        "  %r = load @x[0 : +512!] : f32[512] `spatial(128).local(4)`\n  store @x[0 : +512!], %q\n"
    )
    turned = "  %q = convert_layout %r : f32[512] `spatial(4).local(4).spatial(32)`\n"
    lines = within.split("\n", 1)
    found = order(lines[0] + "\n" + turned + lines[1])
    assert "  memory_barrier warp=32\n" in found
    across = turned.replace("spatial(4).local(4).spatial(32)", "local(4).spatial(128)")
    assert "  memory_barrier\n" in order(lines[0] + "\n" + across + lines[1])


def test_what_a_loop_needs_of_before_comes_before_it() -> None:
    kernel = ordered(ORDERS["written before a loop that reads"])
    inside = [t for s in kernel.body if isinstance(s, ins.For) for t in walk(s.body)]
    assert barriers(kernel)
    assert not [s for s in inside if isinstance(s, ins.MemoryBarrier)]


def test_a_counter_is_a_barrier_for_what_came_before_it() -> None:
    params = "@x: inout f32[2048], @n: inout i32[1]"
    store = f"  %r = full f32(1.0) : f32[1024] {ROW}\n  store @x[0 : +1024!], %r\n"
    count = f"  %one = full i32(1) : i32[] {EVERY}\n  atomic_rmw add @n[0!], %one\n"
    read = f"  %q = load @x[1 : +1024!] : f32[1024] {ROW}\n  store @x[1 : +1024!], %q\n"
    assert "memory_barrier" in order(store + read, params)
    assert "memory_barrier" not in order(store + count + read, params)


def test_a_copy_may_land_until_it_is_waited_for() -> None:
    """The tensor is copied, and overwritten in the same turn behind the wait."""
    copy = (
        f"  alloc @s: buffer shared f32[1024]\n"
        f"  copy_async @s[0 : +1024!], @x[1024 : +1024!], layout={ROW}\n"
        f"  commit_group\n  wait_group pending=0\n"
    )
    other = "`local(4).spatial(128).local(2)`"
    store = f"  %r = full f32(1.0) : f32[1024] {other}\n  store @x[1024 : +1024!], %r\n"
    found = order(copy + store)
    assert found.index("wait_group") < found.index("memory_barrier") < found.index("store")


def test_an_aside_touches_nothing_that_is_written() -> None:
    body = (
        "  warp_specialize warps=1 {\n    %q = load @x[0!] : f32[] `modes([], spatial=[[32]])`\n  }\n"
        f"  %r = full f32(1.0) : f32[1024] {ROW}\n  store @x[0 : +1024!], %r\n"
    )
    with pytest.raises(DiagnosticError, match=r"DSL0416.*@x is written, and no barrier meets"):
        order(body)
