// Functions that emitted HIP uses, beside those of c_family/functions.h, in the same form. They use
// the compiler's builtins alone, so that a text needs neither headers nor device libraries.

DEVICE unsigned thread_index() { return __builtin_amdgcn_workitem_id_x(); }

DEVICE unsigned block_index() { return __builtin_amdgcn_workgroup_id_x(); }

// What the block wrote to memory before is seen by all of it after. The fence waits for writes to LDS; a
// read that nobody waited for yet must have happened too (0xc07f: lgkmcnt(0) alone).
DEVICE void block_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_waitcnt(0xc07f);
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// What was written before is seen by other blocks that see what is written after.
DEVICE void device_fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }

template <class T> DEVICE T least(T a, T b) { return a < b ? a : b; }

template <class T> DEVICE T greatest(T a, T b) { return a > b ? a : b; }

// The word of the lane whose number differs in one bit: within rows of 16 lanes by DPP, in halves of
// the wave by a swizzle, and across them by way of the crossbar of LDS.
template <int D> DEVICE int exchange(int x) {
  if constexpr (D == 1) return __builtin_amdgcn_update_dpp(x, x, 0xb1, 0xf, 0xf, false);
  else if constexpr (D == 2) return __builtin_amdgcn_update_dpp(x, x, 0x4e, 0xf, 0xf, false);
  else if constexpr (D == 4) {
    const int turned = __builtin_amdgcn_update_dpp(x, x, 0x141, 0xf, 0xf, false);
    return __builtin_amdgcn_update_dpp(turned, turned, 0x1b, 0xf, 0xf, false);
  }
  else if constexpr (D == 8) return __builtin_amdgcn_update_dpp(x, x, 0x128, 0xf, 0xf, false);
  else if constexpr (D == 16) return __builtin_amdgcn_ds_swizzle(x, 0x401f);
  else return __builtin_amdgcn_ds_bpermute((__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)) ^ D) << 2, x);
}

// The same of any type: a flag as an int.
template <int D, class T> DEVICE T shuffle_xor(T x) {
  if constexpr (sizeof(T) < 4) {
    return (T)exchange<D>((int)x);
  } else {
    constexpr int words = sizeof(T) / 4;
    struct Words { int w[words]; } v = __builtin_bit_cast(Words, x);
#pragma unroll
    for (int i = 0; i < words; ++i) v.w[i] = exchange<D>(v.w[i]);
    return __builtin_bit_cast(T, v);
  }
}

DEVICE float as_f32(unsigned x) { return __builtin_bit_cast(float, x); }

DEVICE unsigned bits_f32(float x) { return __builtin_bit_cast(unsigned, x); }

DEVICE double as_f64(long long x) { return __builtin_bit_cast(double, x); }

// Operations that round by themselves: the text forbids contraction.
DEVICE float add_f32(float a, float b) { return a + b; }

DEVICE float sub_f32(float a, float b) { return a - b; }

DEVICE float mul_f32(float a, float b) { return a * b; }

DEVICE double add_f64(double a, double b) { return a + b; }

DEVICE double sub_f64(double a, double b) { return a - b; }

DEVICE double mul_f64(double a, double b) { return a * b; }

DEVICE float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

DEVICE double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }

// NaN wins, as in NumPy.
DEVICE float fmin_nan(float a, float b) { return a != a || a < b ? a : b; }

DEVICE float fmax_nan(float a, float b) { return a != a || a > b ? a : b; }

DEVICE float min_f32(float a, float b) { return __builtin_fminf(a, b); }

DEVICE float max_f32(float a, float b) { return __builtin_fmaxf(a, b); }

DEVICE float abs_f32(float x) { return __builtin_fabsf(x); }

DEVICE float floor_f32(float x) { return __builtin_floorf(x); }

DEVICE float ceil_f32(float x) { return __builtin_ceilf(x); }

DEVICE float rint_f32(float x) { return __builtin_rintf(x); }

DEVICE float sqrt_f32(float x) { return __builtin_sqrtf(x); }

