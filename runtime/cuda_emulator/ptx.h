// Host versions of PTX instructions, one function a mnemonic with its dots as underscores: emitted
// `asm` statements are translated to calls of them. An instruction that is missing here is an error.
// Meanings: PTX ISA 8.5, chapter 9.7.
#pragma once
#include "emulator.h"

static int _ __attribute__((unused));  // where PTX writes what nobody wants

namespace ptx {

// Conversions (9.7.9.21).
HOST void cvt_f32_f16(float& d, unsigned short a) { d = (float)emu_decode(a, 5, 10); }
HOST void cvt_rn_f16_f32(unsigned short& d, float a) { d = (unsigned short)emu_encode(a, 5, 10); }
HOST void cvt_rn_bf16_f32(unsigned short& d, float a) { d = (unsigned short)emu_encode(a, 8, 7); }
HOST void cvt_rn_f16x2_f32(unsigned& d, float high, float low) {
  d = emu_encode(high, 5, 10) << 16 | emu_encode(low, 5, 10);
}
HOST void cvt_rn_bf16x2_f32(unsigned& d, float high, float low) {
  d = emu_encode(high, 8, 7) << 16 | emu_encode(low, 8, 7);
}
// No infinities; with one bit of exponent more, 2^-8 times the number.
HOST unsigned half_of_e4m3(unsigned code) {
  const unsigned magnitude = code & 0x7fu;
  if (magnitude == 0x7fu) return 0x7fffu;
  return emu_encode(emu_decode((code & 0x80u) << 1 | magnitude, 5, 3) * 256.0, 5, 10);
}
HOST void cvt_rn_f16x2_e4m3x2(unsigned& d, unsigned short a) {
  d = half_of_e4m3(a >> 8) << 16 | half_of_e4m3(a & 0xffu);
}
// To the nearest of the type, at most its greatest number (satfinite); NaN is 0x7f (9.7.9.21, cvt with .satfinite).
HOST double within(double a, double most) { return a > most ? most : a < -most ? -most : a; }
HOST unsigned e4m3_of(float a) {
  if (a != a) return 0x7fu;
  const unsigned code = emu_encode(within(a, 448.0) / 256.0, 5, 3);
  return (code & 0x100u) >> 1 | (code & 0x7fu);
}
HOST unsigned e5m2_of(float a) { return a != a ? 0x7fu : emu_encode(within(a, 57344.0), 5, 2); }
HOST void cvt_rn_satfinite_e4m3x2_f32(unsigned short& d, float high, float low) {
  d = (unsigned short)(e4m3_of(high) << 8 | e4m3_of(low));
}
HOST void cvt_rn_satfinite_e5m2x2_f32(unsigned short& d, float high, float low) {
  d = (unsigned short)(e5m2_of(high) << 8 | e5m2_of(low));
}
// What is no number of the type saturates; NaN gives 0 (the greatest for 64 bits is not relied on).
template <class T> HOST T truncated(double a, double low, double above) {
  if (a != a) return 0;
  if (a <= low) return (T)low;
  return a >= above ? (T)~((T)low) : (T)a;
}
HOST void cvt_rzi_s32_f32(int& d, float a) { d = truncated<int>(a, -2147483648.0, 2147483648.0); }
HOST void cvt_rzi_u32_f32(unsigned& d, float a) { d = truncated<unsigned>(a, 0.0, 4294967296.0); }
HOST void cvt_rzi_s64_f64(long long& d, double a) {
  d = truncated<long long>(a, -9223372036854775808.0, 9223372036854775808.0);
}
HOST void cvt_rzi_u64_f64(unsigned long long& d, double a) {
  d = truncated<unsigned long long>(a, 0.0, 18446744073709551616.0);
}

// Arithmetic on pairs of halves (9.7.4): each operation rounds once.
template <int X, int Y> HOST double half(unsigned w, int i) { return emu_decode(w >> 16 * i & 0xffffu, X, Y); }
template <int X, int Y> HOST unsigned pair(double low, double high) {
  return emu_encode(high, X, Y) << 16 | emu_encode(low, X, Y);
}
template <int X, int Y> HOST void fma2(unsigned& d, unsigned a, unsigned b, unsigned c) {
  double r[2];
  for (int i = 0; i < 2; ++i) r[i] = emu_odd(half<X, Y>(a, i) * half<X, Y>(b, i), half<X, Y>(c, i));
  d = pair<X, Y>(r[0], r[1]);
}
template <int X, int Y> HOST void add2(unsigned& d, unsigned a, unsigned b, double sign) {
  double r[2];
  for (int i = 0; i < 2; ++i) r[i] = emu_odd(half<X, Y>(a, i), sign * half<X, Y>(b, i));
  d = pair<X, Y>(r[0], r[1]);
}
template <int X, int Y> HOST void mul2(unsigned& d, unsigned a, unsigned b) {
  d = pair<X, Y>(half<X, Y>(a, 0) * half<X, Y>(b, 0), half<X, Y>(a, 1) * half<X, Y>(b, 1));
}
HOST void fma_rn_f16x2(unsigned& d, unsigned a, unsigned b, unsigned c) { fma2<5, 10>(d, a, b, c); }
HOST void fma_rn_bf16x2(unsigned& d, unsigned a, unsigned b, unsigned c) { fma2<8, 7>(d, a, b, c); }
HOST void add_rn_f16x2(unsigned& d, unsigned a, unsigned b) { add2<5, 10>(d, a, b, 1.0); }
HOST void sub_rn_f16x2(unsigned& d, unsigned a, unsigned b) { add2<5, 10>(d, a, b, -1.0); }
HOST void mul_rn_f16x2(unsigned& d, unsigned a, unsigned b) { mul2<5, 10>(d, a, b); }
HOST void add_f16x2(unsigned& d, unsigned a, unsigned b) { add2<5, 10>(d, a, b, 1.0); }
HOST void sub_f16x2(unsigned& d, unsigned a, unsigned b) { add2<5, 10>(d, a, b, -1.0); }
HOST void mul_f16x2(unsigned& d, unsigned a, unsigned b) { mul2<5, 10>(d, a, b); }
HOST void neg_f16x2(unsigned& d, unsigned a) { d = a ^ 0x80008000u; }
HOST void neg_bf16x2(unsigned& d, unsigned a) { d = a ^ 0x80008000u; }
HOST void abs_f16x2(unsigned& d, unsigned a) { d = a & 0x7fff7fffu; }
HOST void abs_bf16x2(unsigned& d, unsigned a) { d = a & 0x7fff7fffu; }
// The greater and the lesser; NaN wins with .NaN, else the number does.
template <int X, int Y> HOST void best2(unsigned& d, unsigned a, unsigned b, double sign, bool nan) {
  d = 0;
  for (int i = 0; i < 2; ++i) {
    const unsigned p = a >> 16 * i & 0xffffu, q = b >> 16 * i & 0xffffu;
    const double x = half<X, Y>(a, i), y = half<X, Y>(b, i);
    unsigned r = sign * x > sign * y ? p : q;
    if (x == y) r = sign > 0 ? p & q : p | q;  // -0 is less than +0
    if (x != x || y != y) r = nan || (x != x && y != y) ? 0x7fffu : x != x ? q : p;
    d |= r << 16 * i;
  }
}
HOST void max_f16x2(unsigned& d, unsigned a, unsigned b) { best2<5, 10>(d, a, b, 1.0, false); }
HOST void min_f16x2(unsigned& d, unsigned a, unsigned b) { best2<5, 10>(d, a, b, -1.0, false); }
HOST void max_bf16x2(unsigned& d, unsigned a, unsigned b) { best2<8, 7>(d, a, b, 1.0, false); }
HOST void min_bf16x2(unsigned& d, unsigned a, unsigned b) { best2<8, 7>(d, a, b, -1.0, false); }
HOST void max_NaN_f16x2(unsigned& d, unsigned a, unsigned b) { best2<5, 10>(d, a, b, 1.0, true); }
HOST void min_NaN_f16x2(unsigned& d, unsigned a, unsigned b) { best2<5, 10>(d, a, b, -1.0, true); }
HOST void max_NaN_bf16x2(unsigned& d, unsigned a, unsigned b) { best2<8, 7>(d, a, b, 1.0, true); }
HOST void min_NaN_bf16x2(unsigned& d, unsigned a, unsigned b) { best2<8, 7>(d, a, b, -1.0, true); }

// f32: within 2 ulp, as the hardware's; subnormal arguments are kept without .ftz.
HOST void ex2_approx_f32(float& d, float a) { d = exp2f(a); }
HOST void ex2_approx_ftz_f32(float& d, float a) { d = exp2f(a); }
HOST void rcp_approx_f32(float& d, float a) { d = 1.0f / a; }
HOST void min_NaN_f32(float& d, float a, float b) { d = a != a ? a : b != b ? b : a < b ? a : b; }
HOST void max_NaN_f32(float& d, float a, float b) { d = a != a ? a : b != b ? b : a > b ? a : b; }
HOST void rcp_approx_ftz_f32(float& d, float a) { d = 1.0f / a; }
HOST void rsqrt_approx_f32(float& d, float a) { d = rsqrtf(a); }
HOST void tanh_approx_f32(float& d, float a) { d = tanhf(a); }

// Bits (9.7.7, 9.7.8).
HOST void set_lt_u32_s32(unsigned& d, int a, int b) { d = a < b ? ~0u : 0u; }
HOST void set_lt_u32_u32(unsigned& d, unsigned a, unsigned b) { d = a < b ? ~0u : 0u; }
HOST void lop3_b32(unsigned& d, unsigned a, unsigned b, unsigned c, unsigned truth) {
  unsigned r = 0;
  for (unsigned k = 0; k < 8; ++k)
    if (truth >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  d = r;
}
HOST void prmt_b32(unsigned& d, unsigned a, unsigned b, unsigned c) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned s = c >> 4 * i & 15, byte = (unsigned)(both >> (s & 7) * 8 & 255);
    r |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
  }
  d = r;
}
HOST void shf_r_wrap_b32(unsigned& d, unsigned a, unsigned b, unsigned n) { d = __funnelshift_r(a, b, n); }
HOST void shf_l_wrap_b32(unsigned& d, unsigned a, unsigned b, unsigned n) { d = __funnelshift_l(a, b, n); }
HOST void dp4a_s32_s32(int& d, int a, int b, int c) { d = __dp4a(a, b, c); }

