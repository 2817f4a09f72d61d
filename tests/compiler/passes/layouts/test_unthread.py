"""Programs for threads without threads: the interpreter's numbers before and after the pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import F64, cast, encode, parse_dtype
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.layouts.unthread import Unthread

# Of the same threads and bits a thread: a tile, its layout, and what it is seen as.
VIEWS = [
    ("u8[96]", "local(3).spatial(32)", "i6[16, 8]", "local(2, 1).column_spatial(4, 8).local(2, 1)"),
    ("u8[96]", "spatial(32).local(3)", "u6[16, 8]", "local(2, 1).column_spatial(4, 8).local(2, 1)"),
    ("i16[8, 4]", "spatial(2, 4).local(4, 1)", "i4[16, 8]", "spatial(8, 1).local(2, 8)"),
    ("u32[24]", "spatial(8).local(3)", "i3[16, 16]", "local(4, 1).spatial(4, 2).local(1, 8)"),
    ("i32[8]", "spatial(8)", "u32[8]", "spatial(8)"),
    ("u8[4, 5]", "spatial(4, 1).local(1, 5)", "i5[32]", "local(8).spatial(4)"),
    ("i8[4, 6]", "local(4, 6)", "i16[12]", "local(12)"),
    ("u4[8, 8]", "spatial(8, 1).local(1, 8)", "u32[8]", "spatial(8)"),
]
FLOATS = [
    ("f32[8, 4]", "spatial(8, 1).local(1, 4)", "i32[8, 4]", "spatial(8, 1).local(1, 4)"),
    ("bf16[8, 4]", "spatial(2, 4).local(4, 1)", "u16[32]", "local(4).spatial(8)"),
    ("f16[64]", "local(8).spatial(8)", "f32[32]", "spatial(8).local(4)"),
    ("f8e4m3[64]", "spatial(8).local(8)", "f32[16]", "spatial(8).local(2)"),
    ("f4e2m1[64]", "local(8).spatial(8)", "u8[32]", "spatial(8).local(4)"),
]


def program(source: str, here: str, target: str, there: str) -> Any:
    def whole(kind: str) -> str:
        sizes = kind[kind.index("[") + 1 : -1].split(", ")
        return ", ".join(f"0 : +{n}!" for n in sizes)

    return parse_program(
        f"kernel k[](@x: in {source}, @y: out {target}) {{\n"
        f"  %x = load @x[{whole(source)}] : {source} `{here}`\n"
        f"  %y = view %x : {target} `{there}`\n"
        f"  store @y[{whole(target)}], %y\n}}\n"
    )


def numbers(kind: str, random: np.random.Generator) -> np.ndarray[Any, Any]:
    if kind.startswith(("f", "b")):  # any bits but NaN, which have no order
        dtype = parse_dtype(kind[: kind.index("[")])
        assert dtype is not None
        sizes = [int(n) for n in kind[kind.index("[") + 1 : -1].split(", ")]
        values = random.integers(-6, 7, sizes) * 0.5
        return np.asarray(encode(cast(values, F64, dtype), dtype))
    name, shape = kind[: kind.index("[")], kind[kind.index("[") + 1 : -1]
    bits, signed = int(name[1:]), name[0] == "i"
    low = -(1 << (bits - 1)) if signed else 0
    held = np.dtype(f"{'' if signed else 'u'}int{max(8, bits)}")
    return random.integers(low, low + (1 << bits), [int(n) for n in shape.split(", ")]).astype(held)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
@pytest.mark.parametrize(("source", "here", "target", "there"), VIEWS)
def test_a_view_by_shifts_is_the_view(
    source: str, here: str, target: str, there: str, back: bool
) -> None:
    if back:
        source, here, target, there = target, there, source, here
    before = program(source, here, target, there)
    after = Unthread()(before)
    verify(after)
    assert not any(isinstance(s, ins.View) for s in walk(after.body))
    random = np.random.default_rng(5)
    x = numbers(source, random)
    wanted, found = numbers(target, random), numbers(target, random)
    run(before, {"x": x, "y": wanted}, Options())
    run(after, {"x": x, "y": found}, Options())
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
@pytest.mark.parametrize(("source", "here", "target", "there"), FLOATS)
def test_bits_of_floats_are_seen_without_threads(
    source: str, here: str, target: str, there: str, back: bool
) -> None:
    if back:
        source, here, target, there = target, there, source, here
    before = program(source, here, target, there)
    after = Unthread(floats=True)(before)
    verify(after)
    random = np.random.default_rng(6)
    x, wanted, found = numbers(source, random), numbers(target, random), numbers(target, random)
    run(before, {"x": x, "y": wanted}, Options())
    run(after, {"x": x, "y": found}, Options())
    np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))


def test_views_that_threads_alone_can_tell_are_refused() -> None:
    for source, here, target, there in (
        ("f16[32]", "spatial(32)", "u16[32]", "spatial(32)"),
        ("u8[32]", "spatial(32).replicate(2)", "i8[32]", "spatial(32).replicate(2)"),
    ):
        with pytest.raises(DiagnosticError, match="DSL0540"):
            Unthread()(program(source, here, target, there))
