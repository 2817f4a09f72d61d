"""Casts from packed words: every code of every type, by running the emitted kernel on the host."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from dslc.codegen.cuda import casts
from dslc.codegen.cuda.generate import emit
from dslc.compiler.dtypes import DType, Kind, all_dtypes, decode, encode, pack_bits, storage_dtype
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.parser import parse_program
from dslc.compiler.layout import Layout, parse_layout
from dslc.runtime.cuda_emulator import compiler, emulate

NARROW = [d for d in all_dtypes() if d.bits <= 8 and d.kind is not Kind.BOOL]
HALVES = [d for d in all_dtypes() if d.name in ("f16", "bf16")]
BYTES = [d for d in all_dtypes() if d.name in ("i8", "u8")]
PAIRS = [
    (d, to) for d in NARROW for to in (*HALVES, *BYTES)
    if casts.rule_for(d, to) is not None
]  # fmt: skip


def kernel(name: str, dtype: DType, to: DType, count: int, stored: str, layout: str) -> Kernel:
    """Loads bytes, views them as the dtype over 32 threads, casts and stores."""
    size = 32 * count * dtype.bits // 8
    each = size // 32
    load = f"spatial(32).local({each})" if each > 1 else "spatial(32)"
    text = (
        f"kernel {name}[](@x: in u8[{size}], @y: out {to}[{32 * count}]) {{\n"
        f"  threads(32)\n"
        f"  grid t in range(0, 1, 1)\n"
        f"  %b = load @x[0 : +{size}!] : u8[{size}] `{load}`\n"
        f"  %v = view %b : {dtype}[{32 * count}] `{stored}`\n"
        f"  %o = convert_layout %v : {dtype}[{32 * count}] `{layout}`\n"
        f"  %c = cast %o : {to}[{32 * count}] `{layout}`\n"
        f"  store @y[0 : +{32 * count}!], %c\n"
        "}\n"
    )
    found = parse_program(text)
    assert isinstance(found, Kernel)
    return found


def stored_codes(dtype: DType, codes: Any, layout: Layout) -> Any:
    """The bytes of codes whose bits follow each other in the order of a layout's threads."""
    held = codes[layout.table()[..., 0]].reshape(-1)
    return pack_bits(held, dtype.bits) if dtype.bits < 8 else held.astype(np.uint8)


@functools.cache
def all_codes(bits: int, count: int) -> Any:
    """Every code, in random places, each several times."""
    rng = np.random.default_rng(bits)
    codes = np.arange(32 * count) % (1 << bits)
    return rng.permutation(codes).astype(np.uint8)


def check(dtype: DType, to: DType, count: int, stored: Layout, layout: Layout) -> str:
    made = kernel("k", dtype, to, count, str(stored), str(layout))
    text, shared = emit(made)
    codes = all_codes(dtype.bits, count)
    storage = codes
    if dtype.kind is Kind.INT:
        storage = (codes << (8 - dtype.bits)).astype(np.uint8).view(np.int8) >> (8 - dtype.bits)
    want = encode(np.asarray(decode(storage, dtype)), to)
    got = np.zeros(32 * count, np.uint16 if to.bits == 16 else np.uint8)
    emulate(text, "k", [stored_codes(dtype, codes, stored), got], 1, 32, shared)
    found = got.view(storage_dtype(to))
    a, b = (np.asarray(decode(v, to)).astype(np.float64) for v in (found, want))
    wrong = ~((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b))
    assert not wrong.any(), (dtype, to, codes[wrong][:4], a[wrong][:4], b[wrong][:4], text)
    return text


@pytest.fixture(scope="module", autouse=True)
def needs_a_host_compiler() -> None:
    if compiler() is None:
        pytest.skip("needs a host compiler")


@pytest.mark.parametrize(("dtype", "to"), PAIRS, ids=str)
def test_every_code_where_neighbours_lie_beside_each_other(dtype: DType, to: DType) -> None:
    count = 32
    layout = parse_layout(f"spatial(32).local({count})")
    check(dtype, to, count, layout, layout)
