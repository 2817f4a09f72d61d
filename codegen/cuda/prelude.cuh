// Functions that emitted CUDA uses, beside those of c_family/functions.h, in the same form.

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

// What threads wrote to shared memory is seen by units that read it themselves.
DEVICE void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Barriers with phases: made for `count` arrivals, told of bytes to come, waited for by parity.
DEVICE void phase_init(unsigned long long* b, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(b)), "r"(count) : "memory");
}

DEVICE void phase_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  fence_async_proxy();
}

DEVICE void phase_arrive(unsigned long long* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(b)) : "memory");
}

DEVICE void phase_expect(unsigned long long* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(b)), "r"(bytes) : "memory");
}

DEVICE unsigned phase_ended(const unsigned long long* b, unsigned parity) {
  unsigned ended;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
    : "=r"(ended) : "r"(shared_address(b)), "r"(parity) : "memory");
  return ended;
}

DEVICE void phase_await(const unsigned long long* b, unsigned parity) {
  while (!phase_ended(b, parity)) {}
}

// Bytes in a row to shared memory; a barrier is told of them. They leave the cache before others do:
// packed weights are read by few blocks, and at one time.
DEVICE void bulk_load_run(void* to, const void* from, unsigned long long* b, int bytes) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
    :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(b)), "l"(policy) : "memory");
}

// Boxes of tensors to shared memory; a barrier is told of their bytes.
DEVICE void bulk_load_2d(void* to, const TensorMap* map, unsigned long long* b, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y) : "memory");
}

DEVICE void bulk_load_3d(void* to, const TensorMap* map, unsigned long long* b, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z) : "memory");
}

DEVICE void bulk_load_4d(void* to, const TensorMap* map, unsigned long long* b, int x, int y, int z, int u) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
}

DEVICE void bulk_load_5d(void* to, const TensorMap* map, unsigned long long* b, int x, int y, int z, int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}

// Boxes from shared memory, in groups: those waited for have been read.
DEVICE void bulk_store_2d(const TensorMap* map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y) : "memory");
}

DEVICE void bulk_store_3d(const TensorMap* map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y), "r"(z) : "memory");
}

DEVICE void bulk_store_4d(const TensorMap* map, const void* from, int x, int y, int z, int u) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
}

DEVICE void bulk_store_5d(const TensorMap* map, const void* from, int x, int y, int z, int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}

// The same to one place in the blocks of a cluster that a mask has bits for; each one's barrier is told.
DEVICE void bulk_multicast_run(void* to, const void* from, unsigned long long* b, int mask, int bytes) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1], %2, [%3], %4, %5;"
    :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(b)), "h"((unsigned short)mask), "l"(policy) : "memory");
}

DEVICE void bulk_multicast_2d(void* to, const TensorMap* map, unsigned long long* b, int mask, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "h"((unsigned short)mask) : "memory");
}

DEVICE void bulk_multicast_3d(void* to, const TensorMap* map, unsigned long long* b, int mask, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "h"((unsigned short)mask) : "memory");
}

DEVICE void bulk_multicast_4d(void* to, const TensorMap* map, unsigned long long* b, int mask, int x, int y, int z, int u) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "h"((unsigned short)mask) : "memory");
}

DEVICE void bulk_multicast_5d(void* to, const TensorMap* map, unsigned long long* b, int mask, int x, int y, int z, int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "h"((unsigned short)mask) : "memory");
}

// Clusters: a barrier of their threads, an arrival in the block of a rank, its memory.
DEVICE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The same where nothing that was written is for others to see, but for barriers that were fenced.
DEVICE void cluster_meet() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

DEVICE void phase_arrive_at(unsigned long long* b, int rank) {
  unsigned at;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(b)), "r"(rank));
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(at) : "memory");
}

template <class T> DEVICE T* in_block(T* p, int rank) {
  T* there; asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank)); return there;
}

DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

template <int N> DEVICE void bulk_wait() { asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory"); }

// Products of warpgroups: ordered after what wrote the registers, closed to a group, waited for.
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Where there are calls nothing is under way beside them.
template <int N> DEVICE void wgmma_wait() {
#ifdef KEEP_REGISTERS
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#else
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
#endif
}

// A unit has written these registers.
template <int N> DEVICE void changed_floats(float* d) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
}

template <int N> DEVICE void changed_integers(int* d) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(d[i]) :: "memory");
}

// The registers of a left operand live until here. Where there are calls, only an instruction says so:
// one that is never carried out, since there is a multiprocessor.
template <int N> DEVICE void keep_registers(const unsigned* a) {
#ifdef KEEP_REGISTERS
  unsigned multiprocessors;
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
  if (multiprocessors == 0) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("st.shared.u32 [%0], %1;" :: "r"(0), "r"(a[i]) : "memory");
  }