// The instruction takes numbers below 2^-126 for 0.
DEVICE float rsqrt_f32(float x) {
  const bool small = x < 0x1p-126f;
  return __builtin_amdgcn_rsqf(small ? x * 0x1p24f : x) * (small ? 0x1p12f : 1.0f);
}

DEVICE float exp_f32(float x) { return __builtin_expf(x); }

DEVICE float exp2_f32(float x) { return __builtin_exp2f(x); }

DEVICE float log_f32(float x) { return __builtin_logf(x); }

DEVICE float log2_f32(float x) { return __builtin_log2f(x); }

// One instruction: results below 2^-126 are 0.
DEVICE float exp2_ftz(float x) { return __builtin_amdgcn_exp2f(x); }

// The reciprocal is within one place in the last: a division that rounds right is many instructions.
DEVICE float sigmoid_f32(float x) { return __builtin_amdgcn_rcpf(1.0f + exp_f32(-x)); }

// x - trunc(x / y) y, exact while the quotient has no more bits than a double.
DEVICE double mod_f64(double x, double y) {
  const double a = __builtin_fabs(x), b = __builtin_fabs(y);
  if (!(a < __builtin_inf()) || !(b > 0.0)) return __builtin_nan("");
  if (a < b) return x;
  double r = __builtin_fma(-__builtin_trunc(a / b), b, a);
  if (r < 0.0) r += b;
  if (r >= b) r -= b;
  return x < 0.0 ? -r : r;
}

DEVICE float mod_f32(float x, float y) { return (float)mod_f64(x, y); }

// x less the nearest multiple of pi/2, in three parts of pi/2; which quarter it is in `quarter`.
DEVICE double quarter_turns(double x, int& quarter) {
  const double k = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  quarter = (int)(long long)(k - 4.0 * __builtin_floor(k * 0.25));
  double r = __builtin_fma(-k, 0x1.921fb54442d18p+0, x);
  r = __builtin_fma(-k, 0x1.1a62633145c07p-54, r);
  return __builtin_fma(-k, -0x1.f1976b7ed8fbcp-110, r);
}

DEVICE float sin_quarter(float r) {
  const float s = r * r;
  float p = 2.7173464e-06f;
  p = __builtin_fmaf(p, s, -1.9839202e-04f);
  p = __builtin_fmaf(p, s, 8.333329e-03f);
  p = __builtin_fmaf(p, s, -1.6666667e-01f);
  return __builtin_fmaf(p * s, r, r);
}

DEVICE float cos_quarter(float r) {
  const float s = r * r;
  float p = 2.4379846e-05f;
  p = __builtin_fmaf(p, s, -1.3886618e-03f);
  p = __builtin_fmaf(p, s, 4.1666616e-02f);
  p = __builtin_fmaf(p, s, -0.5f);
  return __builtin_fmaf(p, s, 1.0f);
}

DEVICE float sin_f32(float x) {
  if (!(__builtin_fabsf(x) < __builtin_inff())) return __builtin_nanf("");
  int quarter;
  const float r = (float)quarter_turns(x, quarter);
  const float y = quarter & 1 ? cos_quarter(r) : sin_quarter(r);
  return quarter & 2 ? -y : y;
}

DEVICE float cos_f32(float x) {
  if (!(__builtin_fabsf(x) < __builtin_inff())) return __builtin_nanf("");
  int quarter;
  const float r = (float)quarter_turns(x, quarter);
  const float y = quarter & 1 ? sin_quarter(r) : cos_quarter(r);
  return quarter == 1 || quarter == 2 ? -y : y;
}

DEVICE float tanh_f32(float x) {
  const float a = __builtin_fabsf(x);
  if (a < 0.6f) {
    const float s = x * x;
    float p = -5.607689e-03f;
    p = __builtin_fmaf(p, s, 2.0544905e-02f);
    p = __builtin_fmaf(p, s, -5.3707067e-02f);
    p = __builtin_fmaf(p, s, 1.3330957e-01f);
    p = __builtin_fmaf(p, s, -3.3333254e-01f);
    return __builtin_fmaf(p * s, x, x);
  }
  const float y = 1.0f - 2.0f / (exp_f32(2.0f * a) + 1.0f);
  return __builtin_copysignf(y, x);
}

