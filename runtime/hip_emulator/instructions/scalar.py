"""Scalar instructions: SOP1, SOP2, SOPC, SOPK (CDNA3 ISA, chapter 12.1 to 12.4)."""

# ruff: noqa: E501 - an instruction is a line of a table

from __future__ import annotations

from dslc.runtime.hip_emulator.instructions.table import Entry, read_table

_FIXED = """
s_mov_b32          u32 = u32 : a
s_mov_b64          u64 = u64 : a
s_movk_i32         i32 = i16 : a
s_cmov_b32         u32 = u32 ~u32 +scc : c ? a : b
s_cmov_b64         u64 = u64 ~u64 +scc : c ? a : b
s_cmovk_i32        i32 = i16 ~i32 +scc : c ? a : b
s_brev_b32         u32 = u32 : reversed(a)
s_brev_b64         u64 = u64 : (u64)reversed((u32)a) << 32 | reversed((u32)(a >> 32))
s_sext_i32_i8      i32 = i32 : (i8)a
s_sext_i32_i16     i32 = i32 : (i16)a
s_abs_i32          i32 +scc = i32 : d = a < 0 ? -a : a; e = d != 0
s_bitset0_b32      u32 = u32 ~u32 : b & ~(1u << (a & 31))
s_bitset1_b32      u32 = u32 ~u32 : b | 1u << (a & 31)
s_bitset0_b64      u64 = u32 ~u64 : b & ~((u64)1 << (a & 63))
s_bitset1_b64      u64 = u32 ~u64 : b | (u64)1 << (a & 63)
s_ff1_i32_b32      u32 = u32 : trailing(a)
s_ff0_i32_b32      u32 = u32 : trailing(~a)
s_ff1_i32_b64      u32 = u64 : a ? (u32)__builtin_ctzll(a) : ~0u
s_ff0_i32_b64      u32 = u64 : ~a ? (u32)__builtin_ctzll(~a) : ~0u
s_flbit_i32_b32    u32 = u32 : leading(a)
s_flbit_i32_b64    u32 = u64 : a ? (u32)__builtin_clzll(a) : ~0u
s_flbit_i32        u32 = i32 : leading((u32)(a < 0 ? ~a : a))
s_flbit_i32_i64    u32 = i64 : (a < 0 ? ~a : a) ? (u32)__builtin_clzll((u64)(a < 0 ? ~a : a)) : ~0u
s_wqm_b64          u64 +scc = u64 : d = 0; for (int q = 0; q < 64; q += 4) d |= a >> q & 15 ? (u64)15 << q : 0; e = d != 0;
s_bitreplicate_b64_b32 u64 = u32 : d = 0; for (int n = 0; n < 32; n++) d |= (u64)(a >> n & 1) * 3 << 2 * n;
s_add_u32          u32 +scc = u32 u32 : d = a + b; e = d < a
s_sub_u32          u32 +scc = u32 u32 : d = a - b; e = b > a
s_add_i32          i32 +scc = i32 i32 : const i64 x = (i64)a + b; d = (i32)x; e = x != d
s_sub_i32          i32 +scc = i32 i32 : const i64 x = (i64)a - b; d = (i32)x; e = x != d
s_addk_i32         i32 +scc = ~i32 i16 : const i64 x = (i64)a + b; d = (i32)x; e = x != d
s_addc_u32         u32 +scc = u32 u32 +scc : const u64 x = (u64)a + b + c; d = (u32)x; e = x >> 32 & 1
s_subb_u32         u32 +scc = u32 u32 +scc : d = a - b - c; e = (u64)b + c > a
s_mul_i32          u32 = u32 u32 : a * b
s_mulk_i32         u32 = ~u32 i16 : a * (u32)(i32)b
s_mul_hi_u32       u32 = u32 u32 : (u32)((u64)a * b >> 32)
s_mul_hi_i32       i32 = i32 i32 : (i32)((i64)a * b >> 32)
s_absdiff_i32      i32 +scc = i32 i32 : const i32 x = (i32)((u32)a - (u32)b); d = x < 0 ? -x : x; e = d != 0
s_cselect_b32      u32 = u32 u32 +scc : c ? a : b
s_cselect_b64      u64 = u64 u64 +scc : c ? a : b
s_lshl_b32         u32 +scc = u32 u32 : d = a << (b & 31); e = d != 0
s_lshl_b64         u64 +scc = u64 u32 : d = a << (b & 63); e = d != 0
s_lshr_b32         u32 +scc = u32 u32 : d = a >> (b & 31); e = d != 0
s_lshr_b64         u64 +scc = u64 u32 : d = a >> (b & 63); e = d != 0
s_ashr_i32         i32 +scc = i32 u32 : d = a >> (b & 31); e = d != 0
s_ashr_i64         i64 +scc = i64 u32 : d = a >> (b & 63); e = d != 0
s_bfm_b32          u32 = u32 u32 : ((1u << (a & 31)) - 1) << (b & 31)
s_bfm_b64          u64 = u32 u32 : (((u64)1 << (a & 63)) - 1) << (b & 63)
s_bfe_u32          u32 +scc = u32 u32 : const u32 n = b >> 16 & 127; d = n >= 32 ? a >> (b & 31) : bfe_u32(a, b, n); e = d != 0
s_bfe_i32          i32 +scc = u32 u32 : const u32 n = b >> 16 & 127; d = n >= 32 ? (i32)a >> (b & 31) : bfe_i32(a, b, n); e = d != 0
s_bfe_u64          u64 +scc = u64 u32 : const u32 n = b >> 16 & 127; d = a >> (b & 63) & (n >= 64 ? ~(u64)0 : ((u64)1 << n) - 1); e = d != 0
s_bfe_i64          i64 +scc = i64 u32 : const u32 n = b >> 16 & 127, s = b & 63; const u32 up = n + s < 64 ? 64 - n - s : 0; d = n ? (i64)((u64)a << up) >> (up + s) : 0; e = d != 0
s_pack_ll_b32_b16  u32 = u32 u32 : (a & 0xffff) | b << 16
s_pack_lh_b32_b16  u32 = u32 u32 : (a & 0xffff) | (b & 0xffff0000)
s_pack_hh_b32_b16  u32 = u32 u32 : a >> 16 | (b & 0xffff0000)
s_bitcmp0_b32      +scc = u32 u32 : * d = !(a >> (b & 31) & 1)
s_bitcmp1_b32      +scc = u32 u32 : * d = a >> (b & 31) & 1
s_bitcmp0_b64      +scc = u64 u32 : * d = !(a >> (b & 63) & 1)
s_bitcmp1_b64      +scc = u64 u32 : * d = a >> (b & 63) & 1
s_cmp_eq_u64       +scc = u64 u64 : * d = a == b
s_cmp_lg_u64       +scc = u64 u64 : * d = a != b
s_andn1_wrexec_b64 u64 +exec +scc = u64 +exec : d = e = ~a & b; f = d != 0
s_andn2_wrexec_b64 u64 +exec +scc = u64 +exec : d = e = a & ~b; f = d != 0
"""

