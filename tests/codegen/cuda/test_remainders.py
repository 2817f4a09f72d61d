"""What counts the slots of a ring is written without a division, and means the same."""

from __future__ import annotations

import re

import pytest
from dslc.codegen.c_family.scalars import Scalars
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.expr import Binary, Const, Expr, Var, index
from dslc.compiler.ir.text.parser import parse_program

from support.gpu.emulation import emitted

CARRIED_ON = """kernel f[](@y: out i32[32]) {
  threads(32)
  last = for i in range(0, 4, 1) carry (s : index = 0) {
    r = for k in range(0, 5, 1) carry (t : index = s) {
      %v = full cast(s * 3 + t, i32) : i32[32] `spatial(32)`
      store @y[0 : +32!], %v
      yield (t + 1) % 3
    }
    yield r
  }
}
"""
SLOT, PHASE = Var("slot", INDEX), Var("phase", INDEX)


def text_of(e: Expr, n: int) -> str:
    names = {SLOT: "slot", PHASE: "phase"}
    return Scalars(names, lambda _: "", remainders={SLOT: n, PHASE: 2}).text(e)


def value_of(text: str, slot: int, phase: int = 0) -> int:
    python = re.sub(r"\((.+?) \? (.+?) : (.+?)\)", r"(\2 if \1 else \3)", text)
    return int(eval(python, {"slot": slot, "phase": phase}))


def after(n: int, more: int, op: str) -> Binary:
    return Binary(op, Binary("add", SLOT, index(more), INDEX), index(n), INDEX)


@pytest.mark.parametrize("n", range(2, 9))
def test_a_remainder_and_more_divided_again(n: int) -> None:
    for more in range(n + 1):
        slot, wraps = (text_of(after(n, more, op), n) for op in ("mod", "floordiv"))
        assert not set("%/") & set(slot + wraps)
        for x in range(n):
            assert value_of(slot, x) == (x + more) % n
            assert value_of(wraps, x) == (x + more) // n


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_phase_changes_when_the_slots_begin_anew(n: int) -> None:
    phase = Binary("mod", Binary("add", PHASE, after(n, 1, "floordiv"), INDEX), index(2), INDEX)
    text = text_of(phase, n)
    for x in range(n):
        for p in range(2):
            assert value_of(text, x, p) == (p + (x + 1) // n) % 2


def test_what_is_no_remainder_of_that_number_is_divided() -> None:
    for more, n, by in ((4, 3, 3), (1, 4, 5)):
        assert "floormod" in text_of(after(by, more, "mod"), n)


def test_a_slot_that_an_inner_loop_carries_on_is_a_remainder_in_both() -> None:
    kernel = parse_program(CARRIED_ON)
    assert isinstance(kernel, Kernel)
    body = emitted(kernel)[0].partition("__global__")[2]
    assert "?" in body
    assert "%" not in body
    assert "floormod" not in body


@pytest.mark.parametrize(("divisor", "plain"), [(index(7), True), (SLOT, True), (PHASE, False)])
def test_what_is_never_negative_is_divided_as_c_does(divisor: Expr, plain: bool) -> None:
    """By a number above 0, and by what is known to be no less than 0."""
    scalars = Scalars({SLOT: "slot", PHASE: "phase"}, lambda _: "", bounded=lambda v: v == SLOT)
    for op, sign in (("mod", "%"), ("floordiv", "/")):
        text = scalars.text(Binary(op, SLOT, divisor, INDEX))
        assert (f" {sign} " in text) == plain
    assert "floormod" in scalars.text(Binary("mod", PHASE, index(7), INDEX))
    assert "floormod" in scalars.text(Binary("mod", SLOT, Const(-7, INDEX), INDEX))
