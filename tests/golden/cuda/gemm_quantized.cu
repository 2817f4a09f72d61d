// gemm_quantized: one turn of its grid is one block of 128 threads.
// c = a @ (w * s): symmetric quantisation, or a code that carries its sign.

#define DEVICE static __device__ __forceinline__

// Element i of 16 bits, twice.
DEVICE unsigned duplicate_16(const unsigned* w, int i) { return __byte_perm(w[i / 2], 0, i % 2 ? 0x3232 : 0x1010); }

DEVICE unsigned pack_f16(float low, float high) {
  unsigned w; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low)); return w;
}

DEVICE unsigned sub_f16x2(unsigned a, unsigned b) { unsigned d; asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

DEVICE unsigned mul_f16x2(unsigned a, unsigned b) { unsigned d; asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }

// (x & mask) ^ y in one instruction, whatever of it is constant.
DEVICE unsigned mask_xor(unsigned x, unsigned mask, unsigned y) {
  unsigned d; asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(d) : "r"(x), "r"(mask), "r"(y)); return d;
}

DEVICE void load_global_16(unsigned* w, const void* p) {
  const uint4 v = *(const uint4*)p; w[0] = v.x; w[1] = v.y; w[2] = v.z; w[3] = v.w;
}

DEVICE void store_8(void* p, const unsigned* w) { *(uint2*)p = make_uint2(w[0], w[1]); }