_LOGIC = {
    "and": "a & b",
    "or": "a | b",
    "xor": "a ^ b",
    "andn2": "a & ~b",
    "orn2": "a | ~b",
    "nand": "~(a & b)",
    "nor": "~(a | b)",
    "xnor": "~(a ^ b)",
}
_SAVED = _LOGIC | {"andn1": "~a & b", "orn1": "~a | b"}
COMPARISONS = {"eq": "==", "lg": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def _lines() -> str:
    lines = []
    for width in (32, 64):
        lines.append(f"s_not_b{width} u{width} +scc = u{width} : d = ~a; e = d != 0")
        ones = "__builtin_popcount" + ("" if width == 32 else "ll")
        lines.append(f"s_bcnt1_i32_b{width} u32 +scc = u{width} : d = (u32){ones}(a); e = d != 0")
        lines.append(f"s_bcnt0_i32_b{width} u32 +scc = u{width} : d = (u32){ones}(~a); e = d != 0")
        for name, formula in _LOGIC.items():
            lines.append(
                f"s_{name}_b{width} u{width} +scc = u{width} u{width} : d = {formula}; e = d != 0"
            )
    for name, formula in _SAVED.items():
        lines.append(
            f"s_{name}_saveexec_b64 u64 +exec +scc = u64 +exec : d = b; e = {formula}; f = e != 0"
        )
    for sign in "iu":
        for name, symbol in COMPARISONS.items():
            lines.append(f"s_cmp_{name}_{sign}32 +scc = {sign}32 {sign}32 : * d = a {symbol} b")
            lines.append(f"s_cmpk_{name}_{sign}32 +scc = {sign}32 {sign}16 : * d = a {symbol} b")
        for name, symbol in (("min", "<"), ("max", ">=")):
            lines.append(
                f"s_{name}_{sign}32 {sign}32 +scc = {sign}32 {sign}32 : "
                f"e = a {symbol} b; d = e ? a : b"
            )
    for shift in (1, 2, 3, 4):
        lines.append(
            f"s_lshl{shift}_add_u32 u32 +scc = u32 u32 : "
            f"const u64 x = ((u64)a << {shift}) + b; d = (u32)x; e = x >> 32 != 0"
        )
    return "\n".join(lines)


TABLE: dict[str, Entry] = read_table(_FIXED + _lines())