// Copies that land later (9.7.8.24).
HOST void cp_async_cg_shared_global(unsigned to, const void* from, int bytes, int used) { emu_copy(to, from, bytes, used); }
HOST void cp_async_cg_shared_global(unsigned to, const void* from, int bytes) { emu_copy(to, from, bytes, bytes); }
HOST void cp_async_ca_shared_global(unsigned to, const void* from, int bytes, int used) { emu_copy(to, from, bytes, used); }
HOST void cp_async_ca_shared_global(unsigned to, const void* from, int bytes) { emu_copy(to, from, bytes, bytes); }
HOST void cp_async_commit_group() { emu_commit(); }
HOST void cp_async_wait_group(int pending) { emu_wait(pending); }
HOST void cp_async_wait_all() { emu_wait(-1); }

HOST void bar_arrive(int id, int count) { emu_barrier_arrive(id, count); }
HOST void bar_sync(int id, int count = 0, int line = __builtin_LINE()) { emu_barrier(line, id, count); }
HOST void bar_warp_sync(unsigned mask, int line = __builtin_LINE()) { __syncwarp(mask, line); }

// Matrices of 8 x 8 16-bit elements (9.7.14.5.15): the address is the last operand.
template <bool T, class... R> HOST void ldmatrix(R&&... operands) {
  unsigned* const at[] = {(unsigned*)&operands...};
  const int count = sizeof...(R) - 1;
  unsigned words[4] = {};
  emu_ldmatrix(words, *at[count], count, T, 0);
  for (int i = 0; i < count; ++i) *at[i] = words[i];
}
HOST void ldmatrix_sync_aligned_m8n8_x1_shared_b16(unsigned& a, unsigned p) { ldmatrix<false>(a, p); }
HOST void ldmatrix_sync_aligned_m8n8_x2_shared_b16(unsigned& a, unsigned& b, unsigned p) { ldmatrix<false>(a, b, p); }
HOST void ldmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned p) { ldmatrix<false>(a, b, c, d, p); }
HOST void ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16(unsigned& a, unsigned p) { ldmatrix<true>(a, p); }
HOST void ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16(unsigned& a, unsigned& b, unsigned p) { ldmatrix<true>(a, b, p); }
HOST void ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned p) { ldmatrix<true>(a, b, c, d, p); }