// Polynomials fitted to erf(x) / x in x^2 below 1 and to -log(erfc(x)) from there to 4.
DEVICE float erf_f32(float x) {
  const float a = __builtin_fabsf(x);
  if (a < 1.0f) {
    const float s = x * x;
    float p = -9.67359e-06f;
    p = __builtin_fmaf(p, s, 1.1268254e-04f);
    p = __builtin_fmaf(p, s, -8.4843964e-04f);
    p = __builtin_fmaf(p, s, 5.2210535e-03f);
    p = __builtin_fmaf(p, s, -2.6865438e-02f);
    p = __builtin_fmaf(p, s, 1.1283783e-01f);
    p = __builtin_fmaf(p, s, -3.7612638e-01f);
    p = __builtin_fmaf(p, s, 1.1283792f);
    return p * x;
  }
  const float t = a > 4.0f ? 4.0f : a;
  float p = 6.5828573e-08f;
  p = __builtin_fmaf(p, t, -3.0952044e-06f);
  p = __builtin_fmaf(p, t, 6.0068793e-05f);
  p = __builtin_fmaf(p, t, -6.7333755e-04f);
  p = __builtin_fmaf(p, t, 5.0210445e-03f);
  p = __builtin_fmaf(p, t, -2.6999498e-02f);
  p = __builtin_fmaf(p, t, 1.1090742e-01f);
  p = __builtin_fmaf(p, t, 6.3108885e-01f);
  p = __builtin_fmaf(p, t, 1.1306045f);
  p = __builtin_fmaf(p, t, -4.0050049e-04f);
  const float y = x != x ? x : 1.0f - exp_f32(-p);
  return __builtin_copysignf(y, x);
}

// Doubles: the machine has no instructions for these.
DEVICE double abs_f64(double x) { return __builtin_fabs(x); }

DEVICE double floor_f64(double x) { return __builtin_floor(x); }

DEVICE double ceil_f64(double x) { return __builtin_ceil(x); }

DEVICE double rint_f64(double x) { return __builtin_rint(x); }

DEVICE double sqrt_f64(double x) { return __builtin_sqrt(x); }

DEVICE double rsqrt_f64(double x) { return 1.0 / __builtin_sqrt(x); }

// 2^k exactly, for k from -1022 to 1023.
DEVICE double power_of_two(int k) { return as_f64((long long)(k + 1023) << 52); }

// exp(r) 2^k with r at most log(2) / 2: a Taylor sum.
DEVICE double exp_parts(double r, double k) {
  double p = 1.0 / 6227020800.0;
  p = __builtin_fma(p, r, 1.0 / 479001600.0);
  p = __builtin_fma(p, r, 1.0 / 39916800.0);
  p = __builtin_fma(p, r, 1.0 / 3628800.0);
  p = __builtin_fma(p, r, 1.0 / 362880.0);
  p = __builtin_fma(p, r, 1.0 / 40320.0);
  p = __builtin_fma(p, r, 1.0 / 5040.0);
  p = __builtin_fma(p, r, 1.0 / 720.0);
  p = __builtin_fma(p, r, 1.0 / 120.0);
  p = __builtin_fma(p, r, 1.0 / 24.0);
  p = __builtin_fma(p, r, 1.0 / 6.0);
  p = __builtin_fma(p, r, 0.5);
  p = __builtin_fma(p, r, 1.0);
  p = __builtin_fma(p, r, 1.0);
  if (k > 1024.0) return __builtin_inf();
  if (k < -1080.0) return 0.0;
  const int first = (int)k / 2;
  return p * power_of_two(first) * power_of_two((int)k - first);
}

DEVICE double exp_f64(double x) {
  if (x != x) return x;
  x = x > 1500.0 ? 1500.0 : x < -1500.0 ? -1500.0 : x;
  const double k = __builtin_rint(x * 0x1.71547652b82fep+0);
  return exp_parts(__builtin_fma(-k, 0x1.abc9e3b39803fp-56, __builtin_fma(-k, 0x1.62e42fefa39efp-1, x)), k);
}

