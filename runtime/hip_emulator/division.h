// The steps of a division that begin and end it; between them are plain FMAs.
#pragma once
#include "lanes.h"

// Scales the numerator or denominator of an f32 division so that no step over- or underflows.
// s0 is the value that is scaled: s1 the denominator, s2 the numerator. `*flag` asks div_fmas to
// scale back.
static inline float div_scale_f32(float s0, float s1, float s2, bool *flag) {
  int e1, e2;
  frexpf(s1, &e1), frexpf(s2, &e2);
  const bool denormal1 = s1 != 0 && fabsf(s1) < 0x1p-126f;
  const bool tiny_reciprocal = fabs(1. / (double)s1) < 0x1p-126;
  const double quotient = (double)s2 / (double)s1;
  const bool tiny_quotient = quotient != 0 && fabs(quotient) < 0x1p-126;
  *flag = false;
  if (s2 == 0 || s1 == 0) return NAN;
  if (e2 - e1 >= 96) {
    *flag = true;
    return bits_f32(s0) == bits_f32(s1) ? ldexpf(s0, 64) : s0;
  }
  if (denormal1) return ldexpf(s0, 64);
  if (tiny_reciprocal && tiny_quotient) {
    *flag = true;
    return bits_f32(s0) == bits_f32(s1) ? ldexpf(s0, 64) : s0;
  }
  if (tiny_reciprocal) return ldexpf(s0, -64);
  if (tiny_quotient) {
    *flag = true;
    return bits_f32(s0) == bits_f32(s2) ? ldexpf(s0, 64) : s0;
  }
  if (e2 <= -103) return ldexpf(s0, 64);
  return s0;
}
static inline float div_fmas_f32(float a, float b, float c, bool flag) {
  const float r = fmaf(a, b, c);
  if (!flag) return r;
  return fabsf(c) >= 2.f ? ldexpf(r, 64) : ldexpf(r, -64);
}
static inline float div_fixup_f32(float q, float d, float n) {
  const bool negative = signbit(d) != signbit(n);
  const float sign = negative ? -1.f : 1.f;
  if (n != n) return n;
  if (d != d) return d;
  if (n == 0 && d == 0) return NAN;
  if (isinf(n) && isinf(d)) return NAN;
  if (d == 0 || isinf(n)) return sign * INFINITY;
  if (isinf(d) || n == 0) return sign * 0.f;
  return copysignf(q, sign);
}

static inline double div_scale_f64(double s0, double s1, double s2, bool *flag) {
  int e1, e2;
  frexp(s1, &e1), frexp(s2, &e2);
  *flag = false;
  if (s2 == 0 || s1 == 0) return NAN;
  if (e2 - e1 >= 768) {
    *flag = true;
    return bits_f64(s0) == bits_f64(s1) ? ldexp(s0, 128) : s0;
  }
  if (fabs(s1) < 0x1p-1022) return ldexp(s0, 128);
  const bool tiny_reciprocal = fabs(1. / s1) < 0x1p-1022;
  const bool tiny_quotient = e2 - e1 < -1021;
  if (tiny_reciprocal && tiny_quotient) {
    *flag = true;
    return bits_f64(s0) == bits_f64(s1) ? ldexp(s0, 128) : s0;
  }
  if (tiny_reciprocal) return ldexp(s0, -128);
  if (tiny_quotient) {
    *flag = true;
    return bits_f64(s0) == bits_f64(s2) ? ldexp(s0, 128) : s0;
  }
  if (e2 <= -969) return ldexp(s0, 128);
  return s0;
}
static inline double div_fmas_f64(double a, double b, double c, bool flag) {
  const double r = fma(a, b, c);
  return !flag ? r : fabs(c) >= 2. ? ldexp(r, 128) : ldexp(r, -128);
}
static inline double div_fixup_f64(double q, double d, double n) {
  const double sign = signbit(d) != signbit(n) ? -1. : 1.;
  if (n != n) return n;
  if (d != d) return d;
  if ((n == 0 && d == 0) || (isinf(n) && isinf(d))) return NAN;
  if (d == 0 || isinf(n)) return sign * INFINITY;
  if (isinf(d) || n == 0) return sign * 0.;
  return copysign(q, sign);
}