// Their counterpart (9.7.14.5.16): the address is the first operand.
template <bool T, class... R> HOST void stmatrix(unsigned p, R... words) {
  const unsigned held[] = {words...};
  emu_stmatrix(held, p, sizeof...(R), T, 0);
}
HOST void stmatrix_sync_aligned_m8n8_x1_shared_b16(unsigned p, unsigned a) { stmatrix<false>(p, a); }
HOST void stmatrix_sync_aligned_m8n8_x1_trans_shared_b16(unsigned p, unsigned a) { stmatrix<true>(p, a); }
HOST void stmatrix_sync_aligned_m8n8_x2_shared_b16(unsigned p, unsigned a, unsigned b) { stmatrix<false>(p, a, b); }
HOST void stmatrix_sync_aligned_m8n8_x2_trans_shared_b16(unsigned p, unsigned a, unsigned b) { stmatrix<true>(p, a, b); }
HOST void stmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned p, unsigned a, unsigned b, unsigned c, unsigned d) { stmatrix<false>(p, a, b, c, d); }
HOST void stmatrix_sync_aligned_m8n8_x4_trans_shared_b16(unsigned p, unsigned a, unsigned b, unsigned c, unsigned d) { stmatrix<true>(p, a, b, c, d); }

// Products of a warp (9.7.14.5): d, a, b, c registers in this order, as PTX writes them.
HOST unsigned long long raw(float x) { return emu_bits<unsigned>(x); }
HOST unsigned long long raw(double x) { return emu_bits<unsigned long long>(x); }
HOST unsigned long long raw(unsigned x) { return x; }
HOST unsigned long long raw(int x) { return (unsigned)x; }
HOST void put(float& x, unsigned long long v) { x = emu_bits<float>((unsigned)v); }
HOST void put(double& x, unsigned long long v) { x = emu_bits<double>(v); }
HOST void put(unsigned& x, unsigned long long v) { x = (unsigned)v; }
HOST void put(int& x, unsigned long long v) { x = (int)v; }
template <class T> HOST void put(const T&, unsigned long long) { emu_fail("an input register of mma is its result"); }