DEVICE double exp2_f64(double x) {
  if (x != x) return x;
  x = x > 2000.0 ? 2000.0 : x < -2000.0 ? -2000.0 : x;
  const double k = __builtin_rint(x);
  return exp_parts((x - k) * 0x1.62e42fefa39efp-1, k);
}

// The exponent, and the logarithm of a mantissa between 2^-1/2 and 2^1/2: 2 atanh((m - 1) / (m + 1)).
DEVICE double log_parts(double x, double& exponent) {
  const bool small = x < 0x1p-1022;
  long long bits = __builtin_bit_cast(long long, small ? x * 0x1p54 : x);
  int k = (int)(bits >> 52) - 1023 - (small ? 54 : 0);
  double m = as_f64((bits & 0xfffffffffffffll) | 0x3ff0000000000000ll);
  if (m > 0x1.6a09e667f3bcdp+0) m *= 0.5, ++k;
  exponent = k;
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 23.0;
#pragma unroll
  for (int n = 21; n >= 3; n -= 2) p = __builtin_fma(p, z, 1.0 / n);
  return 2.0 * __builtin_fma(p * z, s, s);
}

DEVICE double log_f64(double x) {
  if (x == 0.0) return -__builtin_inf();
  if (!(x > 0.0)) return __builtin_nan("");
  if (x == __builtin_inf()) return x;
  double k;
  const double f = log_parts(x, k);
  return __builtin_fma(k, 0x1.62e42fefa39efp-1, __builtin_fma(k, 0x1.abc9e3b39803fp-56, f));
}

DEVICE double log2_f64(double x) {
  if (x == 0.0) return -__builtin_inf();
  if (!(x > 0.0)) return __builtin_nan("");
  if (x == __builtin_inf()) return x;
  double k;
  const double f = log_parts(x, k);
  return __builtin_fma(f, 0x1.71547652b82fep+0, k);
}

// Taylor sums between -pi/4 and pi/4.
DEVICE double sin_quarter_f64(double r) {
  const double z = r * r;
  double p = 0.0, f = 1.0 / 355687428096000.0;
  p = f;
#pragma unroll
  for (int n = 15; n >= 3; n -= 2) {
    f *= -(double)((n + 1) * (n + 2));
    p = __builtin_fma(p, z, f);
  }
  return __builtin_fma(p * z, r, r);
}

DEVICE double cos_quarter_f64(double r) {
  const double z = r * r;
  double f = 1.0 / 20922789888000.0, p = f;
#pragma unroll
  for (int n = 14; n >= 2; n -= 2) {
    f *= -(double)((n + 1) * (n + 2));
    p = __builtin_fma(p, z, f);
  }
  return __builtin_fma(p, z, 1.0);
}

DEVICE double sin_f64(double x) {
  if (!(__builtin_fabs(x) < __builtin_inf())) return __builtin_nan("");
  int quarter;
  const double r = quarter_turns(x, quarter);
  const double y = quarter & 1 ? cos_quarter_f64(r) : sin_quarter_f64(r);
  return quarter & 2 ? -y : y;
}

DEVICE double cos_f64(double x) {
  if (!(__builtin_fabs(x) < __builtin_inf())) return __builtin_nan("");
  int quarter;
  const double r = quarter_turns(x, quarter);
  const double y = quarter & 1 ? sin_quarter_f64(r) : cos_quarter_f64(r);
  return quarter == 1 || quarter == 2 ? -y : y;
}

// Small arguments by a continued fraction, which loses no digits to a difference.
DEVICE double tanh_f64(double x) {
  const double a = __builtin_fabs(x);
  if (a < 0.5) {
    const double z = x * x;
    double d = 19.0;
#pragma unroll
    for (int n = 17; n >= 1; n -= 2) d = n + z / d;
    return x / d;
  }
  return __builtin_copysign(1.0 - 2.0 / (exp_f64(2.0 * a) + 1.0), x);
}

