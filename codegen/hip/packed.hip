// Numbers by their bits: small floats, conversions, and words of two halves or four bytes.

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