template <class... R> HOST void mma(const Product& form, R&&... r) {
  unsigned long long registers[] = {raw(r)...};
  if (sizeof...(R) != 2 * form.lanes_d + form.lanes_a + form.lanes_b)
    emu_fail("%s has %d operands", form.name, (int)sizeof...(R));
  emu_product(&form, registers);
  int i = 0;
  ((i < form.lanes_d ? (put(r, registers[i]), ++i) : ++i), ...);
}
#define PTX_MMA(M, N, K, D, A, B, ND, NA, NB) \
  template <class... R> HOST void mma_sync_aligned_m##M##n##N##k##K##_row_col_##D##_##A##_##B##_##D(R&&... r) { \
    static const Product form = {"mma.m" #M "n" #N "k" #K "." #D "." #A "." #B "." #D, \
                                 M, N, K, #D, #A, #B, ND, NA, NB}; \
    mma(form, r...); \
  }
#define PTX_MMA_PAIRS(M, N, K, D, A, B, ND, NA, NB) \
  PTX_MMA(M, N, K, D, A, A, ND, NA, NB) PTX_MMA(M, N, K, D, A, B, ND, NA, NB) \
  PTX_MMA(M, N, K, D, B, A, ND, NA, NB) PTX_MMA(M, N, K, D, B, B, ND, NA, NB)