// Below 2 the series of x e^-xx, from there the continued fraction of erfc.
DEVICE double erf_f64(double x) {
  const double a = __builtin_fabs(x), z = x * x;
  if (x != x) return x;
  if (a < 2.0) {
    double term = 1.0, total = 1.0;
    for (int n = 1; n < 60; ++n) {
      term *= 2.0 * z / (2 * n + 1);
      total += term;
    }
    return 0x1.20dd750429b6dp+0 * x * exp_f64(-z) * total;
  }
  if (a > 6.0) return __builtin_copysign(1.0, x);
  double d = a;
  for (int n = 60; n >= 1; --n) d = a + 0.5 * n / d;
  return __builtin_copysign(1.0 - exp_f64(-z) / d * 0x1.20dd750429b6dp-1, x);
}

DEVICE double pow_f64(double x, double y) {
  if (y == 0.0 || x == 1.0 || (x == -1.0 && __builtin_fabs(y) == __builtin_inf())) return 1.0;
  if (x != x || y != y) return __builtin_nan("");
  const bool whole = __builtin_trunc(y) == y, odd = whole && __builtin_trunc(y * 0.5) != y * 0.5;
  if (x < 0.0 && !whole && x != -__builtin_inf()) return __builtin_nan("");
  const double r = exp2_f64(y * log2_f64(__builtin_fabs(x)));
  return odd && __builtin_copysign(1.0, x) < 0.0 ? -r : r;
}

DEVICE float pow_f32(float x, float y) { return (float)pow_f64(x, y); }

// Element i of 16 bits, twice.
DEVICE unsigned duplicate_16(const unsigned* w, int i) { return bytes(w[i / 2], 0u, i % 2 ? 0x3232u : 0x1010u); }

DEVICE float decode_f16(unsigned h) { return (float)__builtin_bit_cast(_Float16, (unsigned short)h); }

DEVICE unsigned encode_f16(float f) { return __builtin_bit_cast(unsigned short, (_Float16)f); }

DEVICE unsigned pack_f16(float low, float high) { return encode_f16(low) | encode_f16(high) << 16; }

// Chips without an instruction for it round by adding half of the last place, less where that is even.
DEVICE unsigned encode_bf16(float f) {
#if defined(__gfx950__)
  unsigned w; asm("v_cvt_pk_bf16_f32 %0, %1, %1" : "=v"(w) : "v"(f)); return w & 0xffffu;
#else
  const unsigned x = bits_f32(f);
  return (f != f ? x | 0x400000u : x + 0x7fffu + (x >> 16 & 1u)) >> 16;
#endif
}

DEVICE unsigned pack_bf16(float low, float high) {
#if defined(__gfx950__)
  unsigned w; asm("v_cvt_pk_bf16_f32 %0, %1, %2" : "=v"(w) : "v"(low), "v"(high)); return w;
#else
  return bytes(encode_bf16(low), encode_bf16(high), 0x5410u);
#endif
}

// Float to integer truncates and saturates; NaN gives 0.
DEVICE int to_int(float f) { int i; asm("v_cvt_i32_f32 %0, %1" : "=v"(i) : "v"(f)); return i; }

DEVICE unsigned to_unsigned(float f) { unsigned i; asm("v_cvt_u32_f32 %0, %1" : "=v"(i) : "v"(f)); return i; }

DEVICE long long to_long(double f) {
  if (f != f) return 0;
  return f >= 0x1p63 ? 0x7fffffffffffffffll : f < -0x1p63 ? -0x7fffffffffffffffll - 1 : (long long)f;
}

DEVICE unsigned long long to_ulong(double f) {
  return !(f > 0.0) ? 0ull : f >= 0x1p64 ? ~0ull : (unsigned long long)f;
}

// A value where it is used: what is computed of it stays behind the branches before that.
DEVICE float here(float x) { asm volatile("" : "+v"(x)); return x; }

// Pairs of halves, each operation rounded once.
DEVICE unsigned add_f16x2(unsigned a, unsigned b) { return bits_f16x2(as_f16x2(a) + as_f16x2(b)); }

DEVICE unsigned sub_f16x2(unsigned a, unsigned b) { return bits_f16x2(as_f16x2(a) - as_f16x2(b)); }

DEVICE unsigned mul_f16x2(unsigned a, unsigned b) { return bits_f16x2(as_f16x2(a) * as_f16x2(b)); }

DEVICE unsigned fma_f16x2(unsigned a, unsigned b, unsigned c) {
  return bits_f16x2(__builtin_elementwise_fma(as_f16x2(a), as_f16x2(b), as_f16x2(c)));
}

