"""Vector instructions on integers and bits: VOP1, VOP2, VOP3 (CDNA3 ISA, chapters 12.7 to 12.10)."""

# ruff: noqa: E501 - an instruction is a line of a table

from __future__ import annotations

from dslc.runtime.hip_emulator.instructions.table import Entry, read_table

TABLE: dict[str, Entry] = read_table("""
v_mov_b32          b32 = b32 : a
v_mov_b64          b64 = b64 : a
v_accvgpr_read_b32  b32 = b32 : a
v_accvgpr_write_b32 b32 = b32 : a
v_accvgpr_mov_b32   b32 = b32 : a
v_not_b32          u32 = u32 : ~a
v_bfrev_b32        u32 = u32 : reversed(a)
v_ffbh_u32         u32 = u32 : leading(a)
v_ffbl_b32         u32 = u32 : trailing(a)
v_ffbh_i32         u32 = i32 : leading((u32)(a < 0 ? ~a : a))
v_cndmask_b32      b32 = b32 b32 mask : c ? b : a
v_add_u32          u32 = u32 u32 : a + b
v_add_u32.clamp    u32 = u32 u32 : a + b < a ? ~0u : a + b
v_sub_u32          u32 = u32 u32 : a - b
v_sub_u32.clamp    u32 = u32 u32 : a > b ? a - b : 0
v_subrev_u32       u32 = u32 u32 : b - a
v_subrev_u32.clamp u32 = u32 u32 : b > a ? b - a : 0
v_add_i32          u32 = u32 u32 : a + b
v_add_i32.clamp    i32 = i32 i32 : limited((i64)a + b, INT32_MIN, INT32_MAX)
v_sub_i32          u32 = u32 u32 : a - b
v_sub_i32.clamp    i32 = i32 i32 : limited((i64)a - b, INT32_MIN, INT32_MAX)
v_add_co_u32       u32 mask = u32 u32 : d = a + b; e = d < a
v_sub_co_u32       u32 mask = u32 u32 : d = a - b; e = b > a
v_subrev_co_u32    u32 mask = u32 u32 : d = b - a; e = a > b
v_addc_co_u32      u32 mask = u32 u32 mask : const u64 x = (u64)a + b + c; d = (u32)x; e = x >> 32 != 0
v_subb_co_u32      u32 mask = u32 u32 mask : d = a - b - c; e = (u64)b + c > a
v_subbrev_co_u32   u32 mask = u32 u32 mask : d = b - a - c; e = (u64)a + c > b
v_add3_u32         u32 = u32 u32 u32 : a + b + c
v_lshl_add_u32     u32 = u32 u32 u32 : (a << (b & 31)) + c
v_add_lshl_u32     u32 = u32 u32 u32 : (a + b) << (c & 31)
v_lshl_add_u64     u64 = u64 u32 u64 : (a << (b & 7)) + c
v_xad_u32          u32 = u32 u32 u32 : (a ^ b) + c
v_lshl_or_b32      u32 = u32 u32 u32 : a << (b & 31) | c
v_and_or_b32       u32 = u32 u32 u32 : (a & b) | c
v_or3_b32          u32 = u32 u32 u32 : a | b | c
v_and_b32          u32 = u32 u32 : a & b
v_or_b32           u32 = u32 u32 : a | b
v_xor_b32          u32 = u32 u32 : a ^ b
v_xnor_b32         u32 = u32 u32 : ~(a ^ b)
v_bfi_b32          u32 = u32 u32 u32 : (a & b) | (~a & c)
v_bfe_u32          u32 = u32 u32 u32 : bfe_u32(a, b, c)
v_bfe_i32          i32 = u32 u32 u32 : bfe_i32(a, b, c)
v_bfm_b32          u32 = u32 u32 : ((1u << (a & 31)) - 1) << (b & 31)
v_bcnt_u32_b32     u32 = u32 u32 : (u32)__builtin_popcount(a) + b
v_mbcnt_lo_u32_b32 u32 = u32 u32 : (u32)__builtin_popcount(a & (l < 32 ? (1u << l) - 1 : ~0u)) + b
v_mbcnt_hi_u32_b32 u32 = u32 u32 : (u32)__builtin_popcount(a & (l < 32 ? 0 : (1u << (l - 32)) - 1)) + b
v_alignbit_b32     u32 = u32 u32 u32 : (u32)(((u64)a << 32 | b) >> (c & 31))
v_alignbyte_b32    u32 = u32 u32 u32 : (u32)(((u64)a << 32 | b) >> 8 * (c & 3))
v_perm_b32         u32 = u32 u32 u32 : perm(a, b, c)
v_lshlrev_b32      u32 = u32 u32 : b << (a & 31)
v_lshrrev_b32      u32 = u32 u32 : b >> (a & 31)
v_ashrrev_i32      i32 = u32 i32 : b >> (a & 31)
v_lshlrev_b64      u64 = u32 u64 : b << (a & 63)
v_lshrrev_b64      u64 = u32 u64 : b >> (a & 63)
v_ashrrev_i64      i64 = u32 i64 : b >> (a & 63)
v_mul_lo_u32       u32 = u32 u32 : a * b
v_mul_hi_u32       u32 = u32 u32 : (u32)((u64)a * b >> 32)
v_mul_hi_i32       i32 = i32 i32 : (i32)((i64)a * b >> 32)
v_mul_u32_u24      u32 = u32 u32 : (a & 0xffffff) * (b & 0xffffff)
v_mul_i32_i24      i32 = u32 u32 : (i32)((i64)i24(a) * i24(b))
v_mul_hi_u32_u24   u32 = u32 u32 : (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 32)
v_mul_hi_i32_i24   i32 = u32 u32 : (i32)((i64)i24(a) * i24(b) >> 32)
v_mad_u32_u24      u32 = u32 u32 u32 : (a & 0xffffff) * (b & 0xffffff) + c
v_mad_i32_i24      u32 = u32 u32 u32 : (u32)((i64)i24(a) * i24(b)) + c
v_mad_u64_u32      u64 mask = u32 u32 u64 : const u64 x = (u64)a * b; d = x + c; e = d < x
v_mad_i64_i32      i64 mask = i32 i32 i64 : d = (i64)((u64)((i64)a * b) + (u64)c); e = __builtin_add_overflow_p((i64)a * b, c, (i64)0)
v_mad_u32_u16      u32 = u16 u16 u32 : (u32)a * b + c
v_mad_i32_i16      i32 = i16 i16 i32 : (i32)((u32)(a * b) + (u32)c)
v_min_u32          u32 = u32 u32 : a < b ? a : b
v_max_u32          u32 = u32 u32 : a > b ? a : b
v_min_i32          i32 = i32 i32 : a < b ? a : b
v_max_i32          i32 = i32 i32 : a > b ? a : b
v_min3_u32         u32 = u32 u32 u32 : const u32 x = a < b ? a : b; d = x < c ? x : c
v_max3_u32         u32 = u32 u32 u32 : const u32 x = a > b ? a : b; d = x > c ? x : c
v_min3_i32         i32 = i32 i32 i32 : const i32 x = a < b ? a : b; d = x < c ? x : c
v_max3_i32         i32 = i32 i32 i32 : const i32 x = a > b ? a : b; d = x > c ? x : c
v_med3_u32         u32 = u32 u32 u32 : const u32 lo = a < b ? a : b, hi = a < b ? b : a; d = c < lo ? lo : c > hi ? hi : c
v_med3_i32         i32 = i32 i32 i32 : const i32 lo = a < b ? a : b, hi = a < b ? b : a; d = c < lo ? lo : c > hi ? hi : c
v_sad_u8           u32 = u32 u32 u32 : sad_u8(a, b, c)
v_sad_u32          u32 = u32 u32 u32 : (a > b ? a - b : b - a) + c
v_add_u16          u16 = u16 u16 : (u16)(a + b)
v_add_u16.clamp    u16 = u16 u16 : a + b > 0xffff ? 0xffff : (u16)(a + b)
v_sub_u16          u16 = u16 u16 : (u16)(a - b)
v_sub_u16.clamp    u16 = u16 u16 : a > b ? (u16)(a - b) : 0
v_subrev_u16       u16 = u16 u16 : (u16)(b - a)
v_add_i16          i16 = i16 i16 : (i16)(a + b)
v_sub_i16          i16 = i16 i16 : (i16)(a - b)
v_add_i16.clamp    i16 = i16 i16 : (i16)limited((i64)a + b, -32768, 32767)
v_sub_i16.clamp    i16 = i16 i16 : (i16)limited((i64)a - b, -32768, 32767)
v_mul_lo_u16       u16 = u16 u16 : (u16)((u32)a * b)
v_mad_u16          u16 = u16 u16 u16 : (u16)((u32)a * b + c)
v_mad_i16          i16 = i16 i16 i16 : (i16)(a * b + c)
v_mad_legacy_u16   u16 = u16 u16 u16 : (u16)((u32)a * b + c)
v_min_u16          u16 = u16 u16 : a < b ? a : b
v_max_u16          u16 = u16 u16 : a > b ? a : b
v_min_i16          i16 = i16 i16 : a < b ? a : b
v_max_i16          i16 = i16 i16 : a > b ? a : b
v_min3_i16         i16 = i16 i16 i16 : const i16 x = a < b ? a : b; d = x < c ? x : c
v_max3_i16         i16 = i16 i16 i16 : const i16 x = a > b ? a : b; d = x > c ? x : c
v_min3_u16         u16 = u16 u16 u16 : const u16 x = a < b ? a : b; d = x < c ? x : c
v_max3_u16         u16 = u16 u16 u16 : const u16 x = a > b ? a : b; d = x > c ? x : c
v_med3_i16         i16 = i16 i16 i16 : const i16 lo = a < b ? a : b, hi = a < b ? b : a; d = c < lo ? lo : c > hi ? hi : c
v_lshlrev_b16      u16 = u16 u16 : (u16)(b << (a & 15))
v_lshrrev_b16      u16 = u16 u16 : (u16)(b >> (a & 15))
v_ashrrev_i16      i16 = u16 i16 : (i16)(b >> (a & 15))
v_pack_b32_f16     b32 = b16 b16 : a | (u32)b << 16
v_sat_pk_u8_i16    u32 = u32 : (u32)limited((i16)a, 0, 255) | (u32)limited((i16)(a >> 16), 0, 255) << 8
v_ashr_pk_i8_i32   u32 = i32 i32 u32 : ((u32)limited(a >> (c & 31), -128, 127) & 255) | ((u32)limited(b >> (c & 31), -128, 127) & 255) << 8
v_ashr_pk_u8_i32   u32 = i32 i32 u32 : (u32)limited(a >> (c & 31), 0, 255) | (u32)limited(b >> (c & 31), 0, 255) << 8
v_bitop3_b32       u32 = u32 u32 u32 : d = 0; for (int n = 0; n < 8; n++) if (TRUTH >> n & 1) d |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
v_prng_b32         u32 = u32 : a << 1 ^ (a >> 31 ? 197u : 0u)
v_bitop3_b16       u16 = u16 u16 u16 : d = 0; for (int n = 0; n < 8; n++) if (TRUTH >> n & 1) d |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
""")
