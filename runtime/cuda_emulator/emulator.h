// CUDA C on the host: the words, types and functions that emitted kernels use beside their own.
// No header of the system is read, so that a kernel compiles quickly.
#pragma once
#include "machine.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __restrict__
#define __grid_constant__
#define __align__(n) alignas(n)

#define threadIdx (emu_place->thread)
#define blockIdx (emu_place->block)
#define blockDim emu_block_dim
#define gridDim emu_grid_dim
#define warpSize 32

#define HOST static inline __attribute__((unused))

extern "C" {
int printf(const char*, ...);
float expf(float); float exp2f(float); float logf(float); float log2f(float); float log10f(float);
float sqrtf(float); float sinf(float); float cosf(float); float tanf(float); float tanhf(float);
float erff(float); float floorf(float); float ceilf(float); float rintf(float); float truncf(float);
float fabsf(float); float fmaf(float, float, float); float powf(float, float); float fmodf(float, float);
float fminf(float, float); float fmaxf(float, float); float copysignf(float, float); float ldexpf(float, int);
double exp(double); double exp2(double); double log(double); double log2(double); double sqrt(double);
double sin(double); double cos(double); double tanh(double); double erf(double); double floor(double);
double ceil(double); double rint(double); double trunc(double); double fabs(double);
double fma(double, double, double); double pow(double, double); double fmod(double, double);
double fmin(double, double); double fmax(double, double);
}

struct alignas(8) uint2 { unsigned x, y; };
struct alignas(8) int2 { int x, y; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
HOST uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
HOST int2 make_int2(int x, int y) { return {x, y}; }
HOST float2 make_float2(float x, float y) { return {x, y}; }
HOST uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
HOST int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
HOST float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

template <class To, class From> HOST To emu_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To y;
  __builtin_memcpy(&y, &x, sizeof(y));
  return y;
}
HOST float __uint_as_float(unsigned x) { return emu_bits<float>(x); }
HOST float __int_as_float(int x) { return emu_bits<float>(x); }
HOST unsigned __float_as_uint(float x) { return emu_bits<unsigned>(x); }
HOST int __float_as_int(float x) { return emu_bits<int>(x); }
HOST double __longlong_as_double(long long x) { return emu_bits<double>(x); }
HOST long long __double_as_longlong(double x) { return emu_bits<long long>(x); }

HOST float __fadd_rn(float x, float y) { return x + y; }
HOST float __fsub_rn(float x, float y) { return x - y; }
HOST float __fmul_rn(float x, float y) { return x * y; }
HOST float __fdiv_rn(float x, float y) { return x / y; }
HOST float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
HOST double __dadd_rn(double x, double y) { return x + y; }
HOST double __dsub_rn(double x, double y) { return x - y; }
HOST double __dmul_rn(double x, double y) { return x * y; }
HOST float __fdividef(float x, float y) { return x / y; }
HOST float __expf(float x) { return expf(x); }
HOST float __logf(float x) { return logf(x); }
HOST float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
HOST double rsqrt(double x) { return 1.0 / sqrt(x); }

#define EMU_LEAST(T) \
  HOST T min(T x, T y) { return y < x ? y : x; } \
  HOST T max(T x, T y) { return x < y ? y : x; }
EMU_LEAST(int) EMU_LEAST(unsigned) EMU_LEAST(long long) EMU_LEAST(unsigned long long)
HOST float min(float x, float y) { return fminf(x, y); }
HOST float max(float x, float y) { return fmaxf(x, y); }
HOST double min(double x, double y) { return fmin(x, y); }
HOST double max(double x, double y) { return fmax(x, y); }
HOST int abs(int x) { return x < 0 ? -x : x; }

HOST int __popc(unsigned x) { return __builtin_popcount(x); }
HOST int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
HOST int __ffs(int x) { return __builtin_ffs(x); }
HOST unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  const unsigned long long both = (unsigned long long)y << 32 | x;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) out |= (unsigned)(both >> (s >> 4 * i & 7) * 8 & 255) << 8 * i;
  return out;
}
HOST unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (n & 31));
}
HOST unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return (unsigned)(((unsigned long long)high << 32 | low) << (n & 31) >> 32);
}
HOST int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += (signed char)(a >> 8 * i) * (signed char)(b >> 8 * i);
  return c;
}

// The block and the warp.
HOST void __syncthreads(int line = __builtin_LINE()) { emu_barrier(line, 0, 0); }
HOST void emu_nothing(void**, unsigned, const void*) {}
HOST void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE()) {
  emu_meet(mask, emu_nothing, nullptr, nullptr, line, "__syncwarp");
}
HOST void __threadfence() { emu_yield(); }
HOST void __threadfence_block() {}
HOST void __nanosleep(unsigned) { emu_yield(); }
HOST void __trap() { emu_fail("the kernel trapped"); }

