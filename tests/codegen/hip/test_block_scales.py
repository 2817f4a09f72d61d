"""Products of MX operands by gfx950's scaled instructions, run by their ISA text against NumPy."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.codegen.hip.generate import emit
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import decode, parse_dtype
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.targets import find_target
from dslc.runtime.hip import HipKernel
from dslc.runtime.hip_emulator import compiler

pytestmark = [
    pytest.mark.usefixtures("clang"),
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler"),
]
SOURCE = """kernel mx(a: {a}[M, K], sa: e8m0[M, K // G],
          w: {w}[N, K], sw: e8m0[N, K // G], c: out f32[M, N]):
    const G = {group}
    for m, n in parallel(range(0, M, {bm}), range(0, N, {bn})):
        acc = zeros(f32, [{bm}, {bn}])
        for k in range(0, K, {bk}):
            g = k // G
            x = cast(a[m : m + {bm}, k : k + {bk}], {t}){scale_a}
            y = cast(w[n : n + {bn}, k : k + {bk}], {t}){scale_w}
            acc += dot(x, transpose(y))
        c[m : m + {bm}, n : n + {bn}] = acc
"""
SCALE = " * repeat(cast({s}[{x} : {x} + {size}, g : g + {bk} // G], {t}), G, 1)"
LARGE, DEEP, FEW = (32, 64, 128), (64, 64, 256), (16, 32, 256)
# Types of a and w, the tile, which are scaled, elements a scale, the wider dtype.
CASES = [
    ("f8e4m3", "f4e2m1", LARGE, "aw", 32, "bf16"),
    ("f8e5m2", "f8e4m3", DEEP, "aw", 32, "f32"),
    ("f4e2m1", "f4e2m1", DEEP, "aw", 32, "bf16"),
    ("f6e2m3", "f6e3m2", LARGE, "aw", 32, "bf16"),
    ("f8e4m3", "f6e2m3", FEW, "w", 64, "bf16"),
    ("f8e5m2", "f4e2m1", FEW, "", 32, "f16"),
    ("f6e3m2", "f8e4m3", DEEP, "a", 128, "bf16"),
]


def codes(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Elements of a dtype as their bits: numbers of some size, or all there are of the small ones."""
    dtype = parse_dtype(name)
    assert dtype is not None
    every = np.arange(1 << dtype.bits, dtype=np.uint8)
    values = decode(every, dtype)
    return rng.choice(every[np.abs(values) <= 28.0], shape)


def of_blocks(tile: np.ndarray, name: str, scales: np.ndarray | None) -> np.ndarray:
    values = decode(tile, parse_dtype(name)).astype(np.float64)
    if scales is None:
        return values
    each = tile.shape[1] // scales.shape[1]
    return values * np.repeat(np.exp2(scales.astype(np.float64) - 127), each, axis=1)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[3]}{c[4]}-{c[2][2]}")
def test_blocks_are_scaled_by_the_unit(
    case: tuple[str, str, tuple[int, int, int], str, int, str], tmp_path: Path
) -> None:
    left, right, (bm, bn, bk), scaled, group, wide = case
    given = {"bk": bk, "t": wide}
    scale_a = SCALE.format(s="sa", x="m", size=bm, **given) if "a" in scaled else ""
    scale_w = SCALE.format(s="sw", x="n", size=bn, **given) if "w" in scaled else ""
    file = tmp_path / "mx.tile"
    file.write_text(
        SOURCE.format(
            a=left, w=right, bm=bm, bn=bn, group=group, scale_a=scale_a, scale_w=scale_w, **given
        )
    )
    kernel = dslc.compile(file, "hip:gfx950", define={"K": 512})["mx"]
    rng = np.random.default_rng(0)
    m, n, k = 37, 70, 512
    a, w = codes(rng, left, (m, k)), codes(rng, right, (n, k))
    sa, sw = (rng.integers(122, 132, (rows, k // group)).astype(np.uint8) for rows in (m, n))
    c = np.full((m, n), np.nan, np.float32)
    kernel(a, sa, w, sw, c)
    x = of_blocks(a, left, sa if "a" in scaled else None)
    y = of_blocks(w, right, sw if "w" in scaled else None)
    wanted, size = x @ y.T, np.abs(x) @ np.abs(y).T
    assert (np.abs(c - wanted) <= size * 2.0**-20).all()
    isa = kernel.specialize_for({"M": m, "N": n, "K": k}).source("isa")
    name = "scale_f32" if scaled else "f32"
    assert re.search(rf"v_mfma_{name}_(16x16x128|32x32x64)_f8f6f4", isa)


def test_the_byte_of_a_scale_is_what_the_numbers_rest_on(tmp_path: Path) -> None:
    """An instruction that picks another byte gives other numbers."""
    left, right, (bm, bn, bk), _, group, wide = CASES[0]
    file = tmp_path / "mx.tile"
    scale = SCALE.format(s="sw", x="n", size=bn, bk=bk, t=wide)
    file.write_text(
        SOURCE.format(
            a=left, w=right, bm=bm, bn=bn, bk=bk, t=wide, group=group, scale_a="", scale_w=scale
        )
    )
    kernel = dslc.compile(file, "hip:gfx950", define={"K": 256})["mx"]
    made = kernel.specialize_for({"M": 32, "N": 64, "K": 256}).artifact
    isa = made.files["gfx950.s"].decode()
    edited, count = re.subn(r"op_sel:\[1,0,0\]", "op_sel:[0,0,0]", isa)
    assert count
    rng = np.random.default_rng(0)
    packed = kernel.pack("w", codes(rng, right, (64, 256)))
    args = {
        "a": codes(rng, left, (32, 256)),
        "w": packed,
        "sa": np.zeros((32, 8), np.uint8),
        "sw": rng.integers(120, 134, (64, 8)).astype(np.uint8),
    }
    results = []
    for text in (isa, edited):
        c = np.full((32, 64), np.nan, np.float32)
        files = {**made.files, "gfx950.s": text.encode()}
        HipKernel(dataclasses.replace(made, files=files)).launch({**args, "c": c}, {})
        results.append(c)
    assert (results[0] != results[1]).mean() > 0.1


def test_scales_without_a_unit_are_refused() -> None:
    """As a program that says its layouts may ask for: never a product that forgets them."""
    text = """\
kernel k[](@a: in f8e4m3[16, 128], @b: in f8e4m3[128, 16], @s: in e8m0[16, 4],
         @c: out f32[16, 16]) {
  threads(64)
  %a = load @a[0 : +16!, 0 : +128!] : f8e4m3[16, 128] `column_spatial(16, 4).local(1, 32)`
  %b = load @b[0 : +128!, 0 : +16!] : f8e4m3[128, 16] `spatial(4, 16).local(32, 1)`
  %s = load @s[0 : +16!, 0 : +4!] : e8m0[16, 4] `column_spatial(16, 4)`
  %c = dot %a, %b, scale_a=%s : f32[16, 16] `spatial(4, 16).local(4, 1)`
  store @c[0 : +16!, 0 : +16!], %c
}
"""
    kernel = parse_program(text)
    assert isinstance(kernel, Kernel)
    with pytest.raises(DiagnosticError, match="scales of blocks"):
        emit(kernel, find_target("hip:gfx950"))
    unit = parse_program(text.replace("=%s :", '=%s, atom="mfma.16x16x128.f8f6f4" :'))
    assert isinstance(unit, Kernel)
    made, _ = emit(unit, find_target("hip:gfx950"))
    assert "_scaled<0, 0>(" in made