PTX_MMA(16, 8, 16, f32, f16, f16, 4, 4, 2)
PTX_MMA(16, 8, 16, f32, bf16, bf16, 4, 4, 2)
PTX_MMA(16, 8, 8, f32, f16, f16, 4, 2, 1)
PTX_MMA(16, 8, 8, f32, bf16, bf16, 4, 2, 1)
PTX_MMA(16, 8, 8, f32, tf32, tf32, 4, 4, 2)
PTX_MMA(16, 8, 4, f32, tf32, tf32, 4, 2, 1)
PTX_MMA(8, 8, 4, f64, f64, f64, 2, 1, 1)
PTX_MMA_PAIRS(16, 8, 32, f32, e4m3, e5m2, 4, 4, 2)
PTX_MMA_PAIRS(16, 8, 32, s32, s8, u8, 4, 4, 2)
PTX_MMA_PAIRS(16, 8, 16, s32, s8, u8, 4, 2, 1)
PTX_MMA_PAIRS(16, 8, 64, s32, s4, u4, 4, 4, 2)
PTX_MMA_PAIRS(16, 8, 32, s32, s4, u4, 4, 2, 1)


// Products of a warpgroup (9.7.15): registers of d, a descriptor or four registers of a, the descriptor
// of b, scale-d, the other flags.
HOST unsigned long long flag(unsigned long long x) { return x; }
HOST unsigned long long flag(unsigned x) { return x; }
HOST unsigned long long flag(int x) { return (unsigned)x; }
HOST unsigned long long flag(float) { return 0; }
template <class... R> HOST void wgmma(int n, int k, const char* d, const char* a, const char* b, R&&... r) {
  const int count = n / 2, all = (int)sizeof...(R);
  void* at[] = {(void*)&r...};
  const unsigned long long rest[] = {flag(r)...};
  const int own = all - count;  // beside the result: 3, 5 or 7 with a in memory, else 6, 8 or 9
  const bool in_registers = own == 6 || own == 8 || own == 9;
  const int first = count + (in_registers ? 4 : 1);  // the descriptor of b
  if (!in_registers && own != 3 && own != 5 && own != 7) emu_fail("wgmma has %d operands", all);
  for (int i = first + 1; i < all && i < first + 4; ++i)
    if (rest[i] != 1) emu_fail("wgmma whose scales are not 1");
  const bool left = own == 7 && rest[all - 2], right = (own == 7 || own == 9) && rest[all - 1];
  emu_wgmma(n, k, d, a, b, at, count, in_registers ? &at[count] : nullptr, rest[count], rest[first], left, right);
}
HOST void wgmma_fence_sync_aligned() { emu_wgmma_fence(); }
HOST void wgmma_commit_group_sync_aligned() { emu_wgmma_commit(); }
HOST void wgmma_wait_group_sync_aligned(int pending, int line = __builtin_LINE()) { emu_wgmma_wait(pending, line); }
HOST void setmaxnreg_dec_sync_aligned_u32(int) {}
HOST void setmaxnreg_inc_sync_aligned_u32(int) {}
HOST void mov_u32(unsigned& d, unsigned a) { d = a; }
HOST void st_shared_u32(unsigned, unsigned) { emu_fail("a use that only keeps registers is carried out"); }
HOST void fence_proxy_async_shared_cta() { emu_proxy_fence(); }

// Launches that overlap (9.7.13.13), and what may go before the wait (9.7.9.27).
HOST void griddepcontrol_wait(int line = __builtin_LINE()) { emu_await_launches(line); }
HOST void griddepcontrol_launch_dependents() {}
HOST void cp_async_bulk_prefetch_L2_global(const void* from, int bytes) { emu_prefetch(from, bytes); }

