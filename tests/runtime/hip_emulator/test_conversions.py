"""Conversions to and from small floats: FNUZ on gfx942, OCP on gfx950, and gfx950's with a scale."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.hip.instructions import Array, Case, run
from support.hip.toolchain import CHIPS, needs_clang

pytestmark = needs_clang
RNG = np.random.default_rng(13)
SMALL: dict[str, dict[str, Any]] = {
    "gfx942": {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz},
    "gfx950": {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2},
}
FLOATS = (RNG.standard_normal((2, 64)) * 10.0 ** RNG.integers(-3, 2, (2, 64))).astype(np.float32)
FLOATS[0, :4] = [0, -0.0, 1e-9, -2.5]
CODES = RNG.integers(0, 1 << 32, 64, dtype=np.uint32)


def same(got: Array, wanted: Array) -> bool:
    return bool(((got == wanted) | (np.isnan(got) & np.isnan(wanted))).all())


def bytes_of(codes: Array, dtype: Any) -> Array:
    """[64, 4] as f32."""
    return codes.view(dtype).astype(np.float32).reshape(64, 4)


@pytest.mark.parametrize("chip", CHIPS)
def test_small_floats_are_read(chip: str) -> None:
    for name, dtype in SMALL[chip].items():
        cases = [
            Case(f"v_cvt_f32_{name} {{d}}, {{a}}", ("f4",), (CODES,)),
            Case(f"v_cvt_f32_{name}_sdwa {{d}}, {{a}} src0_sel:BYTE_2", ("f4",), (CODES,)),
            Case(f"v_cvt_pk_f32_{name} {{d}}, {{a}}", ("u8",), (CODES,)),
            Case(f"v_cvt_pk_f32_{name}_sdwa {{d}}, {{a}} src0_sel:WORD_1", ("u8",), (CODES,)),
        ]
        found = [x for (x,) in run(chip, cases)]
        wanted = bytes_of(CODES, dtype)
        assert same(found[0], wanted[:, 0])
        assert same(found[1], wanted[:, 2])
        assert same(found[2].view(np.float32).reshape(64, 2), wanted[:, :2])
        assert same(found[3].view(np.float32).reshape(64, 2), wanted[:, 2:])


@pytest.mark.parametrize("chip", CHIPS)
def test_small_floats_are_rounded_and_the_other_half_is_kept(chip: str) -> None:
    for name, dtype in SMALL[chip].items():
        line = f"v_cvt_pk_{name}_f32 {{d}}, {{a}}, {{b}}"
        operands = (FLOATS[0], FLOATS[1], CODES)
        cases = [Case(line, ("u4",), operands, kept=True)]
        cases.append(Case(line + " op_sel:[0,0,1]", ("u4",), operands, kept=True))
        (low,), (high,) = run(chip, cases)
        pair = np.stack([x.astype(dtype).view(np.uint8) for x in FLOATS], 1)
        words = np.ascontiguousarray(pair).view(np.uint16).reshape(64).astype(np.uint32)
        assert (low == (CODES & np.uint32(0xFFFF0000) | words)).all()
        assert (high == (CODES & np.uint32(0xFFFF) | words << np.uint32(16))).all()


def test_conversions_with_a_scale() -> None:
    scales = (2.0 ** RNG.integers(-6, 6, 64)).astype(np.float32)
    nibbles = np.stack([CODES >> np.uint32(4 * k) & np.uint32(15) for k in range(8)], 1)
    fp4 = nibbles.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    fp8 = bytes_of(CODES, ml_dtypes.float8_e4m3fn)
    operands = (CODES, scales)
    cases = [
        Case("v_cvt_scalef32_pk_f32_fp8 {d}, {a}, {b} op_sel:[1,0,0]", ("u8",), operands),
        Case("v_cvt_scalef32_pk_f32_fp4 {d}, {a}, {b} op_sel:[1,1,0]", ("u8",), operands),
    ]
    (from_fp8,), (from_fp4,) = run("gfx950", cases)
    assert same(from_fp8.view(np.float32).reshape(64, 2), fp8[:, 2:] * scales[:, None])
    assert same(from_fp4.view(np.float32).reshape(64, 2), fp4[:, 6:] * scales[:, None])
    line = "v_cvt_scalef32_pk_fp4_f32 {d}, {a}, {b}, {c} op_sel:[0,0,1,0]"
    case = Case(line, ("u4",), (FLOATS[0], FLOATS[1], scales, CODES), kept=True)
    ((to_fp4,),) = run("gfx950", [case])
    pair = [(x / scales).astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15 for x in FLOATS]
    byte = (pair[0] | pair[1] << 4).astype(np.uint32)
    assert (to_fp4 == (CODES & np.uint32(0xFFFF00FF) | byte << np.uint32(8))).all()