DEVICE f16x2 as_f16x2(unsigned x) { return __builtin_bit_cast(f16x2, x); }

DEVICE unsigned bits_f16x2(f16x2 x) { return __builtin_bit_cast(unsigned, x); }

// (x & mask) ^ y.
DEVICE unsigned mask_xor(unsigned x, unsigned mask, unsigned y) { return (x & mask) ^ y; }

// Bytes of a and b by the four digits of `pick`: 0 to 3 are those of a, 4 to 7 those of b.
DEVICE unsigned bytes(unsigned a, unsigned b, unsigned pick) {
  const unsigned even = pick & 0x0707u, odd = pick >> 4 & 0x0707u;
  const unsigned each = (even & 7u) | (odd & 7u) << 8 | (even & 0x700u) << 8 | (odd & 0x700u) << 16;
  return __builtin_amdgcn_perm(b, a, each);
}

// The highest bit of the picked bytes of x, all over.
DEVICE unsigned signs(unsigned x, unsigned pick) {
  const unsigned each = x >> 7 & 0x01010101u;
  return bytes((each << 8) - each, 0u, pick & 0x3333u);
}

DEVICE unsigned select_halves(bool low, bool high, unsigned x, unsigned y) {
  return ((low ? x : y) & 0xffffu) | ((high ? x : y) & 0xffff0000u);
}

// Pairs of bf16: the exact result of f32 arithmetic, rounded once more.
DEVICE unsigned mul_bf16x2(unsigned a, unsigned b) {
  return pack_bf16(as_f32(a << 16) * as_f32(b << 16), as_f32(a & 0xffff0000u) * as_f32(b & 0xffff0000u));
}

DEVICE unsigned add_bf16x2(unsigned a, unsigned b) {
  return pack_bf16(as_f32(a << 16) + as_f32(b << 16), as_f32(a & 0xffff0000u) + as_f32(b & 0xffff0000u));
}

DEVICE unsigned sub_bf16x2(unsigned a, unsigned b) {
  return pack_bf16(as_f32(a << 16) - as_f32(b << 16), as_f32(a & 0xffff0000u) - as_f32(b & 0xffff0000u));
}

// The sum of an exact product and c, rounded to odd in f32 so that rounding it again rounds once.
DEVICE float fma_odd(float a, float b, float c) {
  const double exact = (double)a * (double)b, sum = exact + (double)c;
  const double part = sum - exact, lost = (exact - (sum - part)) + ((double)c - part);
  long long bits = __builtin_bit_cast(long long, sum);
  if (lost != 0.0 && !(bits & 1)) bits += (lost > 0.0) == (sum > 0.0) ? 1 : -1;
  const double odd = as_f64(bits);
  const unsigned near = bits_f32((float)odd);
  const double off = odd - (double)as_f32(near);
  if (off == 0.0 || !(__builtin_fabsf(as_f32(near)) < __builtin_inff()) || (near & 1u)) return as_f32(near);
  return as_f32((off > 0.0) == (odd > 0.0) ? near + 1u : near - 1u);
}

DEVICE unsigned fma_bf16x2(unsigned a, unsigned b, unsigned c) {
  return pack_bf16(fma_odd(as_f32(a << 16), as_f32(b << 16), as_f32(c << 16)),
    fma_odd(as_f32(a & 0xffff0000u), as_f32(b & 0xffff0000u), as_f32(c & 0xffff0000u)));
}

DEVICE unsigned max_f16x2(unsigned a, unsigned b) {
  return pack_f16(fmax_nan(decode_f16(a & 0xffffu), decode_f16(b & 0xffffu)), fmax_nan(decode_f16(a >> 16), decode_f16(b >> 16)));
}

DEVICE unsigned min_f16x2(unsigned a, unsigned b) {
  return pack_f16(fmin_nan(decode_f16(a & 0xffffu), decode_f16(b & 0xffffu)), fmin_nan(decode_f16(a >> 16), decode_f16(b >> 16)));
}

