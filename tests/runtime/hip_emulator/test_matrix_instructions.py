"""MFMA of both chips against products in NumPy, by the layouts that AMD states."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.hip.instructions import Array, Case, run
from support.hip.toolchain import CHIPS, needs_clang

pytestmark = needs_clang
RNG = np.random.default_rng(11)
BF16 = ml_dtypes.bfloat16
TYPES: dict[str, Any] = {
    "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": BF16, "i8": np.int8,
}  # fmt: skip
FNUZ = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
OCP = {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}

BOTH = [
    "f32_32x32x1_2b_f32", "f32_16x16x1_4b_f32", "f32_4x4x1_16b_f32", "f32_32x32x2_f32",
    "f32_16x16x4_f32", "f32_32x32x4_2b_f16", "f32_4x4x4_16b_f16", "f32_32x32x8_f16",
    "f32_16x16x16_f16", "f32_16x16x16_bf16", "f32_32x32x8_bf16", "f32_16x16x4_4b_bf16",
    "i32_32x32x16_i8", "i32_16x16x32_i8", "i32_16x16x4_4b_i8", "f32_16x16x32_fp8_fp8",
    "f32_16x16x32_bf8_fp8", "f32_32x32x16_fp8_bf8",
]  # fmt: skip
ONLY = {
    "gfx942": ["f32_32x32x4_xf32", "f32_16x16x8_xf32"],
    "gfx950": [
        "f32_16x16x32_f16", "f32_16x16x32_bf16", "f32_32x32x16_f16", "f32_32x32x16_bf16",
        "i32_16x16x64_i8", "i32_32x32x32_i8",
    ],
}  # fmt: skip


def parse(name: str) -> tuple[int, int, int, list[str]]:
    found = re.match(r"\w\d+_(\d+)x\d+x(\d+)(?:_(\d+)b)?_(.*)", name)
    assert found
    kinds = found[4].split("_")
    return int(found[1]), int(found[2]), int(found[3] or 1), [kinds[0], kinds[-1]]


def spread(matrix: Array) -> Array:
    """[blocks, rows, k] as lanes hold it: row = lane % rows, then blocks or slices of k."""
    blocks, rows, k = matrix.shape
    parts = 64 // rows
    lanes = matrix
    if blocks == 1:
        lanes = matrix[0].reshape(rows, parts, k // parts).transpose(1, 0, 2)
    return np.ascontiguousarray(lanes.reshape(64, -1))


def words(lanes: Array) -> Array:
    """64 rows of bytes as registers."""
    data = np.ascontiguousarray(lanes).view(np.uint8).reshape(64, -1)
    found = data.view(np.uint32)
    return (
        found.reshape(-1)
        if found.shape[1] == 1
        else found.view(f"V{4 * found.shape[1]}").reshape(-1)
    )


def collected(registers: Array, rows: int, blocks: int) -> Array:
    """[blocks, rows, columns] from the result's registers."""
    out = np.zeros((blocks, rows, rows), registers.dtype)
    for lane in range(64):
        for r in range(registers.shape[1]):
            if rows == 4:
                block, row = lane // 4, r
            elif rows == 16:
                block, row = r // 4, 4 * (lane // 16) + r % 4
            else:
                block, row = r // 16, 8 * (r % 16 // 4) + 4 * (lane // 32) + r % 4
            out[block, row, lane % rows] = registers[lane, r]
    return out


def operand(kind: str, shape: tuple[int, ...], chip: str) -> Array:
    if kind == "i8":
        return RNG.integers(-128, 128, shape).astype(np.int8)
    small = OCP if chip == "gfx950" else FNUZ
    x = RNG.standard_normal(shape).astype(np.float32)
    return x.astype(small.get(kind) or TYPES[kind])


def case_of(name: str, a: Array, b: Array, more: str = "", extra: tuple[Array, ...] = ()) -> Case:
    rows, blocks = a.shape[1], a.shape[0]
    result = f"V{4 * blocks * rows * rows // 64}"
    more_operands = "".join(f", {{{n}}}" for n, _ in zip("cg", extra, strict=False))
    text = f"v_mfma_{name} {{d}}, {{a}}, {{b}}, 0{more_operands}{more}\n\ts_nop 15\n\ts_nop 15"
    return Case(text, (result,), (words(spread(a)), words(spread(b)), *extra))


