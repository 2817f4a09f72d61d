"""Packed instructions, VOP3P: two halves of a register, or two registers (CDNA3 ISA, 12.10).

A line gives what one half computes. Which half each source gives to the low result is `op_sel`, to the
high one `op_sel_hi`; `neg_lo` and `neg_hi` are the signs.
"""

from __future__ import annotations

from dslc.runtime.hip_emulator.instructions.table import Entry, read_table

TABLE: dict[str, Entry] = read_table("""
v_pk_add_f16       f16 = f16 f16 : a + b
v_pk_mul_f16       f16 = f16 f16 : a * b
v_pk_fma_f16       f16 = f16 f16 f16 : odd_f32((double)a * b + c)
v_pk_min_f16       f16 = f16 f16 : min_f32(a, b)
v_pk_max_f16       f16 = f16 f16 : max_f32(a, b)
v_pk_minimum3_f16  f16 = f16 f16 f16 : a != a || b != b || c != c ? NAN : min_f32(min_f32(a, b), c)
v_pk_maximum3_f16  f16 = f16 f16 f16 : a != a || b != b || c != c ? NAN : max_f32(max_f32(a, b), c)
v_pk_add_u16       u16 = u16 u16 : (u16)(a + b)
v_pk_add_u16.clamp u16 = u16 u16 : a + b > 0xffff ? 0xffff : (u16)(a + b)
v_pk_sub_u16       u16 = u16 u16 : (u16)(a - b)
v_pk_sub_u16.clamp u16 = u16 u16 : a > b ? (u16)(a - b) : 0
v_pk_add_i16       i16 = i16 i16 : (i16)(a + b)
v_pk_add_i16.clamp i16 = i16 i16 : (i16)limited((i64)a + b, -32768, 32767)
v_pk_sub_i16       i16 = i16 i16 : (i16)(a - b)
v_pk_sub_i16.clamp i16 = i16 i16 : (i16)limited((i64)a - b, -32768, 32767)
v_pk_mul_lo_u16    u16 = u16 u16 : (u16)((u32)a * b)
v_pk_mad_u16       u16 = u16 u16 u16 : (u16)((u32)a * b + c)
v_pk_mad_i16       i16 = i16 i16 i16 : (i16)(a * b + c)
v_pk_min_u16       u16 = u16 u16 : a < b ? a : b
v_pk_max_u16       u16 = u16 u16 : a > b ? a : b
v_pk_min_i16       i16 = i16 i16 : a < b ? a : b
v_pk_max_i16       i16 = i16 i16 : a > b ? a : b
v_pk_lshlrev_b16   u16 = u16 u16 : (u16)(b << (a & 15))
v_pk_lshrrev_b16   u16 = u16 u16 : (u16)(b >> (a & 15))
v_pk_ashrrev_i16   i16 = u16 i16 : (i16)(b >> (a & 15))
v_pk_add_f32       f32 = f32 f32 : a + b
v_pk_mul_f32       f32 = f32 f32 : a * b
v_pk_fma_f32       f32 = f32 f32 f32 : fmaf(a, b, c)
v_pk_mov_b32       b32 = b32 b32 : a
""")
