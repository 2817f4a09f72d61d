// softmax: one turn of its grid is one block of 128 threads.
// y = exp(x - max(x)) / sum(exp(x - max(x))), row by row.

#define DEVICE static __device__ __forceinline__

DEVICE float fmax_nan(float a, float b) { float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }

DEVICE void load_global_16(unsigned* w, const void* p) {
  const uint4 v = *(const uint4*)p; w[0] = v.x; w[1] = v.y; w[2] = v.z; w[3] = v.w;
}

DEVICE void store_16(void* p, const unsigned* w) { *(uint4*)p = make_uint4(w[0], w[1], w[2], w[3]); }

extern "C" __global__ void __launch_bounds__(128)
softmax_kernel(
    const float* __restrict__ x,
    float* __restrict__ y,
    int M,
    int N) {
  const int tid = threadIdx.x;
  const int turn = blockIdx.x;
  const int m = (int)((turn) * 4);
  const int at = (tid % 32) * 4;
  const int at_1 = tid / 32;
  float top[1];
  const float x_1 = __uint_as_float(0xff800000u);
  {
    const int i = 0;
    top[i] = x_1;
  }
  float total[1] = {};
  float block_none[32] = {};
  float block[32];
  if ((0 < N)) {
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block[i] = 0;
    }
    #pragma unroll
    for (int i_1 = 0; i_1 < 8; ++i_1) {
      if (at + i_1 * 128 < N) {
        load_global_16((unsigned*)&block[i_1 * 4], x + (long long)(m + at_1) * N + at + i_1 * 128);
      }
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block[i] = block_none[i];
    }
  }
  float block_next[32];
  if ((1024 < N)) {
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_next[i] = 0;
    }
    #pragma unroll
    for (int i_2 = 0; i_2 < 8; ++i_2) {
      if (1024 + at + i_2 * 128 < N) {
        load_global_16((unsigned*)&block_next[i_2 * 4], x + (long long)(m + at_1) * N + 1024 + at + i_2 * 128);
      }
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_next[i] = block_none[i];
    }
  }
  #pragma unroll 2
  for (int n = 0; n < N; n += 1024) {
    int block_1[32];
    #pragma unroll
    for (int i_3 = 0; i_3 < 8; ++i_3) {
      #pragma unroll
      for (int i_4 = 0; i_4 < 4; ++i_4) {
        block_1[i_3 * 4 + i_4] = at + i_3 * 128 + i_4;
      }
    }
    int block_2[32];
    const int x_2 = (int)n;
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_2[i] = x_2;
    }
    int block_3[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_3[i] = (int)((unsigned)block_1[i] + (unsigned)block_2[i]);
    }
    int block_4[32];
    const int x_3 = (int)N;
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_4[i] = x_3;
    }
    bool block_5[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_5[i] = (block_3[i] < block_4[i]);
    }
    float block_6[32];
    const float x_4 = __uint_as_float(0xff800000u);
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_6[i] = x_4;
    }
    float block_7[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_7[i] = block_5[i] ? block[i] : block_6[i];
    }
    float higher[1];
    {
      const int i = 0;
      higher[i] = __uint_as_float(0xff800000u);
    }
    #pragma unroll
    for (int i_5 = 0; i_5 < 8; ++i_5) {
      #pragma unroll
      for (int i_6 = 0; i_6 < 4; ++i_6) {
        const float x_5 = block_7[i_5 * 4 + i_6 * 1];
        higher[0] = fmax_nan(higher[0], x_5);
      }
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, higher[i], 1);
      higher[i] = fmax_nan(higher[i], other);
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, higher[i], 2);
      higher[i] = fmax_nan(higher[i], other);
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, higher[i], 4);
      higher[i] = fmax_nan(higher[i], other);
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, higher[i], 8);
      higher[i] = fmax_nan(higher[i], other);
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, higher[i], 16);
      higher[i] = fmax_nan(higher[i], other);
    }
    float higher_1[1];
    {
      const int i = 0;
      higher_1[i] = higher[i];
    }
    float higher_2[1];
    {
      const int i = 0;
      higher_2[i] = fmax_nan(top[i], higher_1[i]);
    }
    float total_1[1];
    {
      const int i = 0;
      total_1[i] = __fsub_rn(top[i], higher_2[i]);
    }
    float total_2[1];
    {
      const int i = 0;
      total_2[i] = expf(total_1[i]);
    }
    float total_3[1];
    {
      const int i = 0;
      total_3[i] = __fmul_rn(total[i], total_2[i]);
    }
    float total_4[32];
    #pragma unroll
    for (int i_7 = 0; i_7 < 32; ++i_7) {
      total_4[i_7] = higher_2[0];
    }
    float total_5[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      total_5[i] = __fsub_rn(block_7[i], total_4[i]);
    }
    float total_6[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      total_6[i] = expf(total_5[i]);
    }
    float total_7[1];
    {
      const int i = 0;
      total_7[i] = (-0.0f);
    }
    #pragma unroll
    for (int i_8 = 0; i_8 < 8; ++i_8) {
      #pragma unroll
      for (int i_9 = 0; i_9 < 4; ++i_9) {
        const float x_6 = total_6[i_8 * 4 + i_9 * 1];
        total_7[0] = __fadd_rn(total_7[0], x_6);
      }
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, total_7[i], 1);
      total_7[i] = __fadd_rn(total_7[i], other);
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, total_7[i], 2);
      total_7[i] = __fadd_rn(total_7[i], other);
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, total_7[i], 4);
      total_7[i] = __fadd_rn(total_7[i], other);
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, total_7[i], 8);
      total_7[i] = __fadd_rn(total_7[i], other);
    }
    {
      const int i = 0;
      const float other = __shfl_xor_sync(0xffffffffu, total_7[i], 16);
      total_7[i] = __fadd_rn(total_7[i], other);
    }
    float total_8[1];
    {
      const int i = 0;
      total_8[i] = total_7[i];
    }
    {
      const int i = 0;
      total[i] = __fadd_rn(total_3[i], total_8[i]);
    }
    float block_next_1[32];
    if (((n + 2048) < N)) {
      #pragma unroll
      for (int i = 0; i < 32; ++i) {
        block_next_1[i] = 0;
      }
      #pragma unroll
      for (int i_10 = 0; i_10 < 8; ++i_10) {
        if ((n + 2048) + at + i_10 * 128 < N) {
          load_global_16((unsigned*)&block_next_1[i_10 * 4], x + (long long)(m + at_1) * N + (n + 2048) + at + i_10 * 128);
        }
      }
    }
    else {
      #pragma unroll
      for (int i = 0; i < 32; ++i) {
        block_next_1[i] = block[i];
      }
    }
    {
      const int i = 0;
      top[i] = higher_2[i];
    }
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block[i] = block_next[i];
    }
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      block_next[i] = block_next_1[i];
    }
  }
  float e_none[32] = {};
  float e[32];
  if ((0 < N)) {
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      e[i] = 0;
    }
    #pragma unroll
    for (int i_11 = 0; i_11 < 8; ++i_11) {
      if (at + i_11 * 128 < N) {
        load_global_16((unsigned*)&e[i_11 * 4], x + (long long)(m + at_1) * N + at + i_11 * 128);
      }
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      e[i] = e_none[i];
    }
  }
  float e_next[32];
  if ((1024 < N)) {
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      e_next[i] = 0;
    }
    #pragma unroll
    for (int i_12 = 0; i_12 < 8; ++i_12) {
      if (1024 + at + i_12 * 128 < N) {
        load_global_16((unsigned*)&e_next[i_12 * 4], x + (long long)(m + at_1) * N + 1024 + at + i_12 * 128);
      }
    }
  }
  else {
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      e_next[i] = e_none[i];
    }
  }
  #pragma unroll 2
  for (int n_1 = 0; n_1 < N; n_1 += 1024) {
    float e_1[32];
    #pragma unroll
    for (int i_13 = 0; i_13 < 32; ++i_13) {
      e_1[i_13] = top[0];
    }
    float e_2[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      e_2[i] = __fsub_rn(e[i], e_1[i]);
    }
    float e_3[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      e_3[i] = expf(e_2[i]);
    }
    float y_1[32];
    #pragma unroll
    for (int i_14 = 0; i_14 < 32; ++i_14) {
      y_1[i_14] = total[0];
    }
    float y_2[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      y_2[i] = (e_3[i] / y_1[i]);
    }
    #pragma unroll
    for (int i_15 = 0; i_15 < 8; ++i_15) {
      if (n_1 + at + i_15 * 128 < N) {
        store_16(y + (long long)(m + at_1) * N + n_1 + at + i_15 * 128, (const unsigned*)&y_2[i_15 * 4]);
      }
    }
    float e_next_1[32];
    if (((n_1 + 2048) < N)) {
      #pragma unroll
      for (int i = 0; i < 32; ++i) {
        e_next_1[i] = 0;
      }
      #pragma unroll
      for (int i_16 = 0; i_16 < 8; ++i_16) {
        if ((n_1 + 2048) + at + i_16 * 128 < N) {
          load_global_16((unsigned*)&e_next_1[i_16 * 4], x + (long long)(m + at_1) * N + (n_1 + 2048) + at + i_16 * 128);
        }
      }
    }
    else {
      #pragma unroll
      for (int i = 0; i < 32; ++i) {
        e_next_1[i] = e[i];
      }
    }
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      e[i] = e_next[i];
    }
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      e_next[i] = e_next_1[i];
    }
  }
}