// Barriers with phases (9.7.13.15), and bulk copies of boxes that they count (9.7.9.27).
HOST void mbarrier_init_shared_cta_b64(unsigned at, int count) { emu_phase_init(at, (unsigned)count); }
HOST void fence_mbarrier_init_release_cluster() {}
HOST void mbarrier_arrive_shared_cta_b64(int, unsigned at) { emu_phase_arrive(at, 0); }
HOST void mbarrier_arrive_shared_cluster_b64(int, unsigned at) { emu_phase_arrive(at, 0); }
HOST void mbarrier_arrive_expect_tx_shared_cta_b64(int, unsigned at, int bytes) { emu_phase_arrive(at, bytes); }
HOST void mbarrier_try_wait_parity_shared_cta_b64(int& ended, unsigned at, unsigned parity, int line = __builtin_LINE()) {
  emu_phase_wait(at, parity, line);
  ended = 1;
}
HOST void selp_u32(unsigned& d, unsigned a, unsigned b, int p) { d = p ? a : b; }
template <class... I> HOST void bulk_load(unsigned to, const void* map, I... rest) {
  const int at[] = {(int)rest..., 0, 0, 0, 0, 0};
  emu_bulk_load((const TensorBox*)map, at, to, (unsigned)at[sizeof...(I) - 1]);
}
template <class... I> HOST void bulk_multicast(unsigned to, const void* map, I... rest) {
  const int at[] = {(int)rest..., 0, 0, 0, 0, 0};
  const unsigned barrier = (unsigned)at[sizeof...(I) - 2], mask = (unsigned)at[sizeof...(I) - 1];
  emu_bulk_multicast((const TensorBox*)map, at, to, barrier, mask);
}
// Clusters (9.7.13.3, 9.7.9.23).
HOST void barrier_cluster_arrive_release_aligned(int line = __builtin_LINE()) { emu_cluster_arrive(line); }
HOST void barrier_cluster_arrive_relaxed_aligned(int line = __builtin_LINE()) { emu_cluster_arrive(line); }
HOST void barrier_cluster_wait_aligned(int line = __builtin_LINE()) { emu_cluster_wait(line); }
HOST void barrier_cluster_wait_acquire_aligned(int line = __builtin_LINE()) { emu_cluster_wait(line); }
HOST void mapa_shared_cluster_u32(unsigned& d, unsigned a, int rank) { d = emu_mapped(a, (unsigned)rank); }
template <class T>
HOST void mapa_u64(T*& d, T* p, int rank) { d = (T*)emu_mapped_pointer(p, (unsigned)rank); }
// What the cache keeps longest (9.7.9.18) changes no number.
HOST void createpolicy_fractional_L2_evict_first_b64(unsigned long long& policy, float) { policy = 0; }
// Bytes in a row are a box with one axis of 16-byte elements.
HOST TensorBox row_of(unsigned to, const void* from, int bytes) {
  if (bytes % 16 || to % 16 || (unsigned long long)from % 16) emu_fail("a bulk copy of bytes that are no multiples of 16");
  const unsigned n = (unsigned)bytes / 16;
  return {(unsigned char*)from, {n}, {16}, {n}, n, 16, 0, 1};
}
HOST void cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_L2_cache_hint(unsigned to, const void* from, int bytes, unsigned barrier, unsigned long long) {
  const TensorBox row = row_of(to, from, bytes);
  const int at[5] = {};
  emu_bulk_load(&row, at, to, barrier);
}
HOST void cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_multicast_cluster_L2_cache_hint(unsigned to, const void* from, int bytes, unsigned barrier, unsigned short mask, unsigned long long) {
  const TensorBox row = row_of(to, from, bytes);
  const int at[5] = {};
  emu_bulk_multicast(&row, at, to, barrier, mask);
}
#define PTX_BULK(D) \
  template <class... I> HOST void cp_async_bulk_tensor_##D##d_shared_cluster_global_tile_mbarrier_complete_tx_bytes( \
      unsigned to, const void* map, I... rest) { \
    static_assert(sizeof...(I) == D + 1, "a box has as many coordinates as axes"); \
    bulk_load(to, map, rest...); \
  } \
  template <class... I> HOST void cp_async_bulk_tensor_##D##d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster( \
      unsigned to, const void* map, I... rest) { \
    static_assert(sizeof...(I) == D + 2, "a box has as many coordinates as axes"); \
    bulk_multicast(to, map, rest...); \
  } \
  template <class... I> HOST void cp_async_bulk_tensor_##D##d_global_shared_cta_tile_bulk_group( \
      const void* map, I... rest) { \
    static_assert(sizeof...(I) == D + 1, "a box has as many coordinates as axes"); \
    const int at[] = {(int)rest..., 0, 0, 0, 0, 0}; \
    emu_bulk_store((const TensorBox*)map, at, (unsigned)at[sizeof...(I) - 1]); \
  }
HOST void cp_async_bulk_commit_group() { emu_bulk_commit(); }
HOST void cp_async_bulk_wait_group_read(int pending) { emu_bulk_wait(pending); }
PTX_BULK(2)
PTX_BULK(3)
PTX_BULK(4)
PTX_BULK(5)

}  // namespace ptx