template <class T> HOST T emu_from_lane(unsigned mask, T x, int source, int line) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &x, sizeof(x));
  emu_shuffle(mask, &bits, source, line);
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
template <class T> HOST T __shfl_sync(unsigned m, T x, int from, int width = 32, int line = __builtin_LINE()) {
  const int first = (int)emu_lane() & ~(width - 1);
  return emu_from_lane(m, x, first + (from & (width - 1)), line);
}
template <class T> HOST T __shfl_xor_sync(unsigned m, T x, int d, int width = 32, int line = __builtin_LINE()) {
  const int lane = (int)emu_lane(), from = lane ^ d;
  return emu_from_lane(m, x, from / width <= lane / width ? from : lane, line);
}
template <class T> HOST T __shfl_up_sync(unsigned m, T x, unsigned d, int width = 32, int line = __builtin_LINE()) {
  const int lane = (int)emu_lane(), from = lane - (int)d;
  return emu_from_lane(m, x, from >= (lane & ~(width - 1)) ? from : lane, line);
}
template <class T> HOST T __shfl_down_sync(unsigned m, T x, unsigned d, int width = 32, int line = __builtin_LINE()) {
  const int lane = (int)emu_lane(), from = lane + (int)d;
  return emu_from_lane(m, x, from <= (lane | (width - 1)) ? from : lane, line);
}
HOST unsigned __ballot_sync(unsigned m, bool x, int line = __builtin_LINE()) { return emu_ballot(m, x, line); }
HOST int __any_sync(unsigned m, bool x, int line = __builtin_LINE()) { return emu_ballot(m, x, line) != 0; }
HOST int __all_sync(unsigned m, bool x, int line = __builtin_LINE()) { return emu_ballot(m, !x, line) == 0; }

// Memory that blocks share.
#define EMU_ATOMIC(NAME, NEW) \
  template <class T> HOST T NAME(T* p, T x) { \
    emu_yield(); \
    const T old = *p; \
    *p = NEW; \
    return old; \
  }
EMU_ATOMIC(emu_add, old + x)
EMU_ATOMIC(emu_max, old < x ? x : old)
EMU_ATOMIC(emu_min, x < old ? x : old)
EMU_ATOMIC(emu_and, old & x)
EMU_ATOMIC(emu_or, old | x)
EMU_ATOMIC(emu_exch, x)
HOST int atomicAdd(int* p, int x) { return (int)emu_add((unsigned*)p, (unsigned)x); }
HOST unsigned atomicAdd(unsigned* p, unsigned x) { return emu_add(p, x); }
HOST unsigned long long atomicAdd(unsigned long long* p, unsigned long long x) { return emu_add(p, x); }
HOST float atomicAdd(float* p, float x) { return emu_add(p, x); }
HOST double atomicAdd(double* p, double x) { return emu_add(p, x); }
template <class T> HOST T atomicMax(T* p, T x) { return emu_max(p, x); }
template <class T> HOST T atomicMin(T* p, T x) { return emu_min(p, x); }
template <class T> HOST T atomicAnd(T* p, T x) { return emu_and(p, x); }
template <class T> HOST T atomicOr(T* p, T x) { return emu_or(p, x); }
template <class T> HOST T atomicExch(T* p, T x) { return emu_exch(p, x); }
template <class T> HOST T atomicCAS(T* p, T expected, T x) {
  emu_yield();
  const T old = *p;
  if (old == expected) *p = x;
  return old;
}
template <class T> HOST T __ldg(const T* p) { return *p; }

// `*(volatile T*)p` is written as `EmuWatch<T>() ->* p`, which binds as tightly.
template <class T> struct EmuWatch {
  int line;
  EmuWatch(int line = __builtin_LINE()) : line(line) {}
  template <class P> T& operator->*(P* p) const {
    emu_watch(line);
    return *(T*)p;
  }
};

HOST unsigned long long __cvta_generic_to_shared(const void* p) { return emu_shared_address(p); }

// Calls the kernel with arguments that lie at the addresses of an array.
template <int... I> struct EmuNumbers {};
template <int N, int... I> struct EmuCount : EmuCount<N - 1, N - 1, I...> {};
template <int... I> struct EmuCount<0, I...> { typedef EmuNumbers<I...> type; };
template <class T> struct EmuPlain { typedef T type; };
template <class T> struct EmuPlain<const T> { typedef T type; };
template <class... P, int... I> HOST void emu_apply(void (*kernel)(P...), void** args, EmuNumbers<I...>) {
  kernel(*(typename EmuPlain<P>::type*)args[I]...);
}
template <class... P> HOST void emu_call(void (*kernel)(P...), void** args) {
  emu_apply(kernel, args, typename EmuCount<sizeof...(P)>::type());
}
