"""Vector arithmetic in f32, f64 and f16 (CDNA3 ISA, chapters 12.7 to 12.10).

Transcendental functions are correctly rounded here; hardware's are within 1 ulp (sin and cos: 2^-17
absolute), so that a result in the last place may differ. Denormals are kept, as kernels ask for.
"""

from __future__ import annotations

from dslc.runtime.hip_emulator.instructions.table import Entry, read_table

_FIXED = """
v_sub_f32          f32 = f32 f32 : a - b
v_subrev_f32       f32 = f32 f32 : b - a
v_mul_legacy_f32   f32 = f32 f32 : a == 0 || b == 0 ? 0.f : a * b
v_min_f32          f32 = f32 f32 : min_f32(a, b)
v_max_f32          f32 = f32 f32 : max_f32(a, b)
v_min3_f32         f32 = f32 f32 f32 : min_f32(min_f32(a, b), c)
v_max3_f32         f32 = f32 f32 f32 : max_f32(max_f32(a, b), c)
v_med3_f32         f32 = f32 f32 f32 : med3_f32(a, b, c)
v_minimum3_f32     f32 = f32 f32 f32 : a != a || b != b || c != c ? NAN : min_f32(min_f32(a, b), c)
v_maximum3_f32     f32 = f32 f32 f32 : a != a || b != b || c != c ? NAN : max_f32(max_f32(a, b), c)
v_fma_f32          f32 = f32 f32 f32 : fmaf(a, b, c)
v_fmac_f32         f32 = f32 f32 ~f32 : fmaf(a, b, c)
v_fmaak_f32        f32 = f32 f32 f32 : fmaf(a, b, c)
v_fmamk_f32        f32 = f32 f32 f32 : fmaf(a, b, c)
v_rcp_f32          f32 = f32 : rcp_f32(a)
v_rcp_iflag_f32    f32 = f32 : rcp_f32(a)
v_rsq_f32          f32 = f32 : rsq_f32(a)
v_sqrt_f32         f32 = f32 : sqrtf(flushed(a))
v_exp_f32          f32 = f32 : exp_f32(a)
v_log_f32          f32 = f32 : log_f32(a)
v_exp_legacy_f32   f32 = f32 : exp_f32(a)
v_log_legacy_f32   f32 = f32 : log_f32(a)
v_sin_f32          f32 = f32 : sin_turns(a)
v_cos_f32          f32 = f32 : cos_turns(a)
v_fract_f32        f32 = f32 : const float x = a - floorf(a); d = x >= 1 ? 0x1.fffffep-1f : x
v_trunc_f32        f32 = f32 : truncf(a)
v_ceil_f32         f32 = f32 : ceilf(a)
v_rndne_f32        f32 = f32 : rintf(a)
v_floor_f32        f32 = f32 : floorf(a)
v_ldexp_f32        f32 = f32 i32 : ldexpf(a, b)
v_frexp_mant_f32   f32 = f32 : int x; d = isinf(a) ? a : frexpf(a, &x)
v_frexp_exp_i32_f32 i32 = f32 : int x = 0; if (!isinf(a) && a == a) frexpf(a, &x); d = x
v_div_scale_f32    f32 mask = f32 f32 f32 : bool x; d = div_scale_f32(a, b, c, &x); e = x
v_div_fmas_f32     f32 = f32 f32 f32 +vcc : div_fmas_f32(a, b, c, g)
v_div_fixup_f32    f32 = f32 f32 f32 : div_fixup_f32(a, b, c)
v_add_f64          f64 = f64 f64 : a + b
v_mul_f64          f64 = f64 f64 : a * b
v_fma_f64          f64 = f64 f64 f64 : fma(a, b, c)
v_fmac_f64         f64 = f64 f64 ~f64 : fma(a, b, c)
v_min_f64          f64 = f64 f64 : a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b
v_max_f64          f64 = f64 f64 : a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b
v_rcp_f64          f64 = f64 : 1. / a
v_rsq_f64          f64 = f64 : 1. / sqrt(a)
v_sqrt_f64         f64 = f64 : sqrt(a)
v_trunc_f64        f64 = f64 : trunc(a)
v_ceil_f64         f64 = f64 : ceil(a)
v_rndne_f64        f64 = f64 : rint(a)
v_floor_f64        f64 = f64 : floor(a)
v_fract_f64        f64 = f64 : fract(a)
v_ldexp_f64        f64 = f64 i32 : ldexp(a, b)
v_frexp_mant_f64   f64 = f64 : int x; d = isinf(a) ? a : frexp(a, &x)
v_frexp_exp_i32_f64 i32 = f64 : int x = 0; if (!isinf(a) && a == a) frexp(a, &x); d = x
v_div_scale_f64    f64 mask = f64 f64 f64 : bool x; d = div_scale_f64(a, b, c, &x); e = x
v_div_fmas_f64     f64 = f64 f64 f64 +vcc : div_fmas_f64(a, b, c, g)
v_div_fixup_f64    f64 = f64 f64 f64 : div_fixup_f64(a, b, c)
v_add_f32          f32 = f32 f32 : a + b
v_mul_f32          f32 = f32 f32 : a * b
v_add_f16          f16 = f16 f16 : a + b
v_sub_f16          f16 = f16 f16 : a - b
v_subrev_f16       f16 = f16 f16 : b - a
v_mul_f16          f16 = f16 f16 : a * b
v_fma_f16          f16 = f16 f16 f16 : odd_f32((double)a * b + c)
v_mad_f16          f16 = f16 f16 f16 : f16_of(bits_f16(a * b)) + c
v_mac_f16          f16 = f16 f16 ~f16 : f16_of(bits_f16(a * b)) + c
v_min_f16          f16 = f16 f16 : min_f32(a, b)
v_max_f16          f16 = f16 f16 : max_f32(a, b)
v_min3_f16         f16 = f16 f16 f16 : min_f32(min_f32(a, b), c)
v_max3_f16         f16 = f16 f16 f16 : max_f32(max_f32(a, b), c)
v_med3_f16         f16 = f16 f16 f16 : med3_f32(a, b, c)
v_rcp_f16          f16 = f16 : odd_f32(1. / a)
v_rsq_f16          f16 = f16 : odd_f32(1. / sqrt((double)a))
v_sqrt_f16         f16 = f16 : odd_f32(sqrt((double)a))
v_exp_f16          f16 = f16 : odd_f32(exp2((double)a))
v_log_f16          f16 = f16 : odd_f32(log2((double)a))
v_sin_f16          f16 = f16 : sin_turns(a)
v_cos_f16          f16 = f16 : cos_turns(a)
v_fract_f16        f16 = f16 : a - floorf(a)
v_trunc_f16        f16 = f16 : truncf(a)
v_ceil_f16         f16 = f16 : ceilf(a)
v_rndne_f16        f16 = f16 : rintf(a)
v_floor_f16        f16 = f16 : floorf(a)
v_ldexp_f16        f16 = f16 i16 : odd_f32(ldexp((double)a, b))
v_frexp_mant_f16   f16 = f16 : int x; d = isinf(a) ? a : frexpf(a, &x)
v_frexp_exp_i16_f16 i16 = f16 : int x = 0; if (!isinf(a) && a == a) frexpf(a, &x); d = (i16)x
v_div_fixup_f16    f16 = f16 f16 f16 : div_fixup_f32(a, b, c)
"""

TABLE: dict[str, Entry] = read_table(_FIXED)
