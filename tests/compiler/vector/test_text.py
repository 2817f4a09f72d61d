"""The text form: what is printed is read back as it was, and what is wrong is said where it is."""

from __future__ import annotations

import random

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.text import parse, print_module
from dslc.compiler.vector.verifying import verify
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies.random_vector import random_function

TEXT = """\
local function pick(%p: ptr align 64 noalias, %n: index, %k: u4) {
  %own = allocate size=256, align=32 : ptr
  %t = table f32x4(0.0, -0.0, inf, nan) : ptr
  %next = advance %p[%n] : ptr
  %a = load %next[-8], mask=boolx4(True, False, True, True), fill=f32x4(1.5), align=4 : f32x4
  %old = atomic_update add, %p[0], i32(1), order=acq_rel : i32
  %was = compare_exchange %p[0], i32(1), i32(2) : i32
  %now = atomic_load %p[0], order=acquire : i32
  atomic_store %p[0], i32(7), order=release
  prefetch %p[64], write=True, locality=0
  fence
  pause
  store %own[0], %a, nontemporal=True
  scatter %p[0], i32x4(0, 1, 2, 3), %a, scale=8
  store_strided %p[0], 16, %a
  %left: f32x4, %m: index = while carry(%x: f32x4 = %a, %i: index = 0) {
    %more = lt %i, %n : bool
    yield %more
  } do {
    %y = shuffle %x, indices=(3, 2, 1, 0) : f32x4
    %j = add %i, 1 : index
    if %more rare {
      return i32(4)
    } else {
      store %own[0], %y
    }
    yield %y, %j
  }
}

function whole(%p: ptr) {
  %s = call pick, %p, 3, u4(15) : i32
  return %s
}
"""


def test_a_text_of_every_form_is_read_back() -> None:
    module = parse(TEXT)
    verify(module)
    assert print_module(module) == TEXT


@given(st.randoms(use_true_random=False))
@settings(max_examples=12, deadline=None)
def test_random_functions_are_verified_and_read_back(rng: random.Random) -> None:
    module = Module((random_function(rng).function,))
    verify(module)
    text = print_module(module)
    again = parse(text)
    verify(again)
    assert print_module(again) == text


def test_locations_are_read_back() -> None:
    text = 'function f(%p: ptr) {\n  fence at "a.tile":3:7\n} at "a.tile":1:1\n'
    module = parse(text)
    assert print_module(module, locations=True) == text
    assert print_module(module) == "function f(%p: ptr) {\n  fence\n}\n"


@pytest.mark.parametrize(
    ("line", "code", "column"),
    [
        ("%x = ad %n, %n : index", "DSL0402", 8),
        ("%x = add %n, %m : index", "DSL0402", 16),
        ("%x = add %n %n : index", "DSL0404", 8),
        ("%x = add %n, %n : f33x4", "DSL0402", 21),
        ("%x = add %n, %n, %n : index", "DSL0404", 8),
        ("%n = add %n, %n : index", "DSL0403", 3),
        ("store %p[0], f32x4(1.0, 2.0)", "DSL0404", 16),
        ("store %p[0], f32(1.0), aling=4", "DSL0404", 3),
        ("%x = load %p[0], align=%n : f32", "DSL0404", 8),
        ("%x = fence : i32", "DSL0404", 8),
        ("%x = allocate align=8 : ptr", "DSL0404", 8),
        ("%x = if %n {", "DSL0401", 8),
    ],
)
def test_what_is_wrong_is_said_where_it_is(line: str, code: str, column: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(f"function f(%p: ptr, %n: index) {{\n  {line}\n}}\n", "f.vir")
    assert code in str(caught.value)
    assert f"f.vir:2:{column}" in str(caught.value)
