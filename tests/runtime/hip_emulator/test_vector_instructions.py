"""Vector instructions, one by one against NumPy."""

# ruff: noqa: E501, PLW0108 - an instruction is a line of a table, and helpers follow it

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.hip.instructions import Array, Case, Oracle, run
from support.hip.toolchain import needs_clang

pytestmark = needs_clang
RNG = np.random.default_rng(7)


def values(dtype: str) -> Array:
    """64 values with the edges of their type."""
    if dtype == "f4":
        x = (RNG.standard_normal(64) * 10.0 ** RNG.integers(-3, 4, 64)).astype("f4")
        x[:6] = [0, -0.0, np.inf, -np.inf, 1e-40, 3.5]
        return x
    if dtype == "f8":
        x = RNG.standard_normal(64) * 10.0 ** RNG.integers(-9, 9, 64)
        x[:3] = [0, -0.0, np.inf]
        return x
    if dtype == "h2":  # two f16 in a word
        return RNG.standard_normal(128).astype("f2").view("u4")
    x = RNG.integers(0, 1 << 8 * np.dtype(dtype).itemsize, 64, dtype=np.uint64)
    x[:4] = [0, (1 << 8 * np.dtype(dtype).itemsize) - 1, 1, 1 << (8 * np.dtype(dtype).itemsize - 1)]
    return x.astype(f"u{dtype[1]}").view(dtype)


def halves(x: Array) -> tuple[Array, Array]:
    both = np.ascontiguousarray(x).view("f2").astype("f4").reshape(64, 2)
    return both[:, 0], both[:, 1]


def joined(low: Array, high: Array) -> Array:
    return np.stack([low.astype("f2"), high.astype("f2")], 1).reshape(-1).view("u4")


def low16(x: Array) -> Array:
    return (x & 0xFFFF).astype("u4")


def bits(x: int) -> int:
    return x.bit_count()


U, S, F, D = "u4", "i4", "f4", "f8"
LANES = np.arange(64)
BF16 = ml_dtypes.bfloat16


def each(function: Oracle) -> Oracle:
    return lambda *arrays: np.array(
        [function(*(int(x) for x in row)) for row in zip(*arrays, strict=True)], dtype=object
    )


