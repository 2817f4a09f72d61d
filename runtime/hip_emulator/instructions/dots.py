"""Dot products of packed operands, and mixed-precision FMAs (CDNA3 ISA, 12.10; CDNA4 ISA, 12.10)."""

from __future__ import annotations

from dslc.runtime.hip_emulator.instructions.table import Entry, read_table


def _float_dot(kind: str, accumulator: str) -> str:
    low, high = f"{kind}_of(a & 0xffff)", f"{kind}_of(a >> 16)"
    other = f"{kind}_of(b & 0xffff)", f"{kind}_of(b >> 16)"
    return (
        f"f32 = u32 u32 {accumulator} : "
        f"(float)((double){low} * {other[0]} + (double){high} * {other[1]} + c)"
    )


def _integer_dot(sign: str, bits: int, accumulator: str) -> str:
    take = f"sext(a >> n, {bits}), y = sext(b >> n, {bits})"
    if sign == "u":
        take = f"(i32)(a >> n & {2**bits - 1}), y = (i32)(b >> n & {2**bits - 1})"
    return (
        f"u32 = u32 u32 {accumulator} : d = c; for (int n = 0; n < 32; n += {bits}) "
        f"{{ const i32 x = {take}; d += (u32)(x * y); }}"
    )


def _lines() -> str:
    lines = [
        "v_dot2_f32_f16 " + _float_dot("f16", "f32"),
        "v_dot2_f32_bf16 " + _float_dot("bf16", "f32"),
        "v_dot2c_f32_f16 " + _float_dot("f16", "~f32"),
        "v_dot2c_f32_bf16 " + _float_dot("bf16", "~f32"),
    ]
    for bits in (16, 8, 4):
        for sign in "iu":
            name = f"{sign}32_{sign}{bits}"
            lines.append(f"v_dot{32 // bits}_{name} " + _integer_dot(sign, bits, "u32"))
        signed = f"v_dot{32 // bits}c_i32_i{bits} "
        lines.append(signed + _integer_dot("i", bits, "~u32"))
    return "\n".join(lines)


TABLE: dict[str, Entry] = read_table(_lines())

# Each source is an f32, or one half of a register where op_sel_hi says so.
MIXED: dict[str, Entry] = read_table("""
v_fma_mix_f32      f32 = f32 f32 f32 : fmaf(a, b, c)
v_fma_mixlo_f16    f16 = f32 f32 f32 : odd_f32(fma((double)a, b, c))
v_fma_mixhi_f16    f16 = f32 f32 f32 : odd_f32(fma((double)a, b, c))
""")
