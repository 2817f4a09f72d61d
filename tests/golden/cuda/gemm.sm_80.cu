// gemm: one turn of its grid is one block of 128 threads.
// c = a @ b, accumulated in f32.

#define DEVICE static __device__ __forceinline__

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

DEVICE unsigned pack_f16(float low, float high) {
  unsigned w; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low)); return w;
}

DEVICE void store_16(void* p, const unsigned* w) { *(uint4*)p = make_uint4(w[0], w[1], w[2], w[3]); }

DEVICE unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

DEVICE void copy_async_16(void* to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(shared_address(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N> DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

DEVICE void ldmatrix_x4(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x4_trans(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(shared_address(p)) : "memory");
}

DEVICE void mma_m16n8k16_f16_f16(float* d, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(128)
gemm_kernel(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    unsigned short* __restrict__ c,
    int M,
    int K,
    int N) {
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned short* const a_ring = (unsigned short*)(shared + 49152);
  unsigned short* const b_ring = (unsigned short*)(shared + 0);
  const int tid = threadIdx.x;
  int turn = blockIdx.x;
  const int n = (int)((turn % ((N + 128 - 1) / 128)) * 128);
  turn /= ((N + 128 - 1) / 128);
  const int m = (int)((turn) * 64);
  const int at = tid / 8;
  const int at_1 = (tid % 8) * 8;
  const int at_2 = tid / 16;
  const int at_3 = (tid % 16) * 8;
  const int row = ((tid) % 16) * 1;
  const int column = ((tid / 16) % 2) * 8;
  const int column_1 = ((tid / 16) % 2) * 8 + (tid / 32) * 32;
  const int at_4 = tid / 4 % 8;
  const int at_5 = (tid / 32) * 32 + (tid % 4) * 2;
  unsigned char* const scratch = shared + 0;
  float acc[64] = {};
  #pragma unroll 1
  for (int stage = 0; stage < 2; ++stage) {
    if ((((long long)stage * 64) < K)) {
      {
        #pragma unroll
        for (int i_1 = 0; i_1 < 4; ++i_1) {
          copy_async_16(a_ring + ((stage)) * 4096 + ((at + i_1 * 16)) * 64 + (((at_1 + ((((at_1) / 8 % 8) ^ ((at + i_1 * 16) / 1 % 8)) - ((at_1) / 8 % 8)) * 8))), a + (long long)(m + at + i_1 * 16) * K + ((long long)stage * 64) + at_1, m + at + i_1 * 16 < M && ((long long)stage * 64) + at_1 < K);
        }
      }
      {
        #pragma unroll
        for (int i_2 = 0; i_2 < 8; ++i_2) {
          copy_async_16(b_ring + ((stage)) * 8192 + ((at_2 + i_2 * 8)) * 128 + (((at_3 + ((((at_3) / 8 % 8) ^ ((at_2 + i_2 * 8) / 1 % 8)) - ((at_3) / 8 % 8)) * 8))), b + (long long)(((long long)stage * 64) + at_2 + i_2 * 8) * N + n + at_3, ((long long)stage * 64) + at_2 + i_2 * 8 < K && n + at_3 < N);
        }
      }
    }
    copy_commit();
  }
  int slot = 0;
  int fill = 2;
  #pragma unroll 1
  for (int k = 0; k < K; k += 64) {
    copy_wait<1>();
    __syncthreads();
    if (((k + 128) < K)) {
      {
        #pragma unroll
        for (int i_3 = 0; i_3 < 4; ++i_3) {
          copy_async_16(a_ring + ((fill)) * 4096 + ((at + i_3 * 16)) * 64 + (((at_1 + ((((at_1) / 8 % 8) ^ ((at + i_3 * 16) / 1 % 8)) - ((at_1) / 8 % 8)) * 8))), a + (long long)(m + at + i_3 * 16) * K + (k + 128) + at_1, m + at + i_3 * 16 < M && (k + 128) + at_1 < K);
        }
      }
      {
        #pragma unroll
        for (int i_4 = 0; i_4 < 8; ++i_4) {
          copy_async_16(b_ring + ((fill)) * 8192 + ((at_2 + i_4 * 8)) * 128 + (((at_3 + ((((at_3) / 8 % 8) ^ ((at_2 + i_4 * 8) / 1 % 8)) - ((at_3) / 8 % 8)) * 8))), b + (long long)((k + 128) + at_2 + i_4 * 8) * N + n + at_3, (k + 128) + at_2 + i_4 * 8 < K && n + at_3 < N);
        }
      }
    }
    copy_commit();
    unsigned acc_1[16];
    ldmatrix_x4(&acc_1[0], a_ring + ((slot)) * 4096 + ((row)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row) / 1 % 8)) - ((column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_1[4], a_ring + ((slot)) * 4096 + ((row + 16)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row + 16) / 1 % 8)) - ((column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_1[8], a_ring + ((slot)) * 4096 + ((row + 32)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row + 32) / 1 % 8)) - ((column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_1[12], a_ring + ((slot)) * 4096 + ((row + 48)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row + 48) / 1 % 8)) - ((column) / 8 % 8)) * 8))));
    unsigned acc_2[8];
    ldmatrix_x4_trans(&acc_2[0], b_ring + ((slot)) * 8192 + ((row)) * 128 + (((column_1 + ((((column_1) / 8 % 8) ^ ((row) / 1 % 8)) - ((column_1) / 8 % 8)) * 8))));
    ldmatrix_x4_trans(&acc_2[4], b_ring + ((slot)) * 8192 + ((row)) * 128 + (((column_1 + 16 + ((((column_1 + 16) / 8 % 8) ^ ((row) / 1 % 8)) - ((column_1 + 16) / 8 % 8)) * 8))));
    unsigned acc_3[16];
    ldmatrix_x4(&acc_3[0], a_ring + ((slot)) * 4096 + ((row)) * 64 + (((16 + column + ((((16 + column) / 8 % 8) ^ ((row) / 1 % 8)) - ((16 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_3[4], a_ring + ((slot)) * 4096 + ((row + 16)) * 64 + (((16 + column + ((((16 + column) / 8 % 8) ^ ((row + 16) / 1 % 8)) - ((16 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_3[8], a_ring + ((slot)) * 4096 + ((row + 32)) * 64 + (((16 + column + ((((16 + column) / 8 % 8) ^ ((row + 32) / 1 % 8)) - ((16 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_3[12], a_ring + ((slot)) * 4096 + ((row + 48)) * 64 + (((16 + column + ((((16 + column) / 8 % 8) ^ ((row + 48) / 1 % 8)) - ((16 + column) / 8 % 8)) * 8))));
    unsigned acc_4[8];
    ldmatrix_x4_trans(&acc_4[0], b_ring + ((slot)) * 8192 + ((16 + row)) * 128 + (((column_1 + ((((column_1) / 8 % 8) ^ ((16 + row) / 1 % 8)) - ((column_1) / 8 % 8)) * 8))));
    ldmatrix_x4_trans(&acc_4[4], b_ring + ((slot)) * 8192 + ((16 + row)) * 128 + (((column_1 + 16 + ((((column_1 + 16) / 8 % 8) ^ ((16 + row) / 1 % 8)) - ((column_1 + 16) / 8 % 8)) * 8))));
    #pragma unroll
    for (int i_6 = 0; i_6 < 4; ++i_6) {
      #pragma unroll
      for (int i_5 = 0; i_5 < 4; ++i_5) {
        mma_m16n8k16_f16_f16(&acc[i_6 * 16 + i_5 * 4], &acc_1[i_6 * 4], &acc_2[i_5 * 2]);
      }
    }
    unsigned acc_5[16];
    ldmatrix_x4(&acc_5[0], a_ring + ((slot)) * 4096 + ((row)) * 64 + (((32 + column + ((((32 + column) / 8 % 8) ^ ((row) / 1 % 8)) - ((32 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_5[4], a_ring + ((slot)) * 4096 + ((row + 16)) * 64 + (((32 + column + ((((32 + column) / 8 % 8) ^ ((row + 16) / 1 % 8)) - ((32 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_5[8], a_ring + ((slot)) * 4096 + ((row + 32)) * 64 + (((32 + column + ((((32 + column) / 8 % 8) ^ ((row + 32) / 1 % 8)) - ((32 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_5[12], a_ring + ((slot)) * 4096 + ((row + 48)) * 64 + (((32 + column + ((((32 + column) / 8 % 8) ^ ((row + 48) / 1 % 8)) - ((32 + column) / 8 % 8)) * 8))));
    unsigned acc_6[8];
    ldmatrix_x4_trans(&acc_6[0], b_ring + ((slot)) * 8192 + ((32 + row)) * 128 + (((column_1 + ((((column_1) / 8 % 8) ^ ((32 + row) / 1 % 8)) - ((column_1) / 8 % 8)) * 8))));
    ldmatrix_x4_trans(&acc_6[4], b_ring + ((slot)) * 8192 + ((32 + row)) * 128 + (((column_1 + 16 + ((((column_1 + 16) / 8 % 8) ^ ((32 + row) / 1 % 8)) - ((column_1 + 16) / 8 % 8)) * 8))));
    #pragma unroll
    for (int i_8 = 0; i_8 < 4; ++i_8) {
      #pragma unroll
      for (int i_7 = 0; i_7 < 4; ++i_7) {
        mma_m16n8k16_f16_f16(&acc[i_8 * 16 + i_7 * 4], &acc_3[i_8 * 4], &acc_4[i_7 * 2]);
      }
    }
    unsigned acc_7[16];
    ldmatrix_x4(&acc_7[0], a_ring + ((slot)) * 4096 + ((row)) * 64 + (((48 + column + ((((48 + column) / 8 % 8) ^ ((row) / 1 % 8)) - ((48 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_7[4], a_ring + ((slot)) * 4096 + ((row + 16)) * 64 + (((48 + column + ((((48 + column) / 8 % 8) ^ ((row + 16) / 1 % 8)) - ((48 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_7[8], a_ring + ((slot)) * 4096 + ((row + 32)) * 64 + (((48 + column + ((((48 + column) / 8 % 8) ^ ((row + 32) / 1 % 8)) - ((48 + column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_7[12], a_ring + ((slot)) * 4096 + ((row + 48)) * 64 + (((48 + column + ((((48 + column) / 8 % 8) ^ ((row + 48) / 1 % 8)) - ((48 + column) / 8 % 8)) * 8))));
    unsigned acc_8[8];
    ldmatrix_x4_trans(&acc_8[0], b_ring + ((slot)) * 8192 + ((48 + row)) * 128 + (((column_1 + ((((column_1) / 8 % 8) ^ ((48 + row) / 1 % 8)) - ((column_1) / 8 % 8)) * 8))));
    ldmatrix_x4_trans(&acc_8[4], b_ring + ((slot)) * 8192 + ((48 + row)) * 128 + (((column_1 + 16 + ((((column_1 + 16) / 8 % 8) ^ ((48 + row) / 1 % 8)) - ((column_1 + 16) / 8 % 8)) * 8))));
    #pragma unroll
    for (int i_10 = 0; i_10 < 4; ++i_10) {
      #pragma unroll
      for (int i_9 = 0; i_9 < 4; ++i_9) {
        mma_m16n8k16_f16_f16(&acc[i_10 * 16 + i_9 * 4], &acc_5[i_10 * 4], &acc_6[i_9 * 2]);
      }
    }
    #pragma unroll
    for (int i_12 = 0; i_12 < 4; ++i_12) {
      #pragma unroll
      for (int i_11 = 0; i_11 < 4; ++i_11) {
        mma_m16n8k16_f16_f16(&acc[i_12 * 16 + i_11 * 4], &acc_7[i_12 * 4], &acc_8[i_11 * 2]);
      }
    }
    const auto next_slot = (slot < 2 ? slot + 1 : slot - 2);
    const auto next_fill = slot;
    slot = next_slot;
    fill = next_fill;
  }
  copy_wait<0>();
  unsigned c_1[32] = {};
  #pragma unroll
  for (int i = 0; i < 32; ++i) {
    c_1[i] = pack_f16(acc[2 * i], acc[2 * i + 1]);
  }
  unsigned c_2[32] = {};
  __syncthreads();
  #pragma unroll
  for (int i_13 = 0; i_13 < 4; ++i_13) {
    #pragma unroll
    for (int i_14 = 0; i_14 < 4; ++i_14) {
      #pragma unroll
      for (int i_15 = 0; i_15 < 2; ++i_15) {
        #pragma unroll
        for (int i_16 = 0; i_16 < 2; ++i_16) {
          ((unsigned short*)scratch)[(at_4 + i_13 * 16 + i_15 * 8) * 128 + at_5 + i_14 * 8 + i_16] = (unsigned short)get_bits<16>(c_1, i_13 * 16 + i_14 * 4 + i_15 * 2 + i_16);
        }
      }
    }
  }
  __syncthreads();
  const int from = (tid) * 8;
  #pragma unroll
  for (int i = 0; i < 64; ++i) {
    set_bits<16>(c_2, i, ((unsigned short*)scratch)[from + i / 8 * 1024 + i % 8 * 1]);
  }
  #pragma unroll
  for (int i_17 = 0; i_17 < 8; ++i_17) {
    if (m + at_2 + i_17 * 8 < M && n + at_3 < N) {
      store_16(c + (long long)(m + at_2 + i_17 * 8) * N + n + at_3, &c_2[(i_17 * 8) * 16 / 32]);
    }
  }
}
