"""HIP C++ kernels for the emulator's tests: small, each with what generated ones are made of."""

# ruff: noqa: E501 - kernels have their own lines

HEAD = r"""
#define KERNEL(THREADS) extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS))) void
#define DEVICE __attribute__((device, always_inline)) static inline
#define SHARED __attribute__((shared))
typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64; typedef int i32;
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef __bf16 bf16x4 __attribute__((ext_vector_type(4)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
"""

ADD = (
    HEAD
    + r"""
KERNEL(256) add(const float *a, const float *b, float *c, int n) {
  const int i = GROUP * 256 + LANE;
  if (i < n) c[i] = a[i] / b[i];
}
"""
)

TRANSPOSE = (
    HEAD
    + r"""
KERNEL(256) transpose(const float *x, float *y) {  // 64 x 64
  SHARED float t[64][65];
  const int lane = LANE % 64, wave = LANE / 64;
  for (int r = wave; r < 64; r += 4) t[r][lane] = x[r * 64 + lane];
  barrier();
  for (int r = wave; r < 64; r += 4) y[r * 64 + lane] = t[lane][r];
}
"""
)

REDUCTIONS = (
    HEAD
    + r"""
template <int CONTROL> DEVICE float moved(float x) {
  return __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, x), CONTROL, 15, 15, true));
}
KERNEL(64) by_dpp(const float *x, float *y) {  // the sum of each 16, at its last lane, and of all
  float v = x[LANE];
  v += moved<0x111>(v); v += moved<0x112>(v); v += moved<0x114>(v); v += moved<0x118>(v);
  y[LANE] = v;
  const float s = __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, v), 31));
  if (LANE == 0) y[64] = s;
}
KERNEL(64) by_permutes(const float *x, float *y) {
  float v = x[LANE];
  for (int k = 32; k; k /= 2)
    v += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((LANE ^ k) * 4, __builtin_bit_cast(int, v)));
  float w = x[LANE];
  w += __builtin_bit_cast(float, __builtin_amdgcn_ds_swizzle(__builtin_bit_cast(int, w), 0x041f));
  y[LANE] = v, y[64 + LANE] = w;
}
KERNEL(256) by_lds(const float *x, float *y, int n) {
  SHARED float part[4];
  float v = 0;
  for (int i = GROUP * 256 + LANE; i < n; i += 1024) v += x[i];
  for (int k = 32; k; k /= 2)
    v += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((LANE ^ k) * 4, __builtin_bit_cast(int, v)));
  if (LANE % 64 == 0) part[LANE / 64] = v;
  barrier();
  if (LANE == 0) y[GROUP] = part[0] + part[1] + part[2] + part[3];
}
"""
)

