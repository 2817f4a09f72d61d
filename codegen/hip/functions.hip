// Functions that emitted HIP uses, beside those of c_family/functions.h, in the same form. They use
// the compiler's builtins alone, so that a text needs neither headers nor device libraries. Here are
// threads, barriers and floats; doubles.hip, packed.hip and memory.hip have the others.

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

// The same of tensors: every access of them is over, too (0x0070: vmcnt(0) lgkmcnt(0)).
DEVICE void memory_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_waitcnt(0x0070);
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// What the wave did to memory before is over for what it does after: its accesses happen in order, which
// the compiler must leave so.
DEVICE void wave_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
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
