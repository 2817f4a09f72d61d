// Functions of doubles: exponentials, logarithms, sines and error functions, which the machine lacks.

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
