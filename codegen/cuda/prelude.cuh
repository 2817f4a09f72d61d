// Functions that emitted CUDA uses, beside those of c_family/functions.h, in the same form. Here are
// numbers and copies; hopper.cuh has those of Hopper's units, memory.cuh accesses to memory.

// NaN wins, as in NumPy.
DEVICE float fmin_nan(float a, float b) { float y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }

DEVICE float fmax_nan(float a, float b) { float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }

DEVICE float as_f32(unsigned x) { return __uint_as_float(x); }

DEVICE unsigned bits_f32(float x) { return __float_as_uint(x); }

// One instruction: results below 2^-126 are 0.
DEVICE float exp2_ftz(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

// The reciprocal is within one place in the last: a division that rounds right is a call.
DEVICE float sigmoidf(float x) {
  float y; asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(1.0f + expf(-x))); return y;
}

// Element i of 16 bits, twice.
DEVICE unsigned duplicate_16(const unsigned* w, int i) { return __byte_perm(w[i / 2], 0, i % 2 ? 0x3232 : 0x1010); }

DEVICE float decode_f16(unsigned h) {
  float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((unsigned short)h)); return f;
}

DEVICE unsigned encode_f16(float f) {
  unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h;
}

DEVICE unsigned pack_f16(float low, float high) {
  unsigned w; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low)); return w;
}

DEVICE unsigned encode_bf16(float f) {
  unsigned short h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h;
}

DEVICE unsigned pack_bf16(float low, float high) {
  unsigned w; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low)); return w;
}

// Float to integer truncates and saturates; NaN gives 0.
DEVICE int to_int(float f) { int i; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(i) : "f"(f)); return f != f ? 0 : i; }

DEVICE unsigned to_unsigned(float f) {
  unsigned i; asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(i) : "f"(f)); return f != f ? 0u : i;
}

DEVICE long long to_long(double f) {
  long long i; asm("cvt.rzi.s64.f64 %0, %1;" : "=l"(i) : "d"(f)); return f != f ? 0 : i;
}

DEVICE unsigned long long to_ulong(double f) {
  unsigned long long i; asm("cvt.rzi.u64.f64 %0, %1;" : "=l"(i) : "d"(f)); return f != f ? 0 : i;
}