# C[M, N] = A[M, K] B[N, K]^T in bf16: tiles of 64 x 64, a ring of three stages that copies to LDS fill,
# chunks of 16 bytes swizzled by their row, waits that leave the newest copies on their way.
GEMM = (
    HEAD
    + r"""
enum { TM = 64, TN = 64, TK = 64, STAGES = 3, CHUNKS = TK / 8, ROW = TK * 2, TILE = TM * ROW };
#ifdef __gfx950__
#define COPY "buffer_load_dwordx4 %0, %1, 0 offen lds"
enum { EACH = 16 };
#else
#define COPY "buffer_load_dword %0, %1, 0 offen lds"
enum { EACH = 4 };
#endif
enum { COPIES = 2 * TILE / (256 * EACH) };
DEVICE i32x4 resource(const void *p, u32 bytes) {
  const u64 a = (u64)p;
  return (i32x4){(int)a, (int)(a >> 32), (int)bytes, 0x00020000};
}
DEVICE void copy(i32x4 from, u32 lds, int rows, int row0, int k0, int k) {
  const int wave = __builtin_amdgcn_readfirstlane(LANE / 64), lane = LANE % 64;
  for (int c = 0; c < COPIES / 2; c++) {
    const u32 at = (c * 4 + wave) * 64 * EACH + lane * EACH;
    const int row = at / ROW, chunk = at % ROW / 16 ^ row % CHUNKS;
    const int r = row0 + row < rows ? row0 + row : rows - 1;
    const u32 offset = (r * k + k0) * 2 + chunk * 16 + at % 16;
    const u32 m0 = __builtin_amdgcn_readfirstlane(lds + (c * 4 + wave) * 64 * EACH);
    asm volatile("s_mov_b32 m0, %2\n\ts_nop 0\n\t" COPY : : "v"(offset), "s"(from), "s"(m0) : "memory", "m0");
  }
}
DEVICE bf16x8 chunk_of(const char *tile, int row, int chunk) {
  return *(const bf16x8 *)(tile + row * ROW + (chunk ^ row % CHUNKS) * 16);
}
DEVICE f32x4 multiply(bf16x8 a, bf16x8 b, f32x4 c) {
#ifdef __gfx950__
  return __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0);
#else
  typedef short s16x4 __attribute__((ext_vector_type(4)));
  union { bf16x8 whole; s16x4 half[2]; } x = {a}, y = {b};
  c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.half[0], y.half[0], c, 0, 0, 0);
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.half[1], y.half[1], c, 0, 0, 0);
#endif
}
template <int N> DEVICE void wait() { asm volatile("s_waitcnt vmcnt(%0)" : : "i"(N) : "memory"); }

KERNEL(256) gemm(const __bf16 *a, const __bf16 *b, float *c, int m, int n, int k) {
  SHARED __attribute__((aligned(16))) char ring[STAGES * 2 * TILE];
  const int lane = LANE % 64, wave = LANE / 64, wm = wave / 2 * 32, wn = wave % 2 * 32;
  const int tiles = n / TN, row0 = GROUP / tiles * TM, col0 = GROUP % tiles * TN;
  const i32x4 ra = resource(a, m * k * 2), rb = resource(b, n * k * 2);
  const u32 at = (u32)(u64)(__attribute__((address_space(3))) char *)ring;
  const int turns = k / TK;
  f32x4 acc[2][2] = {};
  for (int s = 0; s < STAGES - 1; s++) {
    copy(ra, at + s * 2 * TILE, m, row0, s * TK, k);
    copy(rb, at + s * 2 * TILE + TILE, n, col0, s * TK, k);
  }
  for (int t = 0; t < turns; t++) {
    if (t + 1 < turns) wait<COPIES>(); else wait<0>();
    __builtin_amdgcn_s_barrier();
    if (t + STAGES - 1 < turns) {
      const u32 slot = at + (t + STAGES - 1) % STAGES * 2 * TILE;
      copy(ra, slot, m, row0, (t + STAGES - 1) * TK, k);
      copy(rb, slot + TILE, n, col0, (t + STAGES - 1) * TK, k);
    }
    const char *ta = ring + t % STAGES * 2 * TILE, *tb = ta + TILE;
    for (int kk = 0; kk < TK / 32; kk++) {
      bf16x8 x[2], y[2];
      for (int i = 0; i < 2; i++) x[i] = chunk_of(ta, wm + i * 16 + lane % 16, kk * 4 + lane / 16);
      for (int j = 0; j < 2; j++) y[j] = chunk_of(tb, wn + j * 16 + lane % 16, kk * 4 + lane / 16);
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) acc[i][j] = multiply(x[i], y[j], acc[i][j]);
    }
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int r = 0; r < 4; r++) {
        const int row = row0 + wm + i * 16 + lane / 16 * 4 + r, col = col0 + wn + j * 16 + lane % 16;
        if (row < m) c[row * n + col] = acc[i][j][r];
      }
}
"""
)

# Sums over K in several workgroups. split_k: each adds its share up in its workspace; the last to arrive
# adds the shares in order. signalled: the first clears the sums and says so, all add to them, the last
# takes the result. Both leave their counters as they found them.
SPLIT_K = (
    HEAD
    + r"""
#define PUT(to, x) __hip_atomic_store(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define GET(from) __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define ADD(to, x) __hip_atomic_fetch_add(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
KERNEL(128) split_k(const float *x, float *y, float *workspace, u32 *arrived, int n, int shares) {
  SHARED u32 last;
  const int column = GROUP / shares * 128 + LANE, share = GROUP % shares, each = n / shares;
  float sum = 0;
  for (int k = share * each; k < (share + 1) * each; k++) sum += x[k * 256 + column];
  PUT(&workspace[GROUP * 128 + LANE], sum);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __builtin_amdgcn_s_barrier();
  if (LANE == 0) last = ADD(&arrived[GROUP / shares], 1u) == shares - 1;
  barrier();
  if (!last) return;
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  float total = 0;
  for (int s = 0; s < shares; s++) total += GET(&workspace[(GROUP / shares * shares + s) * 128 + LANE]);
  y[column] = total;
  if (LANE == 0) PUT(&arrived[GROUP / shares], 0u);
}
KERNEL(64) signalled(const float *x, float *sums, float *y, u32 *signal, u32 *semaphore, int n, int shares) {
  const int share = GROUP, each = n / shares;
  float sum = 0;
  for (int k = share * each; k < (share + 1) * each; k++) sum += x[k * 64 + LANE];
  if (share == 0) {
    PUT(&sums[LANE], 0.f);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    if (LANE == 0) PUT(signal, 1u);
  }
  while (GET(signal) == 0) __builtin_amdgcn_s_sleep(1);
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  ADD(&sums[LANE], sum);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  u32 before = 0;
  if (LANE == 0) before = ADD(semaphore, 1u);
  if (__builtin_amdgcn_readfirstlane(before) != shares - 1) return;
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  y[LANE] = GET(&sums[LANE]);
  if (LANE == 0) {
    PUT(signal, 0u);
    PUT(semaphore, 0u);
  }
}
"""
)