DEVICE unsigned max_bf16x2(unsigned a, unsigned b) {
  const float low = fmax_nan(as_f32(a << 16), as_f32(b << 16));
  return bits_f32(low) >> 16 | bits_f32(fmax_nan(as_f32(a & 0xffff0000u), as_f32(b & 0xffff0000u)));
}

DEVICE unsigned min_bf16x2(unsigned a, unsigned b) {
  const float low = fmin_nan(as_f32(a << 16), as_f32(b << 16));
  return bits_f32(low) >> 16 | bits_f32(fmin_nan(as_f32(a & 0xffff0000u), as_f32(b & 0xffff0000u)));
}

// Two floats of f8e4m3 in the low bytes of a word.
DEVICE unsigned f16x2_of_f8e4m3x2(unsigned x) {
  const unsigned w = bytes(x, 0u, 0x1404u), magnitude = w & 0x7f007f00u;
  const unsigned nan = (magnitude + 0x01000100u) & 0x80008000u;
  return mul_f16x2(magnitude >> 1 | (w & 0x80008000u), 0x5c005c00u) | (nan - (nan >> 6));
}

// Memory: vectors of 8 and 16 bytes.
DEVICE void load_global_8(unsigned* w, const void* p) {
  *(u32x2*)w = *(const u32x2*)p;
}

DEVICE void load_global_16(unsigned* w, const void* p) {
  *(u32x4*)w = *(const u32x4*)p;
}

DEVICE void store_8(void* p, const unsigned* w) { *(u32x2*)p = *(const u32x2*)w; }

DEVICE void store_16(void* p, const unsigned* w) { *(u32x4*)p = *(const u32x4*)w; }

template <class T> DEVICE T atomic_add(T* p, T x) {
  return __hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

DEVICE int atomic_add_i32(int* p, int x) { return atomic_add(p, x); }

DEVICE unsigned atomic_add_u32(unsigned* p, unsigned x) { return atomic_add(p, x); }

DEVICE long long atomic_add_i64(long long* p, long long x) { return atomic_add(p, x); }

DEVICE unsigned long long atomic_add_u64(unsigned long long* p, unsigned long long x) { return atomic_add(p, x); }

DEVICE float atomic_add_f32(float* p, float x) { return atomic_add(p, x); }

DEVICE double atomic_add_f64(double* p, double x) { return atomic_add(p, x); }

// Pairs of halves that share a word.
DEVICE void atomic_add_f16x2(unsigned short* p, unsigned x) {
  __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) f16x2*)p, as_f16x2(x));
}

DEVICE void atomic_add_bf16x2(unsigned short* p, unsigned x) {
  __builtin_amdgcn_global_atomic_fadd_v2bf16((__attribute__((address_space(1))) i16x2*)p, __builtin_bit_cast(i16x2, x));
}

// A word that other blocks write, and one that they read.
template <class T> DEVICE void await_value(T* p, T value) {
  while (__hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != value) __builtin_amdgcn_s_sleep(1);
}

