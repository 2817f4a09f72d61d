"""Casts from packed words: every code of every type, by running the emitted kernel on the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from dslc.codegen.c_family.casts.cast_rules import rule_for
from dslc.codegen.cuda.generate import emit
from dslc.compiler.dtypes import DType, Kind, all_dtypes, decode, encode, pack_bits, storage_dtype
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.layout import Layout, Mode, local, spatial
from dslc.compiler.low_bit_format import byte_form, interleaved, lanes_for, storage_for
from dslc.compiler.targets import find_target
from dslc.runtime import packing
from dslc.runtime.cuda_emulator import compiler, emulate

NARROW = [d for d in all_dtypes() if d.bits <= 8 and d.kind is not Kind.BOOL]
HALVES = [d for d in all_dtypes() if d.name in ("f16", "bf16")]
BYTES = [d for d in all_dtypes() if d.name in ("i8", "u8", "f8e4m3", "f8e5m2")]
PAIRS = [(d, to) for d in NARROW for to in (*HALVES, *BYTES) if rule_for(d, to) is not None]


@dataclass(frozen=True, slots=True)
class Case:
    """A cast of 32 * `count` codes that lie in the registers as `stored` and are wanted as `layout`."""

    dtype: DType
    to: DType
    stored: Layout
    layout: Layout
    lanes: int = 1

    @property
    def count(self) -> int:
        return self.layout.locals


def kernel(cases: list[Case]) -> Kernel:
    """For each case: loads bytes, views them over 32 threads, casts and stores."""
    params, lines = [], []
    for i, c in enumerate(cases):
        n = 32 * c.count
        size = n * c.dtype.bits // 8
        loaded = spatial(32) * local(size // 32)
        laid = replace(storage_for((n,), c.dtype.bits, c.stored), lanes=c.lanes)
        bytes_in = laid.byte_layout if c.lanes > 1 else loaded
        viewed = laid.view_layout if c.lanes > 1 else loaded
        params += [f"@x{i}: in u8[{size}]", f"@y{i}: out {c.to}[{n}]"]
        lines += [
            f"%b{i} = load @x{i}[0 : +{size}!] : u8[{size}] `{bytes_in}`",
            f"%l{i} = convert_layout %b{i} : u8[{size}] `{viewed}`",
            f"%v{i} = view %l{i} : {c.dtype}[{n}] `{c.stored}`",
            f"%o{i} = convert_layout %v{i} : {c.dtype}[{n}] `{c.layout}`",
            f"%c{i} = cast %o{i} : {c.to}[{n}] `{c.layout}`",
            f"store @y{i}[0 : +{n}!], %c{i}",
        ]
    body = "".join(f"  {line}\n" for line in lines)
    found = parse_program(f"kernel k[]({', '.join(params)}) {{\n  threads(32)\n{body}}}\n")
    assert isinstance(found, Kernel)
    return found


def every_code(dtype: DType, count: int) -> Any:
    """Every code, in random places, each several times."""
    rng = np.random.default_rng(dtype.bits)
    return rng.permutation(np.arange(32 * count) % (1 << dtype.bits)).astype(np.uint8)


def stored(case: Case, codes: Any) -> Any:
    """The bytes of codes."""
    if case.lanes > 1:
        storage = storage_for((len(codes),), case.dtype.bits, case.stored, lanes=case.lanes)
        return packing.pack(codes, storage.to_data()).reshape(-1)
    held = codes[case.stored.table()[..., 0]].reshape(-1)
    return pack_bits(held, case.dtype.bits) if case.dtype.bits < 8 else held


def check(cases: list[Case], head: str = "") -> str:
    """Run all casts in one kernel and compare every element; gives the text."""
    text, shared = emit(kernel(cases), find_target("cuda:sm_90a"))
    text = head + text
    codes = [every_code(c.dtype, c.count) for c in cases]
    got = [np.zeros(32 * c.count, np.uint16 if c.to.bits == 16 else np.uint8) for c in cases]
    inputs = [stored(c, x) for c, x in zip(cases, codes, strict=True)]
    emulate(
        text, "k_kernel", [a for both in zip(inputs, got, strict=True) for a in both], 1, 32, shared
    )
    for case, code, found in zip(cases, codes, got, strict=True):
        signed = (code << (8 - case.dtype.bits)).astype(np.uint8).view(np.int8)
        value = signed >> (8 - case.dtype.bits) if case.dtype.kind is Kind.INT else code
        want = encode(np.asarray(decode(value, case.dtype)), case.to)
        with np.errstate(invalid="ignore"):
            a, b = (
                np.asarray(decode(v, case.to)).astype(np.float64)
                for v in (found.view(storage_dtype(case.to)), want)
            )
        wrong = ~((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b))
        assert not wrong.any(), (case, code[wrong][:4], a[wrong][:4], b[wrong][:4])
    return text


@pytest.fixture(scope="module", autouse=True)
def needs_a_host_compiler() -> None:
    if compiler() is None:
        pytest.skip("needs a host compiler")


WIDTHS = range(1, 9)


def of_width(bits: int) -> list[tuple[DType, DType]]:
    return [(d, to) for d, to in PAIRS if d.bits == bits]


@pytest.mark.parametrize("bits", WIDTHS)
def test_every_code_where_neighbours_lie_beside_each_other(bits: int) -> None:
    layout = spatial(32) * local(32)
    check([Case(d, to, layout, layout) for d, to in of_width(bits)])


@pytest.mark.parametrize("bits", WIDTHS)
def test_every_code_in_lanes(bits: int) -> None:
    cases = []
    for d, to in of_width(bits):
        layout = spatial(32) * local(64)
        for lanes in {32 // to.bits, lanes_for(d, to, f8=False), lanes_for(d, to, f8=True)}:
            ordered = interleaved(layout, bits, lanes) if lanes > 1 else layout
            assert ordered is not None
            cases.append(Case(d, to, ordered, layout, lanes))
    text = check(cases)
    assert "get_bits" not in text
    assert "move_bits" not in text


def test_every_code_through_the_conversions_of_newer_machines() -> None:
    layout = spatial(32) * local(64)
    ordered = {d.bits: interleaved(layout, d.bits, 4) for d in NARROW}
    cases = [
        Case(d, to, stored, layout, 4)
        for d, to in PAIRS
        if byte_form(d, to) is not None and (stored := ordered[d.bits]) is not None
    ]
    text = check(cases, "#define __CUDA_ARCH__ 900\n")
    assert "cvt.rn.f16x2.e4m3x2" in text


@pytest.mark.parametrize("bits", [1, 3, 4, 6])
def test_every_code_in_any_order(bits: int) -> None:
    # The digits of a thread's 64 elements the other way round.
    turned = Layout((2048,), (Mode(32, 0, 64),), tuple(Mode(2, 0, 1 << k) for k in range(6)))
    layout = spatial(32) * local(64)
    check([Case(d, to, turned, layout) for d, to in of_width(bits)[:6]])


def test_the_types_that_have_words() -> None:
    """What a 16-bit float cannot hold takes the general cast, and nothing else does."""
    without = {(d.name, to.name) for d in NARROW for to in HALVES if rule_for(d, to) is None}
    beyond = {"f7e5m1", "f7e6m0", "f8e6m1", "f8e7m0"}
    assert without == {(n, "f16") for n in beyond} | {("e8m0", "f16")}


def test_what_no_rule_serves_is_right_all_the_same() -> None:
    layout = spatial(32) * local(32)
    slow = [(d, to) for d in NARROW for to in HALVES if rule_for(d, to) is None]
    check([Case(d, to, layout, layout) for d, to in slow])
