// Functions that emitted kernels use on every machine of the C family. Each stands alone between blank
// lines; a kernel gets those that its text names, and what these name in turn.

// Integers that round towards minus infinity, as in the language; a zero divisor gives 0, and -1 wraps.
template <class T> DEVICE T floordiv(T a, T b) {
  if (b == 0) return 0;
  if (T(-1) < T(0) && b == T(-1)) return T(0ull - (unsigned long long)a);
  T q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

template <class T> DEVICE T floormod(T a, T b) {
  if (b == 0 || (T(-1) < T(0) && b == T(-1))) return 0;
  T r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

DEVICE float floormodf(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

DEVICE double floormodd(double a, double b) {
  const double r = fmod(a, b);
  return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}

// The quotient of what a remainder leaves, which is whole but for its rounding; of an infinite divisor 0
// or -1.
DEVICE float floordivf(float a, float b) {
  const float r = fmodf(a, b), q = (a - r) / b;
  return b == 0.0f ? a / b : rintf(r != 0.0f && (r < 0.0f) != (b < 0.0f) ? q - 1.0f : q);
}

DEVICE double floordivd(double a, double b) {
  const double r = fmod(a, b), q = (a - r) / b;
  return b == 0.0 ? a / b : rint(r != 0.0 && (r < 0.0) != (b < 0.0) ? q - 1.0 : q);
}

template <class T> DEVICE T shift_left(T a, T b) {
  return (unsigned)b < sizeof(T) * 8 ? T((unsigned long long)a << b) : T(0);
}

template <class T> DEVICE T shift_right(T a, T b) {
  return (unsigned)b < sizeof(T) * 8 ? T(a >> b) : (a < 0 ? T(-1) : T(0));
}

// A negative exponent leaves the whole part of the fraction.
template <class T> DEVICE T ipow(T a, T n) {
  if (n < 0) return a == 1 || a == T(-1) ? (n & 1 ? a : T(1)) : T(0);
  unsigned long long r = 1, b = a;
  for (; n > 0; n >>= 1, b *= b) if (n & 1) r *= b;
  return T(r);
}

DEVICE double dmin_nan(double a, double b) { return a != a ? a : b != b ? b : a < b ? a : b; }

DEVICE double dmax_nan(double a, double b) { return a != a ? a : b != b ? b : a > b ? a : b; }

// Into -most to most; NaN stays.
DEVICE float clampf(float x, float most) { return x != x ? x : fminf(fmaxf(x, -most), most); }

DEVICE double clampd(double x, double most) { return x > most ? most : x < -most ? -most : x; }

// To a power of two of e8m0: 0 gives the least, what is past `most` gives that.
DEVICE float clamp_scale(float x, float most) { return x == 0.0f ? __uint_as_float(0x400000u) : clampf(x, most); }

template <class T> DEVICE T imin(T a, T b) { return a < b ? a : b; }

template <class T> DEVICE T imax(T a, T b) { return a > b ? a : b; }

DEVICE double sigmoidd(double x) { return 1.0 / (1.0 + exp(-x)); }

// Packed elements: B bits each, little-endian across 32-bit words.
template <int B> DEVICE unsigned get_bits(const unsigned* w, int i) {
  const int at = i * B, word = at >> 5, low = at & 31;
  unsigned v = w[word] >> low;
  if (32 % B != 0 && low + B > 32) v |= w[word + 1] << (32 - low);
  return B == 32 ? v : v & ((1u << (B & 31)) - 1u);
}

template <int B> DEVICE void set_bits(unsigned* w, int i, unsigned v) {
  const int at = i * B, word = at >> 5, low = at & 31;
  const unsigned mask = B == 32 ? ~0u : (1u << (B & 31)) - 1u;
  v &= mask;
  w[word] = (w[word] & ~(mask << low)) | (v << low);
  if (32 % B != 0 && low + B > 32) {
    const int done = 32 - low;
    w[word + 1] = (w[word + 1] & ~(mask >> done)) | (v >> done);
  }
}

// B bits from one word into another that has zeros there.
template <int B> DEVICE void move_bits(unsigned* to, int i, const unsigned* from, int j) {
  to[i >> 5] |= (from[j >> 5] >> (j & 31) & (~0u >> (32 - B))) << (i & 31);
}

template <int B> DEVICE int sign_extend(unsigned v) { return (int)(v << (32 - B)) >> (32 - B); }

DEVICE float decode_bf16(unsigned h) { return __uint_as_float(h << 16); }

DEVICE float round_tf32(float f) {
  const unsigned x = __float_as_uint(f);
  if ((x & 0x7f800000u) == 0x7f800000u) return f;
  return __uint_as_float((x + 0xfffu + ((x >> 13) & 1u)) & ~0x1fffu);
}

// A double on its way to less than a float: what a float does not hold has an odd last bit, so that
// rounding it again rounds once (Boldo and Melquiond, 2008).
DEVICE float odd_f32(double x) {
  const float f = (float)x;
  const double off = (double)f - x;
  if (!(off < 0.0 || off > 0.0)) return f;
  const unsigned past = (off > 0.0) == (x > 0.0);  // rounded away from zero
  return __uint_as_float((__float_as_uint(f) - past) | 1u);
}

// The same of an integer: the bits that a double does not hold are gathered in its last one.
template <class T> DEVICE float odd_f32_of_long(T x) {
  const T top = x >> 53;
  if (top != 0 && top != T(-1)) x = (x & ~T(2047)) | T((x & 2047) != 0) << 11;
  return odd_f32((double)x);
}

// A float of 1 + X + Y bits without infinities and NaN.
template <int X, int Y> DEVICE float decode_small(unsigned v) {
  const unsigned magnitude = v & ((1u << (X + Y)) - 1u);
  const float f = __uint_as_float(magnitude << (23 - Y)) * __uint_as_float((254 - ((1 << (X - 1)) - 1)) << 23);
  return (v >> (X + Y)) & 1u ? -f : f;
}

// Round to nearest even on the grid of (X, Y); what overflows gives the greatest magnitude.
template <int X, int Y> DEVICE unsigned encode_small(float f) {
  const unsigned x = __float_as_uint(f), sign = x >> 31, magnitude = x & 0x7fffffffu;
  const int bias = (1 << (X - 1)) - 1, most = (1 << (X + Y)) - 1;
  if (magnitude > 0x7f800000u) return most;
  const int exponent = max((int)(magnitude >> 23), 1) - 127;
  const unsigned mantissa = (magnitude & 0x7fffffu) | (magnitude >> 23 ? 0x800000u : 0u);
  const int low = max(exponent, 1 - bias);              // exponent of the last kept bit, plus Y
  const int shift = min(23 - Y + low - exponent, 31);   // bits to drop
  const unsigned half = (1u << (shift - 1)) - 1u;
  const unsigned odd = ((mantissa >> shift) + ((low + bias - 1) << Y)) & 1u;  // of the code cut off
  const unsigned kept = shift ? (mantissa + half + odd) >> shift : mantissa;
  const int code = (int)kept + ((low + bias - 1) << Y);
  return (sign << (X + Y)) | (unsigned)min(code, most);
}

DEVICE float decode_f8e5m2(unsigned v) { return decode_f16(v << 8); }

DEVICE float decode_f8e4m3(unsigned v) {
  return (v & 0x7fu) == 0x7fu ? __uint_as_float(0x7fc00000u | v << 24) : decode_small<4, 3>(v);
}

DEVICE float decode_f8e3m4(unsigned v) {
  const unsigned magnitude = v & 0x7fu;
  if (magnitude >= 0x70u) return __uint_as_float((v & 0x80u) << 24 | (magnitude == 0x70u ? 0x7f800000u : 0x7fc00000u));
  return decode_small<3, 4>(v);
}

DEVICE unsigned encode_f8e4m3(float f) {
  const unsigned sign = __float_as_uint(f) >> 24 & 0x80u, code = encode_small<4, 3>(f) & 0x7fu;
  return sign | (f != f || !(fabsf(f) < 464.0f || fabsf(f) == 464.0f) ? 0x7fu : min(code, 0x7eu));
}

DEVICE unsigned encode_f8e5m2(float f) {
  const unsigned sign = __float_as_uint(f) >> 24 & 0x80u, code = encode_small<5, 2>(f) & 0x7fu;
  return sign | (f != f ? 0x7eu : !(fabsf(f) < 61440.0f) ? 0x7cu : min(code, 0x7bu));
}

DEVICE unsigned encode_f8e3m4(float f) {
  const unsigned sign = __float_as_uint(f) >> 24 & 0x80u, code = encode_small<3, 4>(f) & 0x7fu;
  return sign | (f != f ? 0x78u : !(fabsf(f) < 15.75f) ? 0x70u : min(code, 0x6fu));
}

// The exponent alone; codes 0 and 255 (2^-127 and NaN) get the next bit too.
DEVICE float decode_e8m0(unsigned v) {
  const unsigned x = v << 23, other = (x + 0x800000u) & 0x7f000000u;
  return __uint_as_float(x | ((0x80000000u - other) >> 31) << 22);
}

// Ties go up, as does all between the least two scales; what has no scale is NaN.
DEVICE unsigned encode_e8m0(float f) {
  const unsigned x = __float_as_uint(f);
  if (!(f > 0.0f)) return 255u;
  return x < 0x800000u ? unsigned(x > 0x400000u) : min((x >> 23) + (x >> 22 & 1u), 255u);
}

// The low bytes of four words.
DEVICE unsigned join_bytes(unsigned a, unsigned b, unsigned c, unsigned d) {
  return bytes(bytes(a, b, 0x0040u), bytes(c, d, 0x0040u), 0x5410u);
}

// Numbers that both have.
DEVICE unsigned bf16x2_of_f16x2(unsigned x) { return pack_bf16(decode_f16(x & 0xffffu), decode_f16(x >> 16)); }

// Memory: vectors of 1 to 16 bytes.
DEVICE unsigned load_global_1(const void* p) { return *(const unsigned char*)p; }

DEVICE unsigned load_global_2(const void* p) { return *(const unsigned short*)p; }

DEVICE void load_global_4(unsigned* w, const void* p) { w[0] = *(const unsigned*)p; }

DEVICE void store_4(void* p, const unsigned* w) { *(unsigned*)p = w[0]; }

// Element i of codes of B bits that lie one beside the other, little-endian.
template <int B> DEVICE unsigned load_row(const unsigned char* p, long long i) {
  const long long at = i * B;
  const int low = (int)(at & 7);
  unsigned v = p[at >> 3] >> low;
  if (low + B > 8) v |= (unsigned)p[(at >> 3) + 1] << (8 - low);
  return v & ((1u << B) - 1u);
}

// Bits [32 j, 32 j + 32) of a run of N bits that begins at a bit of registers.
template <int N> DEVICE unsigned word_of_run(const unsigned* w, int at, int j) {
  if (j < 0 || 32 * j >= N) return 0u;
  const int first = at + 32 * j, low = first & 31;
  unsigned v = w[first >> 5] >> low;
  if (low + (N - 32 * j < 32 ? N - 32 * j : 32) > 32) v |= w[(first >> 5) + 1] << (32 - low);
  return v;
}

// Elements [low, high) of a run of N codes of B bits, from element k of registers on, to where element
// i of a row begins. Words that belong to others as well are changed by atomic operations.
template <int B, int N> DEVICE void store_row(unsigned char* p, long long i, const unsigned* w, int k, int low, int high) {
  unsigned char* const first = p + (i * B >> 3);
  const int off = (int)((unsigned long long)first & 3), shift = off * 8 + (int)(i * B & 7);
  unsigned* const to = (unsigned*)(first - off);
#pragma unroll
  for (int j = 0; j <= (N * B + 30) / 32; ++j) {
    const unsigned here = word_of_run<N * B>(w, k * B, j), before = word_of_run<N * B>(w, k * B, j - 1);
    const unsigned bits = shift ? here << shift | before >> (32 - shift) : here;
    const int from = max(low * B + shift - 32 * j, 0), end = min(high * B + shift - 32 * j, 32);
    if (from >= end) continue;
    if (end - from == 32) to[j] = bits;
    else change_bits(to + j, ((1u << (end - from)) - 1u) << from, bits);
  }
}

// Numbers of 32 and 64 bits as words W of as many bits.
template <class W, class T> DEVICE W word_of(T x) {
  union { T number; W word; } u;
  u.number = x;
  return u.word;
}

template <class W, class T> DEVICE T number_of(W x) {
  union { W word; T number; } u;
  u.word = x;
  return u.number;
}

// The greater or the less of two floats, a NaN where one is, in memory; nothing is written that stands there.
template <class W, bool GREATER, class T> DEVICE T atomic_extreme(T* p, T x) {
  W seen = *(volatile W*)p, old;
  do {
    old = seen;
    const T now = number_of<W, T>(old);
    if (now != now || (x == x && (GREATER ? now >= x : now <= x))) break;
    seen = replace_word((W*)p, old, word_of<W>(x));
  } while (seen != old);
  return number_of<W, T>(old);
}

template <class W, class T> DEVICE T atomic_max_float(T* p, T x) { return atomic_extreme<W, true>(p, x); }

template <class W, class T> DEVICE T atomic_min_float(T* p, T x) { return atomic_extreme<W, false>(p, x); }

template <class W, class T> DEVICE T atomic_exchange(T* p, T x) {
  return number_of<W, T>(exchange_word((W*)p, word_of<W>(x)));
}

template <class W, class T> DEVICE T atomic_cas(T* p, T x, T expected) {
  return number_of<W, T>(replace_word((W*)p, word_of<W>(expected), word_of<W>(x)));
}