# text, result, operands, the same in NumPy
EXACT: list[tuple[str, str, str, Oracle]] = [
    ("v_add_u32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: a + b),
    ("v_sub_u32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: a - b),
    ("v_subrev_u32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: b - a),
    ("v_add_u32_e64 {d}, {a}, {b} clamp", U, "u4 u4", each(lambda a, b: min(a + b, 2**32 - 1))),
    ("v_add_i32 {d}, {a}, {b} clamp", S, "i4 i4", each(lambda a, b: max(min(a + b, 2**31 - 1), -(2**31)))),
    ("v_add3_u32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: a + b + c),
    ("v_lshl_add_u32 {d}, {a}, 5, {b}", U, "u4 u4", lambda a, b: (a << np.uint32(5)) + b),
    ("v_add_lshl_u32 {d}, {a}, {b}, 3", U, "u4 u4", lambda a, b: (a + b) << np.uint32(3)),
    ("v_lshl_add_u64 {d}, {a}, 2, {b}", "u8", "u8 u8", lambda a, b: (a << np.uint64(2)) + b),
    ("v_lshl_or_b32 {d}, {a}, 7, {b}", U, "u4 u4", lambda a, b: a << np.uint32(7) | b),
    ("v_and_or_b32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: a & b | c),
    ("v_or3_b32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: a | b | c),
    ("v_xor_b32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: a ^ b),
    ("v_xnor_b32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: ~(a ^ b)),
    ("v_xad_u32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: (a ^ b) + c),
    ("v_not_b32 {d}, {a}", U, "u4", lambda a: ~a),
    ("v_bfi_b32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: a & b | ~a & c),
    ("v_bfe_u32 {d}, {a}, 5, 11", U, "u4", lambda a: a >> np.uint32(5) & np.uint32(0x7FF)),
    ("v_bfe_i32 {d}, {a}, 5, 11", S, "u4", lambda a: (a << np.uint32(16)).view("i4") >> 21),
    ("v_bfe_u32 {d}, {a}, 20, 0", U, "u4", lambda a: a * np.uint32(0)),
    ("v_bfm_b32 {d}, {a}, {b}", U, "u4 u4", each(lambda a, b: ((1 << a % 32) - 1 << b % 32) % 2**32)),
    ("v_bfrev_b32 {d}, {a}", U, "u4", each(lambda a: int(f"{a:032b}"[::-1], 2))),
    ("v_bcnt_u32_b32 {d}, {a}, {b}", U, "u4 u4", each(lambda a, b: (bits(a) + b) % 2**32)),
    ("v_ffbh_u32 {d}, {a}", U, "u4", each(lambda a: 32 - a.bit_length() if a else 2**32 - 1)),
    ("v_ffbl_b32 {d}, {a}", U, "u4", each(lambda a: (a & -a).bit_length() - 1 if a else 2**32 - 1)),
    ("v_ffbh_i32 {d}, {a}", U, "i4", each(lambda a: 32 - (~a if a < 0 else a).bit_length() if a not in (0, -1) else 2**32 - 1)),
    ("v_mbcnt_lo_u32_b32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: np.array([bits(int(x) & (1 << min(k, 32)) - 1) for k, x in enumerate(a)], "u4") + b),
    ("v_mbcnt_hi_u32_b32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: np.array([bits(int(x) & (1 << max(k - 32, 0)) - 1) for k, x in enumerate(a)], "u4") + b),
    ("v_alignbit_b32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", each(lambda a, b, c: (a << 32 | b) >> c % 32 & 2**32 - 1)),
    ("v_alignbyte_b32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", each(lambda a, b, c: (a << 32 | b) >> 8 * (c % 4) & 2**32 - 1)),
    ("v_lshlrev_b32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: b << a % 32),
    ("v_lshrrev_b32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: b >> a % 32),
    ("v_ashrrev_i32 {d}, {a}, {b}", S, "u4 i4", lambda a, b: b >> (a % 32).astype("i4")),
    ("v_lshlrev_b64 {d}, {a}, {b}", "u8", "u4 u8", lambda a, b: b << (a % 64).astype("u8")),
    ("v_ashrrev_i64 {d}, {a}, {b}", "i8", "u4 i8", lambda a, b: b >> (a % 64).astype("i8")),
    ("v_mul_lo_u32 {d}, {a}, {b}", U, "u4 u4", lambda a, b: a * b),
    ("v_mul_hi_u32 {d}, {a}, {b}", U, "u4 u4", each(lambda a, b: a * b >> 32)),
    ("v_mul_hi_i32 {d}, {a}, {b}", S, "i4 i4", each(lambda a, b: a * b >> 32)),
    ("v_mul_u32_u24 {d}, {a}, {b}", U, "u4 u4", each(lambda a, b: (a % 2**24) * (b % 2**24) % 2**32)),
    ("v_mad_i32_i24 {d}, {a}, {b}, {c}", U, "i4 i4 u4", each(lambda a, b, c: ((a << 8 & 2**32 - 1 ^ 2**31) - 2**31 >> 8) * ((b << 8 & 2**32 - 1 ^ 2**31) - 2**31 >> 8) + c & 2**32 - 1)),
    ("v_mad_u64_u32 {d}, s[60:61], {a}, {b}, {c}", "u8", "u4 u4 u8", each(lambda a, b, c: (a * b + c) % 2**64)),
    ("v_min_i32 {d}, {a}, {b}", S, "i4 i4", np.minimum),
    ("v_max3_u32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
    ("v_med3_i32 {d}, {a}, {b}, {c}", S, "i4 i4 i4", lambda a, b, c: np.median([a, b, c], axis=0).astype("i4")),
    ("v_sad_u8 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: c + np.abs(a.view("u1").astype("i4") - b.view("u1").astype("i4")).reshape(64, 4).sum(1).astype("u4")),
    ("v_perm_b32 {d}, {a}, {b}, {c}", U, "u4 u4 u4", each(lambda a, b, c: _perm(a << 32 | b, c))),
    ("v_add_u16 {d}, {a}, {b}", U, "u4 u4", lambda a, b: low16(a + b)),
    ("v_mad_u16 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: low16(a * b + c)),
    ("v_lshlrev_b16 {d}, {a}, {b}", U, "u4 u4", lambda a, b: low16(b << a % 16)),
    ("v_cndmask_b32 {d}, {a}, {b}, vcc", U, "u4 u4", lambda a, b: np.where(LANES % 3 == 0, b, a)),
    ("v_add_f32 {d}, {a}, {b}", F, "f4 f4", lambda a, b: a + b),
    ("v_sub_f32 {d}, {a}, |{b}|", F, "f4 f4", lambda a, b: a - np.abs(b)),
    ("v_mul_f32_e64 {d}, -{a}, {b} mul:2", F, "f4 f4", lambda a, b: -a * b * 2),
    ("v_mul_f32_e64 {d}, {a}, {b} clamp", F, "f4 f4", lambda a, b: np.nan_to_num(np.clip(a * b, 0, 1))),
    ("v_max_f32 {d}, {a}, {b}", F, "f4 f4", np.fmax),
    ("v_med3_f32 {d}, {a}, 0, 1.0", F, "f4", lambda a: np.clip(a, 0, 1)),
    ("v_fract_f32 {d}, {a}", F, "f4", lambda a: np.where(np.isinf(a), np.nan, np.minimum(a - np.floor(a), np.float32(1 - 2**-24)))),
    ("v_rndne_f32 {d}, {a}", F, "f4", np.rint),
    ("v_ldexp_f32 {d}, {a}, 5", F, "f4", lambda a: a * 32),
    ("v_frexp_mant_f32 {d}, {a}", F, "f4", lambda a: np.frexp(a)[0]),
    ("v_frexp_exp_i32_f32 {d}, {a}", S, "f4", lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0).astype("i4")),
    ("v_add_f64 {d}, {a}, {b}", D, "f8 f8", lambda a, b: a + b),
    ("v_mul_f64 {d}, {a}, -4.0", D, "f8", lambda a: a * -4),
    ("v_cvt_f32_i32 {d}, {a}", F, "i4", lambda a: a.astype("f4")),
    ("v_cvt_u32_f32 {d}, {a}", U, "f4", lambda a: np.clip(np.trunc(a.astype("f8")), 0, 2**32 - 1).astype("u4")),
    ("v_cvt_i32_f32 {d}, {a}", S, "f4", lambda a: np.clip(np.trunc(a.astype("f8")), -(2**31), 2**31 - 1).astype("i4")),
    ("v_cvt_f16_f32 {d}, {a}", U, "f4", lambda a: a.astype("f2").view("u2").astype("u4")),
    ("v_cvt_f32_f16 {d}, {a}", F, "u4", lambda a: low16(a).astype("u2").view("f2").astype("f4")),
    ("v_cvt_f32_ubyte2 {d}, {a}", F, "u4", lambda a: (a >> np.uint32(16) & np.uint32(255)).astype("f4")),
    ("v_cvt_pk_i16_i32 {d}, {a}, {b}", U, "i4 i4", lambda a, b: low16(np.clip(a, -32768, 32767).view("u4")) | np.clip(b, -32768, 32767).view("u4") << np.uint32(16)),
    ("v_pk_add_f16 {d}, {a}, {b}", U, "h2 h2", lambda a, b: joined(halves(a)[0] + halves(b)[0], halves(a)[1] + halves(b)[1])),
    ("v_pk_mul_f16 {d}, {a}, {b} op_sel:[0,1] op_sel_hi:[1,0] neg_lo:[1,0]", U, "h2 h2", lambda a, b: joined(-halves(a)[0] * halves(b)[1], halves(a)[1] * halves(b)[0])),
    ("v_pk_fma_f32 {d}, {a}, {b}, {c} op_sel_hi:[1,0,1]", "u8", "f8 f8 f8", lambda *abc: _pk_fma(*abc)),
    ("v_fma_mix_f32 {d}, {a}, {b}, {c} op_sel:[1,0,0] op_sel_hi:[1,0,0]", F, "h2 f4 f4", lambda a, b, c: (halves(a)[1].astype("f8") * b + c).astype("f4")),
    ("v_fma_mixhi_f16 {d}, {a}, 1.0, 0 op_sel_hi:[1,0,0]", U, "h2 u4", lambda a, old: low16(old) | joined(halves(a)[0], halves(a)[0]) << np.uint32(16)),
    ("v_pack_b32_f16 {d}, {a}, {b} op_sel:[1,0,0]", U, "h2 h2", lambda a, b: joined(halves(a)[1], halves(b)[0])),
    ("v_dot4_i32_i8 {d}, {a}, {b}, {c}", U, "u4 u4 u4", lambda a, b, c: c + (a.view("i1").astype("i4") * b.view("i1").astype("i4")).reshape(64, 4).sum(1).astype("u4")),
    ("v_dot2_f32_f16 {d}, {a}, {b}, {c}", F, "h2 h2 f4", lambda a, b, c: (sum(x.astype("f8") * y for x, y in zip(halves(a), halves(b), strict=True)) + c).astype("f4")),
    ("v_add_u32_sdwa {d}, {a}, {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:WORD_1", U, "u4 u4", lambda a, b: (a >> np.uint32(16) & np.uint32(255)) + (b >> np.uint32(16))),
    ("v_mov_b32_sdwa {d}, {a} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0", U, "u4 u4", lambda a, old: low16(old) | a << np.uint32(16)),
    ("v_add_u32_sdwa {d}, sext({a}), {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD", U, "u4 u4", lambda a, b: (a >> np.uint32(8)).astype("i1").astype("i4").view("u4") + b),
    ("v_mov_b32_dpp {d}, {a} row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:1", U, "u4 u4", lambda a, old: np.where(LANES % 16 >= 3, np.roll(a, 3), 0)),
    ("v_mov_b32_dpp {d}, {a} row_shr:3 row_mask:0xf bank_mask:0xf", U, "u4 u4", lambda a, old: np.where(LANES % 16 >= 3, np.roll(a, 3), old)),
    ("v_mov_b32_dpp {d}, {a} quad_perm:[2,3,0,1] row_mask:0x5 bank_mask:0xf", U, "u4 u4", lambda a, old: np.where(LANES // 16 % 2 == 0, a[LANES ^ 2], old)),
    ("v_mov_b32_dpp {d}, {a} row_bcast:15 row_mask:0xa bank_mask:0xf", U, "u4 u4", lambda a, old: np.where(LANES // 16 % 2 == 1, a[np.maximum(LANES // 16 * 16 - 1, 0)], old)),
    ("v_mov_b32_dpp {d}, {a} row_half_mirror row_mask:0xf bank_mask:0xf", U, "u4 u4", lambda a, old: a[LANES ^ 7]),
    ("v_add_f32_dpp {d}, {a}, {b} row_ror:4 row_mask:0xf bank_mask:0xf", F, "f4 f4", lambda a, b: a[LANES // 16 * 16 + (LANES - 4) % 16] + b),
    ("v_accvgpr_write_b32 a7, {a}\n\tv_accvgpr_read_b32 {d}, a7", U, "u4", lambda a: a),
    ("v_fmac_f32 {d}, {a}, {b}", F, "f4 f4 f4", lambda a, b, old: (a.astype("f8") * b + old).astype("f4")),
    ("ds_bpermute_b32 {d}, {a}, {b}\n\ts_waitcnt lgkmcnt(0)", U, "u4 u4", lambda a, b: b[a // 4 % 64]),
    ("ds_swizzle_b32 {d}, {a} offset:swizzle(SWAP,16)\n\ts_waitcnt lgkmcnt(0)", U, "u4", lambda a: a[LANES ^ 16]),
    ("ds_swizzle_b32 {d}, {a} offset:swizzle(BROADCAST,8,3)\n\ts_waitcnt lgkmcnt(0)", U, "u4", lambda a: a[LANES // 8 * 8 + 3]),
]  # fmt: skip
CLOSE: list[tuple[str, str, Oracle]] = [
    ("v_rcp_f32 {d}, {a}", "f4", lambda a: 1 / a),
    ("v_sqrt_f32 {d}, {a}", "f4", np.sqrt),
    ("v_rsq_f32 {d}, {a}", "f4", lambda a: 1 / np.sqrt(a)),
    ("v_exp_f32 {d}, {a}", "f4", np.exp2),
    ("v_log_f32 {d}, {a}", "f4", np.log2),
    ("v_sin_f32 {d}, {a}", "f4", lambda a: np.sin(2 * np.pi * a)),
    ("v_rcp_f64 {d}, {a}", "f8", lambda a: 1 / a),
]
ONLY_GFX950: list[tuple[str, str, str, Oracle]] = [
    ("v_cvt_pk_bf16_f32 {d}, {a}, {b}", U, "f4 f4", lambda a, b: np.stack([a.astype(BF16), b.astype(BF16)], 1).reshape(-1).view("u4")),
    ("v_bitop3_b32 {d}, {a}, {b}, {c} bitop3:0x96", U, "u4 u4 u4", lambda a, b, c: a ^ b ^ c),
    ("v_bitop3_b32 {d}, {a}, {b}, {c} bitop3:0xea", U, "u4 u4 u4", lambda a, b, c: a & b | c),
    ("v_dot2_f32_bf16 {d}, {a}, {b}, 0", F, "u4 u4", lambda *ab: _bf16_dot(*ab)),
    ("v_permlane32_swap_b32 {d}, {a}", U, "u4 u4", lambda a, old: np.where(LANES < 32, old, a[LANES ^ 32])),
    ("v_permlane16_swap_b32 {d}, {a}", U, "u4 u4", lambda a, old: np.where(LANES & 16 == 0, old, a[LANES ^ 16])),
]  # fmt: skip


def _perm(both: int, selector: int) -> int:
    found = 0
    for byte in range(4):
        s = selector >> 8 * byte & 255
        if s < 8:
            x = both >> 8 * s & 255
        else:
            x = 255 if s > 12 or (s < 12 and both >> 16 * (s - 8) + 15 & 1) else 0
        found |= x << 8 * byte
    return found


def _pk_fma(a: Array, b: Array, c: Array) -> Array:
    x, y, z = (np.ascontiguousarray(v).view("f4").reshape(64, 2).astype("f8") for v in (a, b, c))
    return (x * y[:, :1] + z).astype("f4").reshape(-1).view("u8")


def _bf16_dot(a: Array, b: Array) -> Array:
    x, y = (np.ascontiguousarray(v).view(BF16).astype("f8").reshape(64, 2) for v in (a, b))
    return (x * y).sum(1).astype("f4")


def _same(got: Array, wanted: Any, dtype: str) -> bool:
    with np.errstate(all="ignore"):
        expected = np.asarray(wanted).astype(dtype)
    if np.dtype(dtype).kind == "f":
        return bool(((got == expected) | (np.isnan(got) & np.isnan(expected))).all())
    return bool((got == expected).all())


def _cases(table: list[tuple[str, str, str, Oracle]]) -> list[Case]:
    mask = sum(1 << k for k in range(0, 64, 3))
    before = f"s_mov_b32 vcc_lo, {mask & 0xFFFFFFFF:#x}\ns_mov_b32 vcc_hi, {mask >> 32:#x}"
    cases = []
    for text, result, operands, _ in table:
        arrays = tuple(values(d) for d in operands.split())
        if text.startswith("v_perm_b32"):
            arrays = (*arrays[:2], arrays[2] & np.uint32(0x0F0F0F0F))
        printed = len({w for w in ("{a}", "{b}", "{c}") if w in text})
        cases.append(Case(text, (result,), arrays, before, kept=len(arrays) > printed))
    return cases


@pytest.mark.parametrize("table", [EXACT, ONLY_GFX950], ids=["gfx942", "gfx950"])
def test_an_instruction_gives_what_numpy_does(table: list[tuple[str, str, str, Oracle]]) -> None:
    cases = _cases(table)
    found = run("gfx942" if table is EXACT else "gfx950", cases)
    wrong = []
    with np.errstate(all="ignore"):
        for (text, dtype, _, oracle), case, (got,) in zip(table, cases, found, strict=True):
            wanted = oracle(*case.operands)
            if not _same(got, wanted, dtype):
                wrong.append(text)
    assert not wrong


def test_transcendental_functions_are_right_within_an_ulp() -> None:
    cases = [Case(t, (d,), (np.abs(values(d)) + np.dtype(d).type(1e-3),)) for t, d, _ in CLOSE]
    for (text, dtype, oracle), case, (got,) in zip(CLOSE, cases, run("gfx942", cases), strict=True):
        with np.errstate(all="ignore"):
            wanted = oracle(case.operands[0].astype("f8")).astype(dtype)
        finite = np.isfinite(wanted) & (np.abs(wanted) > 1e-37)
        tolerance = 1e-5 if "sin" in text else 0
        near = (
            np.abs(got[finite] - wanted[finite]) <= np.spacing(np.abs(wanted[finite])) + tolerance
        )
        assert near.all(), text


def test_a_division_by_its_steps_is_rounded_correctly() -> None:
    a, b = values("f4"), values("f4")[::-1].copy()
    a[6:10], b[6:10] = [1e38, 1e-38, 3e-42, 1e30], [1e-3, 1e30, 1e-40, 1e38]
    text = (
        "v_div_scale_f32 v40, s[60:61], {b}, {b}, {a}\n\tv_div_scale_f32 v41, vcc, {a}, {b}, {a}\n"
        "\tv_rcp_f32_e32 v42, v40\n\tv_fma_f32 v43, -v40, v42, 1.0\n\tv_fmac_f32_e32 v42, v43, v42\n"
        "\tv_mul_f32_e32 v44, v41, v42\n\tv_fma_f32 v45, -v40, v44, v41\n\tv_fmac_f32_e32 v44, v45, v42\n"
        "\tv_fma_f32 v45, -v40, v44, v41\n\tv_div_fmas_f32 v46, v45, v42, v44\n"
        "\tv_div_fixup_f32 {d}, v46, {b}, {a}"
    )
    ((got,),) = run("gfx942", [Case(text, ("f4",), (a, b))])
    with np.errstate(all="ignore"):
        assert _same(got, a / b, "f4")


def test_comparisons_give_masks() -> None:
    a, b = values("f4"), values("f4")
    a[7], b[8] = np.nan, np.nan
    b[20:40] = a[20:40]
    with np.errstate(all="ignore"):
        table = {
            "lt": a < b,
            "eq": a == b,
            "nge": ~(a >= b),
            "u": np.isnan(a) | np.isnan(b),
            "lg": (a < b) | (a > b),
        }
    cases = [
        Case(
            f"v_cmp_{name}_f32 s[60:61], {{a}}, {{b}}\n\tv_cndmask_b32 {{d}}, 0, 1, s[60:61]",
            ("u4",),
            (a, b),
        )
        for name in table
    ]
    for wanted, (got,) in zip(table.values(), run("gfx942", cases), strict=True):
        assert (got == wanted).all()


def test_lanes_that_exec_leaves_out_keep_their_values() -> None:
    a, old = values("u4"), values("u4")
    text = "s_mov_b64 exec, 0xff\n\tv_mov_b32 {d}, {a}\n\tv_readfirstlane_b32 s60, {a}\n\ts_mov_b64 exec, -1"
    ((got,),) = run("gfx942", [Case("v_nop\n\t" + text, ("u4",), (a, old), kept=True)])
    assert (got == np.where(LANES < 8, a, old)).all()