DEVICE void mma_m16n8k16_f16_f16(float* d, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(128)
gemm_quantized(
    const unsigned short* __restrict__ a,
    const unsigned char* __restrict__ w,
    const unsigned short* __restrict__ s,
    unsigned short* __restrict__ c,
    int M,
    int K,
    int N) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const int tid = threadIdx.x;
  int turn = blockIdx.x;
  const int n = (int)((turn % ((N + 64 - 1) / 64)) * 64);
  turn /= ((N + 64 - 1) / 64);
  const int m = (int)((turn) * 16);
  const int at = (tid / 4 % 8) * 8;
  const int at_1 = (tid) * 16;
  const int at_2 = tid / 4 % 8;
  const int at_3 = (tid / 32) * 32 + (tid % 4) * 8;
  const int at_4 = tid / 32;
  const int at_5 = (tid % 4) * 2;
  const int at_6 = (tid % 16) * 4;
  const int at_7 = tid / 16;
  unsigned char* const scratch = shared + 0;
  float acc[32] = {};
  unsigned scale_none[4] = {};
  unsigned scale[4] = {};
  if ((0 < K)) {
    {
      if (n + at < N) {
        load_global_16(&scale[(0) * 16 / 32], s + n + at);
      }
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      scale[i] = scale_none[i];
    }
  }
  unsigned scale_next[4] = {};
  if ((128 < K)) {
    {
      if (n + at < N) {
        load_global_16(&scale_next[(0) * 16 / 32], s + (long long)(1) * N + n + at);
      }
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      scale_next[i] = scale_none[i];
    }
  }
  unsigned b_bytes_none[8] = {};
  unsigned b_bytes[8] = {};
  if ((0 < K)) {
    #pragma unroll
    for (int i_1 = 0; i_1 < 2; ++i_1) {
      load_global_16(&b_bytes[(i_1 * 16) * 8 / 32], w + (long long)((n / 64)) * 4096 + at_1 + i_1 * 2048);
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      b_bytes[i] = b_bytes_none[i];
    }
  }
  unsigned b_bytes_next[8] = {};
  if ((128 < K)) {
    #pragma unroll
    for (int i_2 = 0; i_2 < 2; ++i_2) {
      load_global_16(&b_bytes_next[(i_2 * 16) * 8 / 32], w + (long long)(1) * ((long long)((N + 63) / 64) * 4096) + (long long)((n / 64)) * 4096 + at_1 + i_2 * 2048);
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      b_bytes_next[i] = b_bytes_none[i];
    }
  }
  unsigned acc_none[8] = {};
  unsigned acc_1[8] = {};
  if ((0 < K)) {
    #pragma unroll
    for (int i_3 = 0; i_3 < 2; ++i_3) {
      load_global_16(&acc_1[(i_3 * 8) * 16 / 32], a + (long long)(m + at_2 + i_3 * 8) * K + at_3);
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      acc_1[i] = acc_none[i];
    }
  }
  unsigned acc_next[8] = {};
  if ((128 < K)) {
    #pragma unroll
    for (int i_4 = 0; i_4 < 2; ++i_4) {
      load_global_16(&acc_next[(i_4 * 8) * 16 / 32], a + (long long)(m + at_2 + i_4 * 8) * K + 128 + at_3);
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      acc_next[i] = acc_none[i];
    }
  }
  #pragma unroll 2
  for (int k = 0; k < K; k += 128) {
    unsigned scale_1[32];
    #pragma unroll
    for (int i_8 = 0; i_8 < 2; ++i_8) {
      #pragma unroll
      for (int i_7 = 0; i_7 < 4; ++i_7) {
        #pragma unroll
        for (int i_6 = 0; i_6 < 2; ++i_6) {
          #pragma unroll
          for (int i_5 = 0; i_5 < 2; ++i_5) {
            scale_1[i_8 * 16 + i_7 * 4 + i_6 * 2 + i_5] = duplicate_16(scale, i_7 * 2 + i_5);
          }
        }
      }
    }
    unsigned b[32];
    #pragma unroll
    for (int i_9 = 0; i_9 < 4; ++i_9) {
      const unsigned w_1 = b_bytes[i_9 * 2];
      const unsigned w_2 = b_bytes[i_9 * 2 + 1];
      b[i_9 * 8] = sub_f16x2(mask_xor(w_1, 0x000f000fu, 0x64006400u), 0x64006400u);
      const unsigned w_1_r8 = w_1 >> 8;
      b[i_9 * 8 + 1] = sub_f16x2(mask_xor(w_1_r8, 0x000f000fu, 0x64006400u), 0x64006400u);
      b[i_9 * 8 + 2] = sub_f16x2(mask_xor(w_2, 0x000f000fu, 0x64006400u), 0x64006400u);
      const unsigned w_2_r8 = w_2 >> 8;
      b[i_9 * 8 + 3] = sub_f16x2(mask_xor(w_2_r8, 0x000f000fu, 0x64006400u), 0x64006400u);
      b[i_9 * 8 + 4] = sub_f16x2(mask_xor(w_1, 0x00f000f0u, 0x54005400u), 0x54005400u);
      b[i_9 * 8 + 5] = sub_f16x2(mask_xor(w_1_r8, 0x00f000f0u, 0x54005400u), 0x54005400u);
      b[i_9 * 8 + 6] = sub_f16x2(mask_xor(w_2, 0x00f000f0u, 0x54005400u), 0x54005400u);
      b[i_9 * 8 + 7] = sub_f16x2(mask_xor(w_2_r8, 0x00f000f0u, 0x54005400u), 0x54005400u);
    }
    unsigned b_1[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      b_1[i] = mul_f16x2(b[i], scale_1[i]);
    }
    #pragma unroll
    for (int i_12 = 0; i_12 < 2; ++i_12) {
      #pragma unroll
      for (int i_11 = 0; i_11 < 4; ++i_11) {
        #pragma unroll
        for (int i_10 = 0; i_10 < 2; ++i_10) {
          mma_m16n8k16_f16_f16(&acc[i_11 * 4 + i_10 * 16], &b_1[i_12 * 16 + i_11 * 4], &acc_1[i_12 * 2 + i_10 * 4]);
        }
      }
    }
    unsigned scale_next_1[4] = {};
    unsigned b_bytes_next_1[8] = {};
    unsigned acc_next_1[8] = {};
    if (((k + 256) < K)) {
      {
        if (n + at < N) {
          load_global_16(&scale_next_1[(0) * 16 / 32], s + (long long)(((k / 128) + 2)) * N + n + at);
        }
      }
      #pragma unroll
      for (int i_13 = 0; i_13 < 2; ++i_13) {
        load_global_16(&b_bytes_next_1[(i_13 * 16) * 8 / 32], w + (long long)(((k / 128) + 2)) * ((long long)((N + 63) / 64) * 4096) + (long long)((n / 64)) * 4096 + at_1 + i_13 * 2048);
      }
      #pragma unroll
      for (int i_14 = 0; i_14 < 2; ++i_14) {
        load_global_16(&acc_next_1[(i_14 * 8) * 16 / 32], a + (long long)(m + at_2 + i_14 * 8) * K + (k + 256) + at_3);
      }
    }
    else {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        scale_next_1[i] = scale[i];
      }
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        b_bytes_next_1[i] = b_bytes[i];
      }
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        acc_next_1[i] = acc_1[i];
      }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      scale[i] = scale_next[i];
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      scale_next[i] = scale_next_1[i];
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      b_bytes[i] = b_bytes_next[i];
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      b_bytes_next[i] = b_bytes_next_1[i];
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      acc_1[i] = acc_next[i];
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      acc_next[i] = acc_next_1[i];
    }
  }
  float acc_2[32];
  #pragma unroll
  for (int i_15 = 0; i_15 < 2; ++i_15) {
    #pragma unroll
    for (int i_16 = 0; i_16 < 8; ++i_16) {
      #pragma unroll
      for (int i_17 = 0; i_17 < 2; ++i_17) {
        ((float*)scratch)[(at_4) * 1024 + (at_5 + i_15 * 8 + i_17) * 64 + at + i_16] = acc[i_15 * 16 + i_16 * 2 + i_17];
      }
    }
  }
  __syncthreads();
  const int from = (tid) * 4;
  #pragma unroll
  for (int i = 0; i < 32; ++i) {
    acc_2[i] = ((float*)scratch)[from + i / 4 * 512 + i % 4 * 1];
  }
  float acc_3[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    acc_3[i] = (-0.0f);
  }
  #pragma unroll
  for (int i_18 = 0; i_18 < 4; ++i_18) {
    #pragma unroll
    for (int i_19 = 0; i_19 < 2; ++i_19) {
      #pragma unroll
      for (int i_20 = 0; i_20 < 4; ++i_20) {
        const float x = acc_2[i_18 * 8 + i_19 * 4 + i_20 * 1];
        acc_3[i_19 * 4 + i_20 * 1] = __fadd_rn(acc_3[i_19 * 4 + i_20 * 1], x);
      }
    }
  }
  float acc_4[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    acc_4[i] = acc_3[i];
  }
  unsigned c_1[4] = {};
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    c_1[i] = pack_f16(acc_4[2 * i], acc_4[2 * i + 1]);
  }
  #pragma unroll
  for (int i_21 = 0; i_21 < 2; ++i_21) {
    if (n + at_6 < N) {
      store_8(c + (long long)(m + at_7 + i_21 * 8) * N + n + at_6, &c_1[(i_21 * 4) * 16 / 32]);
    }
  }
}