// Pairs of halves, each operation rounded once.
DEVICE unsigned add_f16x2(unsigned a, unsigned b) { unsigned d; asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

DEVICE unsigned sub_f16x2(unsigned a, unsigned b) { unsigned d; asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

DEVICE unsigned mul_f16x2(unsigned a, unsigned b) { unsigned d; asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

// (x & mask) ^ y in one instruction, whatever of it is constant.
DEVICE unsigned mask_xor(unsigned x, unsigned mask, unsigned y) {
  unsigned d; asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(d) : "r"(x), "r"(mask), "r"(y)); return d;
}

// Bytes of a and b by the four digits of `pick`: 0 to 3 are those of a, 4 to 7 those of b. (__byte_perm
// would mask the digits once more.)
DEVICE unsigned bytes(unsigned a, unsigned b, unsigned pick) {
  unsigned d; asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(pick)); return d;
}

DEVICE unsigned fma_f16x2(unsigned a, unsigned b, unsigned c) {
  unsigned d; asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d;
}

DEVICE unsigned fma_bf16x2(unsigned a, unsigned b, unsigned c) {
  unsigned d; asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d;
}

// a * b, and a + b as a * 1 + b: sm_80 has only the fused form (-0 keeps the sign of a product).
DEVICE unsigned mul_bf16x2(unsigned a, unsigned b) { return fma_bf16x2(a, b, 0x80008000u); }

DEVICE unsigned add_bf16x2(unsigned a, unsigned b) { return fma_bf16x2(a, 0x3f803f80u, b); }

DEVICE unsigned sub_bf16x2(unsigned a, unsigned b) { return fma_bf16x2(b, 0xbf80bf80u, a); }

// The greater and the lesser of pairs; NaN wins, as in NumPy.
DEVICE unsigned max_f16x2(unsigned a, unsigned b) { unsigned d; asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

DEVICE unsigned min_f16x2(unsigned a, unsigned b) { unsigned d; asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

DEVICE unsigned max_bf16x2(unsigned a, unsigned b) { unsigned d; asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

DEVICE unsigned min_bf16x2(unsigned a, unsigned b) { unsigned d; asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

DEVICE unsigned select_halves(bool low, bool high, unsigned x, unsigned y) {
  return bytes(x, y, (low ? 0x0010u : 0x0054u) | (high ? 0x3200u : 0x7600u));
}

// Bytes that are the highest bit of the picked ones all over.
DEVICE unsigned signs(unsigned x, unsigned pick) {
  unsigned d; asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(0u), "r"(pick)); return d;
}

// From Ada on the conversion is one instruction, which saturates: what is beyond is put right.
DEVICE unsigned encode_f8e4m3(float f) {
  const unsigned sign = __float_as_uint(f) >> 24 & 0x80u;
#if __CUDA_ARCH__ >= 890
  unsigned short code;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(code) : "f"(0.0f), "f"(f));
  return fabsf(f) <= 464.0f ? code : sign | 0x7fu;
#else
  const unsigned code = encode_small<4, 3>(f) & 0x7fu;
  return sign | (f != f || !(fabsf(f) <= 464.0f) ? 0x7fu : min(code, 0x7eu));
#endif
}

DEVICE unsigned encode_f8e5m2(float f) {
  const unsigned sign = __float_as_uint(f) >> 24 & 0x80u;
#if __CUDA_ARCH__ >= 890
  unsigned short code;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(code) : "f"(0.0f), "f"(f));
  return fabsf(f) < 61440.0f ? code : sign | (f != f ? 0x7eu : 0x7cu);
#else
  const unsigned code = encode_small<5, 2>(f) & 0x7fu;
  return sign | (f != f ? 0x7eu : !(fabsf(f) < 61440.0f) ? 0x7cu : min(code, 0x7bu));
#endif
}

// Two floats of f8e4m3 in the low bytes of a word.
DEVICE unsigned f16x2_of_f8e4m3x2(unsigned x) {
#if __CUDA_ARCH__ >= 890
  unsigned w; asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(w) : "h"((unsigned short)x)); return w;
#else
  const unsigned w = bytes(x, 0u, 0x1404u), magnitude = w & 0x7f007f00u;
  const unsigned nan = (magnitude + 0x01000100u) & 0x80008000u;
  return mul_f16x2(magnitude >> 1 | (w & 0x80008000u), 0x5c005c00u) | (nan - (nan >> 6));
#endif
}

// The least and greatest of 32 bits by a mask: of two in a row, by min.s32 or by a comparison and a selection,
// ptxas 13.0 to 13.3 make one instruction, and forget an operand's sign or compare with a bound the wrong way.
template <class T> DEVICE T imin(T a, T b) {
#if __CUDA_ARCH__ >= 900
  if constexpr (sizeof(T) == 4) return b ^ ((a ^ b) & T(less(a, b)));
#endif
  return a < b ? a : b;
}

template <class T> DEVICE T imax(T a, T b) {
#if __CUDA_ARCH__ >= 900
  if constexpr (sizeof(T) == 4) return b ^ ((a ^ b) & T(less(b, a)));
#endif
  return a > b ? a : b;
}

// All ones where a is less than b, so that the compiler does not see it.
template <class T> DEVICE unsigned less(T a, T b) {
  unsigned d;
  if (T(-1) < T(0)) asm("set.lt.u32.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  else asm("set.lt.u32.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

DEVICE void load_global_8(unsigned* w, const void* p) { const uint2 v = *(const uint2*)p; w[0] = v.x; w[1] = v.y; }

DEVICE void load_global_16(unsigned* w, const void* p) {
  const uint4 v = *(const uint4*)p; w[0] = v.x; w[1] = v.y; w[2] = v.z; w[3] = v.w;
}

DEVICE void store_8(void* p, const unsigned* w) { *(uint2*)p = make_uint2(w[0], w[1]); }

DEVICE void store_16(void* p, const unsigned* w) { *(uint4*)p = make_uint4(w[0], w[1], w[2], w[3]); }

DEVICE unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

DEVICE void copy_async_16(void* to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(shared_address(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

DEVICE void copy_async_8(void* to, const void* from, bool inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(shared_address(to)), "l"(from), "r"(inside ? 8 : 0) : "memory");
}

DEVICE void copy_async_4(void* to, const void* from, bool inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(shared_address(to)), "l"(from), "r"(inside ? 4 : 0) : "memory");
}

DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N> DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
