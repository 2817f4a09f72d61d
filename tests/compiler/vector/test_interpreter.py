"""What the interpreter does, against NumPy and by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dslc.compiler.dtypes import pack_bits
from dslc.compiler.vector.atoms import ATOMS
from dslc.compiler.vector.interpreter import VectorFault, interpret
from dslc.compiler.vector.text import parse
from dslc.compiler.vector.verifying import verify


def run(body: str, *args: Any) -> int:
    """A function of pointers %a, %b, ... and the numbers among the arguments, %n, %m."""
    pointers, numbers = iter("abcd"), iter("nm")
    params = ", ".join(
        f"%{next(pointers)}: ptr" if isinstance(x, np.ndarray) else f"%{next(numbers)}: index"
        for x in args
    )
    module = parse(f"function f({params}) {{\n{body}\n}}\n")
    verify(module)
    return interpret(module, "f", *args)


def test_masked_lanes_are_not_accessed() -> None:
    a, b = np.arange(3, dtype=np.float32), np.full(3, 7, np.float32)
    run(
        """
        %lanes = lt i64x8(0, 1, 2, 3, 4, 5, 6, 7), i64x8(3) : boolx8
        %x = load %a[0], mask=%lanes, fill=f32x8(9.0) : f32x8
        %last = extract %x, 7 : f32
        store %b[0], %x, mask=%lanes
        store %b[4], %last
        """,
        a,
        b,
    )
    assert b.tolist() == [0, 9, 2]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%x = load %a[8] : f32", "outside memory"),
        ("%x = load %a[-1] : u8", "outside memory"),
        ("%x = load %a[4], align=8 : f32", "multiple of 8"),
        ("%x = quotient 1, %n : index", "division by 0"),
        ("%m = sub %n, 1 : index\n%x = quotient -9223372036854775808, %m : index", "out of range"),
        ("%x = lshift 1, 64 : index", "shift"),
        ("%x = extract i32x4(0), %n : i32\n%y = extract i32x4(0), 4 : i32", "lane 4"),
        ("%x = convert f32(3e9), in_range=True : i32", "range"),
        ("%x = nearest f32(127.5) : i8", "range"),
        ("%t = table f32(1.0) : ptr\nstore %t[0], f32(2.0)", "constant memory"),
        ("%x = atomic_load %a[2] : f32", "multiple"),
    ],
)
def test_what_nothing_defines_is_refused_with_its_statement(body: str, message: str) -> None:
    with pytest.raises(VectorFault, match=message) as caught:
        run(body, np.zeros(2, np.float32), 0)
    assert "in: " in str(caught.value)


def test_elements_apart_from_each_other() -> None:
    a, b = np.arange(64, dtype=np.int16), np.zeros(64, np.int16)
    run(
        """
        %x = load_strided %a[126], -4 : i16x4
        %y = gather %a[2], i8x4(3, 0, -1, 3), scale=2 : i16x4
        store_strided %b[0], 6, %x
        scatter %b[64], u32x4(5, 1, 5, 0), %y, scale=2
        """,
        a,
        b,
    )
    assert b[[0, 3, 6, 9]].tolist() == [63, 61, 59, 57]
    assert b[[37, 33, 32]].tolist() == [0, 1, 4]


@pytest.mark.parametrize("bits", range(1, 8))
def test_packed_codes(bits: int) -> None:
    codes = np.random.default_rng(bits).integers(0, 1 << bits, 16).astype(np.uint8)
    packed, out = pack_bits(codes, bits), np.zeros(2 * bits, np.uint8)
    plain = np.zeros(16, np.uint8)
    run(
        f"""
        %x = load_packed %a[0] : i{bits}x16
        store_packed %b[0], %x
        %y = bitcast %x : u{bits}x16
        store %c[0], %y
        """,
        packed,
        out,
        plain,
    )
    assert out.tolist() == packed.tolist()
    assert plain.tolist() == codes.tolist()


def test_loops_carry_and_a_return_ends_the_function() -> None:
    a = np.zeros(2, np.int64)
    status = run(
        """
        %sum: index = for %i in range(%n, 0, -3) carry(%s: index = 100) {
          %t = add %s, %i : index
          yield %t
        }
        store %a[0], %sum
        %last: index = while carry(%x: index = 1) {
          %y = mul %x, %x : index
          %more = lt %y, 50 : bool
          yield %more
        } do {
          %z = add %y, 1 : index
          yield %z
        }
        store %a[8], %last
        for %j in range(0, %n, 1) {
          %stop = eq %j, 4 : bool
          if %stop {
            %k = convert %j : i32
            return %k
          }
        }
        """,
        a,
        10,
    )
    assert a.tolist() == [100 + 10 + 7 + 4 + 1, 26]
    assert status == 4


def test_reductions_have_an_order() -> None:
    """The upper half to the lower: (1e8 + 1) + (-1e8 + 1), in f32."""
    a = np.zeros(1, np.float32)
    run(
        "%s = reduce add, f32x4(1e8, -1e8, 1.0, 1.0) : f32\nstore %a[0], %s",
        a,
    )
    assert a[0] == np.float32(np.float32(1e8) + 1) + np.float32(np.float32(-1e8) + 1)


@pytest.mark.parametrize("name", sorted(ATOMS))
def test_atoms_by_loops(name: str) -> None:
    atom = ATOMS[name]
    numbers = np.random.default_rng(0)
    units = 2
    lanes, of_a, of_b = atom.lanes(units)
    x, y = (
        numbers.integers(max(d.integer_range[0] if d.is_integer else -8, -200), 120, n)
        for d, n in ((atom.a, of_a), (atom.b, of_b))
    )
    acc = numbers.integers(-9, 9, lanes)
    want = np.zeros((units, atom.m, atom.n), np.int64)
    a, b = x.reshape(units, atom.m, atom.k), y.reshape(units, atom.n, atom.k)
    for u, i, j, t in np.ndindex(units, atom.m, atom.n, atom.k):
        want[u, i, j] += a[u, i, t] * b[u, j, t]
    if atom.saturates:
        want = np.clip(want, -32768, 32767)
    if atom.accumulates:
        want += acc.reshape(want.shape)
    out = np.zeros(lanes, {"i32": np.int32, "i16": np.int16, "f32": np.float32}[atom.acc.name])
    texts = [
        f"{d}x{len(v)}({', '.join(map(str, v))})"
        for d, v in ((atom.a, x), (atom.b, y), (atom.acc, acc))
    ]
    given = f", acc={texts[2]}" if atom.accumulates else ""
    run(
        f"%s = dot {name}, {texts[0]}, {texts[1]}{given} : {atom.acc}x{lanes}\nstore %a[0], %s",
        out,
    )
    assert out.tolist() == want.reshape(-1).tolist()


def test_a_fused_product_of_great_numbers_is_rounded_once() -> None:
    """Numbers that are too great to be split in halves as they are."""
    a = np.zeros(2)
    run(
        """
        %x = fma f64(-1442725.0), f64(1.1102230246251565e301), f64(1.6062398570194716e307) : f64
        %y = fma f64(1e300), f64(1e-300), f64(1.0) : f64
        store %a[0], %x
        store %a[8], %y
        """,
        a,
    )
    exact = Fraction(-1442725) * Fraction(1.1102230246251565e301) + Fraction(1.6062398570194716e307)
    assert a.tolist() == [float(exact), float(Fraction(1e300) * Fraction(1e-300) + 1)]
