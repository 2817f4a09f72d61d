// gemm_quantized: one turn of its grid is one block of 128 threads.
// c = a @ (w * s): symmetric quantisation, or a code that carries its sign.

#define DEVICE static __device__ __forceinline__

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

// Launches that overlap (PTX ISA 8.5, 9.7.13.13): the next may begin; those before have ended.
// Blocks give this signal one after another, 1.2 ns each on an H200, and one that has ended counts as if it
// had. So the last alone give it: as many as a chip holds at once where blocks are large.
DEVICE void launch_dependents() {
  if (gridDim.x - blockIdx.x <= 1024) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

DEVICE void await_launches() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

DEVICE void may_have_changed(const void* p) { asm volatile("" :: "l"(p) : "memory"); }

DEVICE void mma_m16n8k16_f16_f16(float* d, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(128)
gemm_quantized_kernel(
    const unsigned short* __restrict__ a,
    const unsigned char* __restrict__ w,
    const unsigned short* __restrict__ s,
    unsigned short* __restrict__ c,
    int M,
    int K,
    int N) {
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned short* const s_ring = (unsigned short*)(shared + 24576);
  unsigned char* const w_ring = (unsigned char*)(shared + 0);
  unsigned short* const a_ring = (unsigned short*)(shared + 12288);
  const int tid = threadIdx.x;
  int turn = blockIdx.x;
  const int n = (int)((turn % ((N + 64 - 1) / 64)) * 64);
  turn /= ((N + 64 - 1) / 64);
  const int m = (int)((turn) * 16);
  const int at = (tid % 8) * 8;
  const int at_1 = tid / 64;
  const int at_2 = (tid / 32 % 2) * 2;
  const int at_3 = (tid % 32) * 16;
  const int at_4 = tid / 16;
  const int at_5 = (tid % 16) * 8;
  const int at_6 = (tid / 32 % 2) * 32 + tid / 4 % 8;
  const int row = ((tid) % 16) * 1;
  const int column = ((tid / 16) % 2) * 8 + (tid / 64) * 64;
  const int at_7 = tid / 8;
  unsigned char* const scratch = shared + 0;
  launch_dependents();
  float acc[16] = {};
  await_launches();
  may_have_changed(a);
  may_have_changed(w);
  may_have_changed(s);
  may_have_changed(c);
  #pragma unroll 1
  for (int stage = 0; stage < 2; ++stage) {
    if ((((long long)stage * 128) < K)) {
      if (tid / 8 == 0) {
        {
          copy_async_16(s_ring + (stage) * 64 + at, s + (long long)(stage) * N + n + at, n + at < N);
        }
      }
      {
        const auto first = w_ring + (stage) * 4096 + (at_1) * 2048 + (at_2) * 512 + at_3;
        const auto first_1 = w + (long long)(((long long)stage * 2) + at_1) * ((long long)((N + 15) / 16) * 512) + (long long)((n / 16) + at_2) * 512 + at_3;
        #pragma unroll
        for (int i_1 = 0; i_1 < 2; ++i_1) {
          copy_async_16(first + i_1 * 512, first_1 + i_1 * 512, (n / 16) + at_2 + i_1 < ((N + 15) / 16));
        }
      }
      {
        #pragma unroll
        for (int i_2 = 0; i_2 < 2; ++i_2) {
          copy_async_16(a_ring + ((stage)) * 2048 + ((at_4 + i_2 * 8)) * 128 + (((at_5 + ((((at_5) / 8 % 8) ^ ((at_4 + i_2 * 8) / 1 % 8)) - ((at_5) / 8 % 8)) * 8))), a + (long long)(m + at_4 + i_2 * 8) * K + ((long long)stage * 128) + at_5, true);
        }
      }
    }
    copy_commit();
  }
  int slot = 0;
  int fill = 2;
  #pragma unroll 1
  for (int k = 0; k < K; k += 128) {
    copy_wait<1>();
    __syncthreads();
    if (((k + 256) < K)) {
      if (tid / 8 == 0) {
        {
          copy_async_16(s_ring + (fill) * 64 + at, s + (long long)(((k / 128) + 2)) * N + n + at, n + at < N);
        }
      }
      {
        const auto first_2 = w_ring + (fill) * 4096 + (at_1) * 2048 + (at_2) * 512 + at_3;
        const auto first_3 = w + (long long)(((k / 64) + 4) + at_1) * ((long long)((N + 15) / 16) * 512) + (long long)((n / 16) + at_2) * 512 + at_3;
        #pragma unroll
        for (int i_3 = 0; i_3 < 2; ++i_3) {
          copy_async_16(first_2 + i_3 * 512, first_3 + i_3 * 512, (n / 16) + at_2 + i_3 < ((N + 15) / 16));
        }
      }
      {
        #pragma unroll
        for (int i_4 = 0; i_4 < 2; ++i_4) {
          copy_async_16(a_ring + ((fill)) * 2048 + ((at_4 + i_4 * 8)) * 128 + (((at_5 + ((((at_5) / 8 % 8) ^ ((at_4 + i_4 * 8) / 1 % 8)) - ((at_5) / 8 % 8)) * 8))), a + (long long)(m + at_4 + i_4 * 8) * K + (k + 256) + at_5, true);
        }
      }
    }
    copy_commit();
    unsigned scale[2] = {};
    #pragma unroll
    for (int i_5 = 0; i_5 < 4; ++i_5) {
      set_bits<16>(scale, i_5, (unsigned)(s_ring + (slot) * 64 + at_6 + i_5 * 8)[0]);
    }
    unsigned scale_1[32];
    #pragma unroll
    for (int i_8 = 0; i_8 < 4; ++i_8) {
      #pragma unroll
      for (int i_7 = 0; i_7 < 4; ++i_7) {
        #pragma unroll
        for (int i_6 = 0; i_6 < 2; ++i_6) {
          scale_1[i_8 * 8 + i_7 * 2 + i_6] = duplicate_16(scale, i_7);
        }
      }
    }
    unsigned b_bytes[8] = {};
    #pragma unroll
    for (int i_9 = 0; i_9 < 2; ++i_9) {
      load_global_16(&b_bytes[(i_9 * 16) * 8 / 32], w_ring + (slot) * 4096 + (at_1) * 2048 + (at_2 + i_9) * 512 + at_3);
    }
    unsigned b[32];
    #pragma unroll
    for (int i_10 = 0; i_10 < 4; ++i_10) {
      const unsigned w_1 = b_bytes[i_10];
      const unsigned w_2 = b_bytes[i_10 + 4];
      b[i_10 * 8] = sub_f16x2(mask_xor(w_1, 0x000f000fu, 0x64006400u), 0x64006400u);
      const unsigned w_1_r8 = w_1 >> 8;
      b[i_10 * 8 + 1] = sub_f16x2(mask_xor(w_1_r8, 0x000f000fu, 0x64006400u), 0x64006400u);
      b[i_10 * 8 + 2] = sub_f16x2(mask_xor(w_1, 0x00f000f0u, 0x54005400u), 0x54005400u);
      b[i_10 * 8 + 3] = sub_f16x2(mask_xor(w_1_r8, 0x00f000f0u, 0x54005400u), 0x54005400u);
      b[i_10 * 8 + 4] = sub_f16x2(mask_xor(w_2, 0x000f000fu, 0x64006400u), 0x64006400u);
      const unsigned w_2_r8 = w_2 >> 8;
      b[i_10 * 8 + 5] = sub_f16x2(mask_xor(w_2_r8, 0x000f000fu, 0x64006400u), 0x64006400u);
      b[i_10 * 8 + 6] = sub_f16x2(mask_xor(w_2, 0x00f000f0u, 0x54005400u), 0x54005400u);
      b[i_10 * 8 + 7] = sub_f16x2(mask_xor(w_2_r8, 0x00f000f0u, 0x54005400u), 0x54005400u);
    }
    unsigned b_1[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      b_1[i] = mul_f16x2(b[i], scale_1[i]);
    }
    unsigned acc_1[16];
    ldmatrix_x4(&acc_1[0], a_ring + ((slot)) * 2048 + ((row)) * 128 + (((column + ((((column) / 8 % 8) ^ ((row) / 1 % 8)) - ((column) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_1[4], a_ring + ((slot)) * 2048 + ((row)) * 128 + (((column + 16 + ((((column + 16) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 16) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_1[8], a_ring + ((slot)) * 2048 + ((row)) * 128 + (((column + 32 + ((((column + 32) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 32) / 8 % 8)) * 8))));
    ldmatrix_x4(&acc_1[12], a_ring + ((slot)) * 2048 + ((row)) * 128 + (((column + 48 + ((((column + 48) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 48) / 8 % 8)) * 8))));
    #pragma unroll
    for (int i_12 = 0; i_12 < 4; ++i_12) {
      #pragma unroll
      for (int i_11 = 0; i_11 < 4; ++i_11) {
        mma_m16n8k16_f16_f16(&acc[i_11 * 4], &acc_1[i_12 * 4], &b_1[i_12 * 8 + i_11 * 2]);
      }
    }
    const auto next_slot = (slot < 2 ? slot + 1 : slot - 2);
    const auto next_fill = slot;
    slot = next_slot;
    fill = next_fill;
  }
  copy_wait<0>();
  float acc_2[16];
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    acc_2[i] = (-0.0f);
  }
  #pragma unroll
  for (int i_13 = 0; i_13 < 4; ++i_13) {
    #pragma unroll
    for (int i_14 = 0; i_14 < 2; ++i_14) {
      #pragma unroll
      for (int i_15 = 0; i_15 < 2; ++i_15) {
        const float x = acc[i_13 * 4 + i_14 * 2 + i_15 * 1];
        acc_2[i_13 * 4 + i_14 * 2 + i_15 * 1] = __fadd_rn(acc_2[i_13 * 4 + i_14 * 2 + i_15 * 1], x);
      }
    }
  }
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    ((float*)scratch)[i / 2 * 258 + tid * 2 + i % 2] = acc_2[i];
  }
  __syncthreads();
  const int from = ((tid) % 4) * 516 + ((tid / 4) % 2) * 64 + ((tid / 8) % 8) * 8 + (tid / 64) * 258;
  float acc_2_1[8];
  #pragma unroll
  for (int i_16 = 0; i_16 < 8; ++i_16) {
    acc_2_1[i_16] = (-0.0f);
    #pragma unroll
    for (int w_3 = 0; w_3 < 2; ++w_3) {
      const float other = ((float*)scratch)[from + i_16 + w_3 * 128];
      acc_2_1[i_16] = __fadd_rn(acc_2_1[i_16], other);
    }
  }
  float acc_3[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    acc_3[i] = acc_2_1[i];
  }
  unsigned c_1[4] = {};
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    c_1[i] = pack_f16(acc_3[2 * i], acc_3[2 * i + 1]);
  }
  {
    if (n + at < N) {
      store_16(c + (long long)(m + at_7) * N + n + at, &c_1[(0) * 16 / 32]);
    }
  }
}
