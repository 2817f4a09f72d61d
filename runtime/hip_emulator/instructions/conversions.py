"""Conversions between types, small floats included (CDNA3 ISA, 12.7 and 12.10; CDNA4 ISA, 12.10).

gfx942 takes fp8 and bf8 as FNUZ, gfx950 as OCP: lanes.h has both.
"""

# ruff: noqa: E501 - an instruction is a line of a table

from __future__ import annotations

from dslc.runtime.hip_emulator.instructions.table import Entry, read_table

_FIXED = """
v_cvt_f32_i32      f32 = i32 : (float)a
v_cvt_f32_u32      f32 = u32 : (float)a
v_cvt_i32_f32      i32 = f32 : int_of(a)
v_cvt_u32_f32      u32 = f32 : uint_of(a)
v_cvt_rpi_i32_f32  i32 = f32 : int_of(floor((double)a + 0.5))
v_cvt_flr_i32_f32  i32 = f32 : int_of(floor((double)a))
v_cvt_f16_f32      f16 = f32 : a
v_cvt_f32_f16      f32 = f16 : a
v_cvt_f64_f32      f64 = f32 : a
v_cvt_f32_f64      f32 = f64 : (float)a
v_cvt_f64_i32      f64 = i32 : a
v_cvt_f64_u32      f64 = u32 : a
v_cvt_i32_f64      i32 = f64 : int_of(a)
v_cvt_u32_f64      u32 = f64 : uint_of(a)
v_cvt_f16_u16      f16 = u16 : a
v_cvt_f16_i16      f16 = i16 : a
v_cvt_u16_f16      u16 = f16 : !(a > 0) ? 0 : a > 65535.f ? 65535 : (u16)a
v_cvt_i16_f16      i16 = f16 : a != a ? 0 : (i16)limited(int_of(a), -32768, 32767)
v_cvt_f32_ubyte0   f32 = u32 : (float)(a & 255)
v_cvt_f32_ubyte1   f32 = u32 : (float)(a >> 8 & 255)
v_cvt_f32_ubyte2   f32 = u32 : (float)(a >> 16 & 255)
v_cvt_f32_ubyte3   f32 = u32 : (float)(a >> 24)
v_cvt_pkrtz_f16_f32 u32 = f32 f32 : f16_toward_zero(a) | f16_toward_zero(b) << 16
v_cvt_pk_u16_u32   u32 = u32 u32 : (a > 65535 ? 65535 : a) | (b > 65535 ? 65535 : b) << 16
v_cvt_pk_i16_i32   u32 = i32 i32 : ((u32)limited(a, -32768, 32767) & 65535) | (u32)limited(b, -32768, 32767) << 16
v_cvt_pknorm_i16_f32 u32 = f32 f32 : ((u32)limited(int_of(rint(a * 32767.)), -32767, 32767) & 65535) | (u32)limited(int_of(rint(b * 32767.)), -32767, 32767) << 16
v_cvt_pknorm_u16_f32 u32 = f32 f32 : uint_of(rint(unit(a) * 65535.)) | uint_of(rint(unit(b) * 65535.)) << 16
v_cvt_pk_u8_f32    u32 = f32 u32 u32 : const u32 at = 8 * (b & 3); d = (c & ~(255u << at)) | (u32)limited(uint_of(a) > 255 ? 255 : uint_of(a), 0, 255) << at
v_cvt_pk_bf16_f32  u32 = f32 f32 : bits_bf16(a) | bits_bf16(b) << 16
v_cvt_pk_f16_f32   u32 = f32 f32 : bits_f16(a) | bits_f16(b) << 16
v_cvt_f32_bf16     f32 = bf16 : a
v_cvt_f32_fp8      f32 = u32 : fp8_of(a)
v_cvt_f32_bf8      f32 = u32 : bf8_of(a)
v_cvt_off_f32_i4   f32 = u32 : sext(a, 4) / 16.f
"""

# Two floats to a word's half, which op_sel chooses; the other half is kept. The way back takes a half by SDWA.
_TO_SMALL = "\n".join(
    f"v_cvt_pk_{t}_f32 u32 = f32 f32 ~u32 : const u32 x = bits_{t}(a) | bits_{t}(b) << 8; "
    "d = TO_WORD ? (c & 0xffff) | x << 16 : (c & 0xffff0000) | x"
    for t in ("fp8", "bf8")
)
_FROM_SMALL = "\n".join(
    f"v_cvt_pk_f32_{t} u64 = u32 : const u32 x = a; "
    f"d = bits_f32({t}_of(x)) | (u64)bits_f32({t}_of(x >> 8)) << 32"
    for t in ("fp8", "bf8")
)


def _scaled() -> str:
    """gfx950: small floats with a factor 2^n that the exponent of an f32 operand gives."""
    lines = []
    factor = "const float s = e8m0_of(bits_f32(SCALE) >> 23 & 255); "
    for small in ("fp8", "bf8", "fp4"):
        bits = 4 if small == "fp4" else 8
        part = "a >> 8 * FROM_BYTE" if bits == 4 else "a >> 16 * FROM_WORD"
        pair = f"{small}_of(x & {2**bits - 1}), q = {small}_of(x >> {bits})"
        lines.append(
            f"v_cvt_scalef32_pk_f32_{small} u64 = u32 f32 : {factor.replace('SCALE', 'b')}"
            f"const u32 x = {part}; const float p = {pair}; "
            "d = bits_f32(p * s) | (u64)bits_f32(q * s) << 32"
        )
        for wide in ("f16", "bf16"):
            lines.append(
                f"v_cvt_scalef32_pk_{wide}_{small} u32 = u32 f32 : {factor.replace('SCALE', 'b')}"
                f"const u32 x = {part}; const float p = {pair}; "
                f"d = bits_{wide}(p * s) | bits_{wide}(q * s) << 16"
            )
        put = f"const u32 y = bits_{small}(p / s) | bits_{small}(q / s) << {bits}; "
        place = "8 * TO_BYTE" if bits == 4 else "16 * TO_WORD"
        put += f"d = (OLD & ~({0xFF if bits == 4 else 0xFFFF}u << {place})) | y << {place}"
        lines.append(
            f"v_cvt_scalef32_pk_{small}_f32 u32 = f32 f32 f32 ~u32 : "
            f"{factor.replace('SCALE', 'c')}const float p = a, q = b; {put.replace('OLD', 'g')}"
        )
        for wide in ("f16", "bf16"):
            lines.append(
                f"v_cvt_scalef32_pk_{small}_{wide} u32 = u32 f32 ~u32 : "
                f"{factor.replace('SCALE', 'b')}const float p = {wide}_of(a & 0xffff), "
                f"q = {wide}_of(a >> 16); {put.replace('OLD', 'c')}"
            )
    return "\n".join(lines)


TABLE: dict[str, Entry] = read_table(f"{_FIXED}\n{_TO_SMALL}\n{_FROM_SMALL}\n{_scaled()}")