#endif
}

// An operand in the block's own shared memory: strides in bytes, the code of the swizzle. In a cluster
// addresses have the block's rank above.
DEVICE unsigned long long matrix_descriptor(const void* p, int leading, int stride, int swizzle) {
  return (unsigned long long)((shared_address(p) & 0x3ffffu) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}

DEVICE void ldmatrix_x4(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x4_trans(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(shared_address(p)) : "memory");
}

DEVICE int atomic_add_i32(int* p, int x) { return atomicAdd(p, x); }

DEVICE unsigned atomic_add_u32(unsigned* p, unsigned x) { return atomicAdd(p, x); }

DEVICE long long atomic_add_i64(long long* p, long long x) {
  return (long long)atomicAdd((unsigned long long*)p, (unsigned long long)x);
}

DEVICE unsigned long long atomic_add_u64(unsigned long long* p, unsigned long long x) { return atomicAdd(p, x); }

DEVICE float atomic_add_f32(float* p, float x) { return atomicAdd(p, x); }

DEVICE double atomic_add_f64(double* p, double x) { return atomicAdd(p, x); }

DEVICE float atomic_add_f16(unsigned short* p, float x) {
  unsigned short seen = *(volatile unsigned short*)p, old;
  do {
    old = seen;
    seen = atomicCAS(p, old, (unsigned short)encode_f16(decode_f16(old) + x));
  } while (seen != old);
  return decode_f16(old);
}

DEVICE float atomic_add_bf16(unsigned short* p, float x) {
  unsigned short seen = *(volatile unsigned short*)p, old;
  do {
    old = seen;
    seen = atomicCAS(p, old, (unsigned short)encode_bf16(decode_bf16(old) + x));
  } while (seen != old);
  return decode_bf16(old);
}

template <class T> DEVICE void await_value(T* p, T value) {
  while (*(volatile T*)p != value) {}
}

template <class T> DEVICE void set_value(T* p, T value) { *(volatile T*)p = value; }

DEVICE void atomic_add_f16x2(unsigned short* p, unsigned x) {
  atomic_add_f16(p, decode_f16(x & 0xffffu)), atomic_add_f16(p + 1, decode_f16(x >> 16));
}

DEVICE void atomic_add_bf16x2(unsigned short* p, unsigned x) {
  atomic_add_bf16(p, decode_bf16(x & 0xffffu)), atomic_add_bf16(p + 1, decode_bf16(x >> 16));
}

DEVICE void ldmatrix_x2(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
    : "=r"(w[0]), "=r"(w[1]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x2_trans(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
    : "=r"(w[0]), "=r"(w[1]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x1(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
    : "=r"(w[0]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x1_trans(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
    : "=r"(w[0]) : "r"(shared_address(p)) : "memory");
}

DEVICE void stmatrix_x1(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
    :: "r"(shared_address(p)), "r"(w[0]) : "memory");
}

DEVICE void stmatrix_x1_trans(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
    :: "r"(shared_address(p)), "r"(w[0]) : "memory");
}

DEVICE void stmatrix_x2(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]) : "memory");
}

DEVICE void stmatrix_x2_trans(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]) : "memory");
}

DEVICE void stmatrix_x4(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

DEVICE void stmatrix_x4_trans(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// Warps aside: the barrier of the others, and registers that go from the ones to the others.
DEVICE void barrier_of_some(int threads) { asm volatile("bar.sync 1, %0;" :: "r"(threads) : "memory"); }

// Two warpgroups that alternate: number g waits at barrier 2 + g, at which the other one counts.
DEVICE void await_partner(int g) { asm volatile("bar.sync %0, 256;" :: "r"(2 + g) : "memory"); }

DEVICE void hand_over(int g) { asm volatile("bar.arrive %0, 256;" :: "r"(3 - g) : "memory"); }

DEVICE void hold_address(const void* shared) { asm volatile("" :: "r"(shared_address(shared)) : "memory"); }

template <int N> DEVICE void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N)); }

template <int N> DEVICE void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N)); }

// Launches that overlap (PTX ISA 8.5, 9.7.13.13): the next may begin; those before have ended.
DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

DEVICE void await_launches() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

DEVICE void may_have_changed(const void* p) { asm volatile("" :: "l"(p) : "memory"); }

// Bytes in a row to the level-2 cache: multiples of 16 from a multiple of 16 on (9.7.9.27).
DEVICE void prefetch_run(const void* from, int bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(from), "r"(bytes) : "memory");
}

