// Values of one lane, as the expressions of the instruction tables use them.
#pragma once
#include <math.h>
#include "machine.h"

static inline float f32_of(u32 x) { float f; memcpy(&f, &x, 4); return f; }
static inline u32 bits_f32(float f) { u32 x; memcpy(&x, &f, 4); return x; }
static inline double f64_of(u64 x) { double f; memcpy(&f, &x, 8); return f; }
static inline u64 bits_f64(double f) { u64 x; memcpy(&x, &f, 8); return x; }

static inline float f16_of(u32 h) {
  h &= 0xffff;
  const u32 sign = (h & 0x8000) << 16, rest = h & 0x7fff;
  // 2^112 moves the exponent's bias, and makes normal numbers of subnormal ones.
  const float scaled = f32_of(rest << 13) * 0x1p112f;
  const u32 normal = bits_f32(scaled);
  const u32 special = 0x7f800000 | (rest & 0x3ff) << 13;
  return f32_of(sign | (rest >= 0x7c00 ? special : normal));
}

// f32 to f16, to the nearest, ties to even.
static inline u32 bits_f16(float f) {
  const u32 x = bits_f32(f), sign = x >> 16 & 0x8000, a = x & 0x7fffffff;
  const u32 subnormal = bits_f32(f32_of(a) + 0.5f) - 0x3f000000;  // the sum rounds at 2^-24
  const u32 normal = (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13;
  u32 h = a < 0x38800000 ? subnormal : normal;
  h = a >= 0x477ff000 ? 0x7c00 : h;
  h = a > 0x7f800000 ? 0x7e00 | (a >> 13 & 0x3ff) : h;
  return sign | h;
}

// f64 to f32 so that a second rounding gives what one would: inexact results become odd.
static inline float odd_f32(double d) {
  float f = (float)d;
  if ((double)f != d && d == d && !isinf(f)) {
    u32 x = bits_f32(f);
    if (fabs((double)f) > fabs(d)) x -= 1;
    f = f32_of(x | 1);
  }
  return f;
}

static inline u32 f16_toward_zero(float f) {
  const u32 h = bits_f16(f);
  return fabsf(f16_of(h)) > fabsf(f) && f == f ? h - 1 : h;
}

static inline float bf16_of(u32 b) { return f32_of(b << 16); }
static inline u32 bits_bf16(float f) {
  const u32 x = bits_f32(f);
  return f != f ? x >> 16 | 0x40 : (x + 0x7fff + (x >> 16 & 1)) >> 16;
}

// Small floats: exponent and mantissa bits, bias; `special` says what the largest codes are.
enum Special { FINITE, FNUZ, OCP_E4M3, IEEE };

static inline float small_of(u32 x, int e, int m, int bias, int special) {
  const u32 man = x & ((1u << m) - 1), ex = x >> m & ((1u << e) - 1);
  const float sign = x >> (e + m) & 1 ? -1.f : 1.f;
  if (special == FNUZ && x == 0x80) return NAN;
  if (special == OCP_E4M3 && (x & 0x7f) == 0x7f) return NAN;
  if (special == IEEE && ex == (1u << e) - 1) return man ? NAN : sign * INFINITY;
  return sign * (ex ? ldexpf((float)((1u << m) + man), (int)ex - bias - m)
                    : ldexpf((float)man, 1 - bias - m));
}

// To the nearest, ties to even. Past the largest: it, where `saturates`, else NaN or infinity.
static inline u32 bits_small(float f, int e, int m, int bias, int special, bool saturates) {
  const u32 sign = (bits_f32(f) >> 31) << (e + m);
  const u32 nan = special == FNUZ ? 0x80 : special == IEEE ? sign | 0x7e | (m == 2) : sign | 0x7f;
  if (special != FINITE && f != f) return nan;
  u32 top = (1u << (e + m)) - 1;  // the largest finite code
  if (special == OCP_E4M3) top -= 1;
  if (special == IEEE) top -= 1u << m;
  const float a = fabsf(f), most = small_of(top, e, m, bias, special);
  if (f != f) return sign | top;
  int ex;
  frexpf(a, &ex);
  ex = ex - 1 < 1 - bias ? 1 - bias : ex - 1;
  const float step = ldexpf(1.f, ex - m), r = rintf(a / step) * step;
  if (isinf(f) || r > most) {
    if (special == FINITE || saturates) return sign | top;
    return special == IEEE ? sign | (top + 1) : nan;
  }
  if (r == 0) return special == FNUZ ? 0 : sign;
  frexpf(r, &ex);
  if (ex - 1 < 1 - bias) return sign | (u32)ldexpf(r, m - (1 - bias));
  return sign | (u32)(ex - 1 + bias) << m |
         ((u32)ldexpf(r, m - (ex - 1)) & ((1u << m) - 1));
}

// gfx942 reads fp8 and bf8 as FNUZ, gfx950 as OCP.
#ifdef OCP
static inline float fp8_of(u32 x) { return small_of(x & 255, 4, 3, 7, OCP_E4M3); }
static inline float bf8_of(u32 x) { return small_of(x & 255, 5, 2, 15, IEEE); }
static inline u32 bits_fp8(float f) { return bits_small(f, 4, 3, 7, OCP_E4M3, false); }
static inline u32 bits_bf8(float f) { return bits_small(f, 5, 2, 15, IEEE, false); }
#else
static inline float fp8_of(u32 x) { return small_of(x & 255, 4, 3, 8, FNUZ); }
static inline float bf8_of(u32 x) { return small_of(x & 255, 5, 2, 16, FNUZ); }
static inline u32 bits_fp8(float f) { return bits_small(f, 4, 3, 8, FNUZ, false); }
static inline u32 bits_bf8(float f) { return bits_small(f, 5, 2, 16, FNUZ, false); }
#endif
static inline float fp6_of(u32 x) { return small_of(x & 63, 2, 3, 1, FINITE); }
static inline float bf6_of(u32 x) { return small_of(x & 63, 3, 2, 3, FINITE); }
static inline float fp4_of(u32 x) { return small_of(x & 15, 2, 1, 1, FINITE); }
static inline u32 bits_fp4(float f) { return bits_small(f, 2, 1, 1, FINITE, true); }
static inline u32 bits_fp6(float f) { return bits_small(f, 2, 3, 1, FINITE, true); }
static inline u32 bits_bf6(float f) { return bits_small(f, 3, 2, 3, FINITE, true); }
static inline float e8m0_of(u32 x) { return (x & 255) == 255 ? NAN : ldexpf(1.f, (int)(x & 255) - 127); }

// A NaN gives way to a number, and -0 is below +0.
static inline float min_f32(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  return a < b || (a == b && bits_f32(a) >> 31) ? a : b;
}
static inline float max_f32(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  return a > b || (a == b && !(bits_f32(a) >> 31)) ? a : b;
}
static inline float med3_f32(float a, float b, float c) {
  if (a != a || b != b || c != c) return min_f32(min_f32(a, b), c);
  return max_f32(min_f32(a, b), min_f32(max_f32(a, b), c));
}
static inline float unit(float x) { return x > 0 ? (x < 1 ? x : 1.f) : 0.f; }  // NaN becomes 0

// The units of transcendental functions take and give no subnormal numbers.
static inline float flushed(float f) {
  return fabsf(f) < 0x1p-126f ? copysignf(0.f, f) : f;
}
static inline float rcp_f32(float x) { return flushed(1.f / flushed(x)); }
static inline float rsq_f32(float x) { return flushed((float)(1. / sqrt((double)flushed(x)))); }
static inline float exp_f32(float x) { return flushed((float)exp2((double)flushed(x))); }
static inline float log_f32(float x) { return (float)log2((double)flushed(x)); }
static inline float sin_turns(float x) { return (float)sin((double)x * 6.283185307179586477); }
static inline float cos_turns(float x) { return (float)cos((double)x * 6.283185307179586477); }
static inline double fract(double x) { const double r = x - floor(x); return r >= 1 ? 1 - 0x1p-53 : r; }

static inline i32 int_of(double f) {  // toward zero, saturating; NaN becomes 0
  return f != f ? 0 : f <= -2147483648. ? INT32_MIN : f >= 2147483647. ? INT32_MAX : (i32)f;
}
static inline u32 uint_of(double f) {
  return !(f > 0) ? 0 : f >= 4294967295. ? UINT32_MAX : (u32)f;
}
static inline i32 limited(i64 x, i64 least, i64 most) {
  return (i32)(x < least ? least : x > most ? most : x);
}
static inline i32 sext(u32 x, int bits) { return (i32)(x << (32 - bits)) >> (32 - bits); }
static inline i32 i24(u32 x) { return sext(x, 24); }

static inline u32 bfe_u32(u32 x, u32 at, u32 n) {
  at &= 31, n &= 31;
  return n ? x >> at & ((1u << n) - 1) : 0;
}
static inline i32 bfe_i32(u32 x, u32 at, u32 n) {
  at &= 31, n &= 31;
  if (!n) return 0;
  return at + n < 32 ? (i32)(x << (32 - at - n)) >> (32 - n) : (i32)x >> at;
}
static inline u32 perm(u32 high, u32 low, u32 selector) {
  const u64 bytes = (u64)high << 32 | low;
  u32 r = 0;
  for (int b = 0; b < 4; b++) {
    const u32 s = selector >> 8 * b & 255;
    u32 x = s < 8 ? bytes >> 8 * s & 255 : s >= 13 ? 255 : s == 12 ? 0 : 0;
    if (s >= 8 && s < 12) x = bytes >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
    r |= x << 8 * b;
  }
  return r;
}
static inline u32 reversed(u32 x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(x);
}
static inline u32 leading(u32 x) { return x ? (u32)__builtin_clz(x) : 0xffffffff; }
static inline u32 trailing(u32 x) { return x ? (u32)__builtin_ctz(x) : 0xffffffff; }
static inline u32 sad_u8(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8) {
    const i32 d = (i32)(a >> i & 255) - (i32)(b >> i & 255);
    c += (u32)(d < 0 ? -d : d);
  }
  return c;
}

// The classes of v_cmp_class, a bit each.
static inline bool in_class(double x, bool quiet, double least, u32 mask) {
  const bool s = signbit(x);
  int bit;
  if (x != x) bit = quiet ? 1 : 0;
  else if (isinf(x)) bit = s ? 2 : 9;
  else if (x == 0) bit = s ? 5 : 6;
  else if (fabs(x) < least) bit = s ? 4 : 7;
  else bit = s ? 3 : 8;
  return mask >> bit & 1;
}