def registers_of(found: Array, integer: bool) -> Array:
    data = np.ascontiguousarray(found).reshape(64, -1)
    return data.view(np.int32 if integer else np.float32)


@pytest.mark.parametrize("chip", CHIPS)
def test_matrix_instructions_multiply(chip: str) -> None:
    names = [*BOTH, *ONLY[chip]]
    cases, wanted = [], []
    for name in names:
        rows, k, blocks, kinds = parse(name)
        a, b = (operand(kind, (blocks, rows, k), chip) for kind in kinds)
        cases.append(case_of(name, a, b))
        x, y = a.astype(np.float64), b.astype(np.float64)
        if kinds[0] == "xf32":
            x, y = (
                (v.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for v in (a, b)
            )
        wanted.append(x @ y.transpose(0, 2, 1))
    for name, product, (found,) in zip(names, wanted, run(chip, cases), strict=True):
        rows, _, blocks, kinds = parse(name)
        got = collected(registers_of(found, kinds[0] == "i8"), rows, blocks)
        assert np.allclose(got, product, rtol=1e-5, atol=1e-4), name


def test_products_in_f64() -> None:
    a, b = RNG.standard_normal((1, 16, 4)), RNG.standard_normal((1, 16, 4))
    text = "v_mfma_f64_16x16x4_f64 {d}, {a}, {b}, 0\n\ts_nop 15\n\ts_nop 15"
    case = Case(text, ("V32",), (spread(a).reshape(-1), spread(b).reshape(-1)))
    ((found,),) = run("gfx942", [case])
    got = np.ascontiguousarray(found).view(np.float64).reshape(64, 4)
    product = a[0] @ b[0].T
    for lane in range(64):
        for r in range(4):
            assert got[lane, r] == pytest.approx(product[4 * r + lane // 16, lane % 16])


FORMATS = {
    0: ml_dtypes.float8_e4m3fn, 1: ml_dtypes.float8_e5m2, 2: ml_dtypes.float6_e2m3fn,
    3: ml_dtypes.float6_e3m2fn, 4: ml_dtypes.float4_e2m1fn,
}  # fmt: skip


def packed(lanes: Array, bits: int) -> Array:
    """Codes of 4, 6 or 8 bits, one behind the other, as registers."""
    codes = lanes.view(np.uint8).reshape(64, -1)
    string = np.unpackbits(codes[:, :, None], axis=2, bitorder="little")[:, :, :bits].reshape(
        64, -1
    )
    return words(np.packbits(string, axis=1, bitorder="little"))


@pytest.mark.parametrize("rows", [16, 32])
def test_small_floats_with_block_scales_on_gfx950(rows: int) -> None:
    k = 2048 // rows
    cases, wanted = [], []
    for code_a, code_b in ((0, 0), (1, 0), (4, 4), (2, 3), (0, 4)):
        values = [RNG.standard_normal((1, rows, k)).astype(FORMATS[c]) for c in (code_a, code_b)]
        scales = [RNG.integers(120, 134, (rows, k // 32)).astype(np.uint32) for _ in range(2)]
        widths = [{2: 6, 3: 6, 4: 4}.get(c, 8) for c in (code_a, code_b)]
        operands = tuple(packed(spread(v), w) for v, w in zip(values, widths, strict=True))
        factors = tuple(np.ascontiguousarray(s.T).reshape(-1) << np.uint32(8) for s in scales)
        text = (
            f"v_mfma_scale_f32_{rows}x{rows}x{k}_f8f6f4 {{d}}, {{a}}, {{b}}, 0, {{c}}, {{g}} "
            f"op_sel:[1,1,0] op_sel_hi:[0,0,0] cbsz:{code_a} blgp:{code_b}\n\ts_nop 15\n\ts_nop 15"
        )
        cases.append(Case(text, (f"V{rows * rows // 16}",), (*operands, *factors)))
        scaled = [
            v[0].astype(np.float64) * np.repeat(2.0 ** (s.astype(int) - 127), 32, axis=1)
            for v, s in zip(values, scales, strict=True)
        ]
        wanted.append(scaled[0] @ scaled[1].T)
    for product, (found,) in zip(wanted, run("gfx950", cases), strict=True):
        got = collected(registers_of(found, False), rows, 1)[0]
        assert np.allclose(got, product, rtol=1e-4, atol=1e-3 * np.abs(product).max())