template <class T> DEVICE void set_value(T* p, T value) {
  __hip_atomic_store(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// 16 bits by way of the word that they are in.
DEVICE unsigned* word_around(unsigned short* p, unsigned& shift) {
  shift = ((unsigned long long)p & 2) * 8;
  return (unsigned*)__builtin_align_down(p, 4);
}

DEVICE float atomic_add_f16(unsigned short* p, float x) {
  unsigned shift, *const word = word_around(p, shift);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), next;
  do next = (seen & ~(0xffffu << shift)) | encode_f16(decode_f16(seen >> shift & 0xffffu) + x) << shift;
  while (!__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  return decode_f16(seen >> shift & 0xffffu);
}

DEVICE float atomic_add_bf16(unsigned short* p, float x) {
  unsigned shift, *const word = word_around(p, shift);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), next;
  do next = (seen & ~(0xffffu << shift)) | encode_bf16(decode_bf16(seen >> shift & 0xffffu) + x) << shift;
  while (!__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  return decode_bf16(seen >> shift & 0xffffu);
}

DEVICE void copy_16(void* to, const void* from, bool inside) {
  *(u32x4*)to = inside ? *(const u32x4*)from : u32x4{0u, 0u, 0u, 0u};
}

DEVICE void copy_8(void* to, const void* from, bool inside) {
  *(u32x2*)to = inside ? *(const u32x2*)from : u32x2{0u, 0u};
}

DEVICE void copy_4(void* to, const void* from, bool inside) {
  *(unsigned*)to = inside ? *(const unsigned*)from : 0u;
}

// A number of the wave, which all of its lanes have alike.
DEVICE int wave_of(int tid) { return __builtin_amdgcn_readfirstlane(tid / 64); }

DEVICE unsigned lds_address(const void* p) {
  return (unsigned)(unsigned long long)(const __attribute__((address_space(3))) unsigned char*)p;
}

// What all lanes have alike, in a scalar register: behind a branch of some lanes the compiler may have
// put it into a vector register.
DEVICE int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }

// So many bytes of memory as loads see them: what is read behind them is 0.
DEVICE i32x4 buffer_of(const void* p, int bytes) {
  const unsigned long long at = (unsigned long long)p;
  return i32x4{uniform((int)at), uniform((int)(at >> 32) & 0xffff), uniform(bytes), 0x00020000};
}

// The same from so many bytes before, which no lane reads: what loads add besides may then be less than
// what their instruction adds.
DEVICE i32x4 buffer_before(const void* p, int bytes, int before) {
  return buffer_of((const unsigned char*)p - before, bytes ? (int)((unsigned)bytes + before) : 0);
}

// Those of the rows that are left of a tile's, in 32 bits: comparisons of 64 are no scalar instructions.
DEVICE int buffer_bytes(int left, int rows, int each) {
  return left < 0 ? 0 : left < rows ? left * each : 0x7fffffff;
}

// To LDS at `to` + `more` and on, lane by lane. The compiler does not know of it and never waits for it.
DEVICE void load_to_lds_16(unsigned to, unsigned more, i32x4 from, int lane, int all) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dwordx4 %2, %3, %4 offen lds"
    :: "s"(uniform(to)), "s"(more), "v"(lane), "s"(from), "s"(all) : "memory", "m0", "scc");
}

// Four of them, each `step` bytes on in memory, with an offset of the lane each.
DEVICE void load_to_lds_16_by_4(unsigned to, unsigned more, i32x4 from, int a, int b, int c, int d, int all, int step) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dwordx4 %2, %6, %7 offen lds\n\tbuffer_load_dwordx4 %3, %6, %8 offen offset:1024 lds\n\tbuffer_load_dwordx4 %4, %6, %9 offen offset:2048 lds\n\tbuffer_load_dwordx4 %5, %6, %10 offen offset:3072 lds"
    :: "s"(uniform(to)), "s"(more), "v"(a), "v"(b), "v"(c), "v"(d), "s"(from), "s"(all), "s"(all + step - 1024),
       "s"(all + 2 * step - 2048), "s"(all + 3 * step - 3072) : "memory", "m0", "scc");
}

DEVICE void load_to_lds_4(unsigned to, unsigned more, i32x4 from, int lane, int all) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dword %2, %3, %4 offen lds"
    :: "s"(uniform(to)), "s"(more), "v"(lane), "s"(from), "s"(all) : "memory", "m0", "scc");
}

// Four of them, each `step` bytes on in memory, with an offset of the lane each.
DEVICE void load_to_lds_4_by_4(unsigned to, unsigned more, i32x4 from, int a, int b, int c, int d, int all, int step) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dword %2, %6, %7 offen lds\n\tbuffer_load_dword %3, %6, %8 offen offset:256 lds\n\tbuffer_load_dword %4, %6, %9 offen offset:512 lds\n\tbuffer_load_dword %5, %6, %10 offen offset:768 lds"
    :: "s"(uniform(to)), "s"(more), "v"(a), "v"(b), "v"(c), "v"(d), "s"(from), "s"(all), "s"(all + step - 256),
       "s"(all + 2 * step - 512), "s"(all + 3 * step - 768) : "memory", "m0", "scc");
}

// Until no more than N of the wave's loads are under way.
template <int N> DEVICE void copy_wait() { asm volatile("s_waitcnt vmcnt(%0)" :: "n"(N) : "memory"); }
