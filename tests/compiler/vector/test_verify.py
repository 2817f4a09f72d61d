"""Each rule of Vector IR, broken once."""

from __future__ import annotations

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.vector.text import parse
from dslc.compiler.vector.verifying import verify

BROKEN = [
    ("%x = add %f, %v : f32", "DSL0413", "one type"),
    ("%x = lt %v, %v : f32x4", "DSL0413", "one type"),
    ("%x = shl %v, %v : f32x4", "DSL0413", "shl is no operation of f32"),
    ("%x = exp %n : index", "DSL0413", "exp is no operation of index"),
    ("%x = select %v, %v, %v : f32x4", "DSL0412", "a bool for each lane"),
    ("%x = convert %v : i32x8", "DSL0412", "lanes"),
    ("%x = convert %n, in_range=True : i32", "DSL0416", "in_range"),
    ("%x = nearest %v : f64x4", "DSL0413", "integers"),
    ("%x = bitcast %v : f64x4", "DSL0412", "bits"),
    ("%x = bitcast %v : u4x32", "DSL0413", "come of bytes"),
    ("%x = broadcast %f : f64x4", "DSL0413", "one type"),
    ("%x = shuffle %v, indices=(0, 4) : f32x2", "DSL0416", "0 to 3"),
    ("%x = permute %v, %v : f32x4", "DSL0413", "integers"),
    ("%x = permute f32x3(1.0), i32x4(0) : f32x4", "DSL0412", "power of two"),
    ("%x = extract %v, i32(0) : f32", "DSL0413", "index"),
    ("%x = insert %f, %f, 0 : f32", "DSL0412", "vector"),
    ("%x = reduce and, %v : f32", "DSL0413", "and is no operation"),
    ("%x = reduce div, %v : f32", "DSL0416", "no reduction"),
    ("%x = dot vpdpbusd, u8x64(1), i8x64(1) : i32x16", "DSL0416", "accumulator"),
    ("%x = dot vpdpbusd, u8x64(1), u8x64(1), acc=i32x16(0) : i32x16", "DSL0413", "vpdpbusd and b"),
    ("%x = dot mma, u8x64(1), i8x64(1) : i32x16", "DSL0416", "no atom"),
    ("%x = load %n[0] : f32", "DSL0413", "pointer"),
    ("%x = load %p[%f] : f32", "DSL0413", "offset"),
    ("%x = load %p[0], align=3 : f32", "DSL0416", "power of two"),
    ("%x = load %p[0], mask=boolx8(True) : f32x4", "DSL0412", "mask"),
    ("%x = load %p[0], fill=f32(1.0) : f32x4", "DSL0413", "fill"),
    ("%x = load %p[0], mask=bool(True) : ptr", "DSL0413", "pointers"),
    ("%x = load_packed %p[0] : u8x4", "DSL0413", "fewer than 8 bits"),
    ("store_packed %p[0], u3x4(1)", "DSL0412", "end with a byte"),
    ("%x = gather %p[0], %v : f32x4", "DSL0412", "integers"),
    ("store_strided %p[0], %f, %v", "DSL0413", "stride"),
    ("%x = atomic_update div, %p[0], %f : f32", "DSL0416", "no atomic"),
    ("%x = atomic_update add, %p[0], %f, order=seq : f32", "DSL0416", "no order"),
    ("%x = atomic_load %p[0], order=release : f32", "DSL0416", "acquires"),
    ("%x = compare_exchange %p[0], %f, %f : f32", "DSL0413", "integers"),
    ("prefetch %p[0], locality=4", "DSL0416", "0 to 3"),
    ("%x = allocate size=1000000 : ptr", "DSL0416", "bytes"),
    ("%x = call g, %p : i32", "DSL0410", "no function g"),
    ("return %n", "DSL0417", "status"),
    ("return i32(0)\n  fence", "DSL0416", "nothing follows"),
    ("for %i in range(0, %n, 0) {\n  }", "DSL0416", "step"),
    ("for %i in range(0, %f, 1) {\n  }", "DSL0417", "range"),
    ("%x: f32 = for %i in range(0, 9, 1) carry(%s: f32 = %f) {\n    yield %n\n  }", "DSL0417", "yield"),
    ("%x: f32 = for %i in range(0, %n, 1) carry(%s: f32 = 1) {\n    yield %s\n  }", "DSL0417", "start"),
    ("%x: f32 = if %f {\n    yield %f\n  } else {\n    yield %f\n  }", "DSL0417", "condition"),
    ("%x: f32 = if bool(True) {\n    yield %f\n  }", "DSL0417", "yields nothing"),
    ("if bool(True) {\n    %x = neg %f : f32\n  }\n  store %p[0], %x", "DSL0410", "not defined here"),
    ("if bool(1) {\n    %x = neg %f : f32\n  } else {\n    store %p[0], %x\n  }", "DSL0410", "defined"),
    ("while {\n    yield bool(True)\n  } do {\n    yield %f\n  }", "DSL0417", "yield"),
    ("while {\n    return i32(1)\n  } do {\n  }", "DSL0416", "test"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "words"), BROKEN)
def test_a_broken_rule_is_named(line: str, code: str, words: str) -> None:
    text = f"function f(%p: ptr, %n: index, %f: f32) {{\n  %v = load %p[0] : f32x4\n  {line}\n}}\n"
    with pytest.raises(DiagnosticError, match=code) as caught:
        verify(parse(text))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("function f(%x: f32x4) {\n}\n", "DSL0412"),
        ("function f() {\n}\nfunction f() {\n}\n", "DSL0411"),
        ("function f(%x: u4) {\n}\nfunction g() {\n  %s = call f, i32(1) : i32\n}\n", "DSL0417"),
    ],
)
def test_functions_and_calls(text: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        verify(parse(text))
