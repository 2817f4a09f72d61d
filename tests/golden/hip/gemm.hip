// gemm: one turn of its grid is one workgroup of 256 threads.

#pragma clang fp contract(off)
#define DEVICE static __attribute__((device, always_inline)) inline
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef unsigned u32x2 __attribute__((ext_vector_type(2)));
typedef unsigned u32x4 __attribute__((ext_vector_type(4)));

DEVICE unsigned thread_index() { return __builtin_amdgcn_workitem_id_x(); }

DEVICE unsigned block_index() { return __builtin_amdgcn_workgroup_id_x(); }

// What the block wrote to memory before is seen by all of it after. The fence waits for writes to LDS; a
// read that nobody waited for yet must have happened too (0xc07f: lgkmcnt(0) alone).
DEVICE void block_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_waitcnt(0xc07f);
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Operations that round by themselves: the text forbids contraction.
DEVICE float add_f32(float a, float b) { return a + b; }

DEVICE unsigned encode_f16(float f) { return __builtin_bit_cast(unsigned short, (_Float16)f); }

DEVICE unsigned pack_f16(float low, float high) { return encode_f16(low) | encode_f16(high) << 16; }

// Bytes of a and b by the four digits of `pick`: 0 to 3 are those of a, 4 to 7 those of b.
DEVICE unsigned bytes(unsigned a, unsigned b, unsigned pick) {
  const unsigned even = pick & 0x0707u, odd = pick >> 4 & 0x0707u;
  const unsigned each = (even & 7u) | (odd & 7u) << 8 | (even & 0x700u) << 8 | (odd & 0x700u) << 16;
  return __builtin_amdgcn_perm(b, a, each);
}

// Memory: vectors of 8 and 16 bytes.
DEVICE void load_global_8(unsigned* w, const void* p) {
  *(u32x2*)w = *(const u32x2*)p;
}

DEVICE void store_16(void* p, const unsigned* w) { *(u32x4*)p = *(const u32x4*)w; }

// A number of the wave, which all of its lanes have alike.
DEVICE int wave_of(int tid) { return __builtin_amdgcn_readfirstlane(tid / 64); }

DEVICE unsigned lds_address(const void* p) {
  return (unsigned)(unsigned long long)(const __attribute__((address_space(3))) unsigned char*)p;
}

// What all lanes have alike, in a scalar register: behind a branch of some lanes the compiler may have
// put it into a vector register.
DEVICE int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }

// So many bytes of memory as loads see them: what is read behind them is 0.
DEVICE i32x4 buffer_of(const void* p, int bytes) {
  const unsigned long long at = (unsigned long long)p;
  return i32x4{uniform((int)at), uniform((int)(at >> 32) & 0xffff), uniform(bytes), 0x00020000};
}

// The same from so many bytes before, which no lane reads: what loads add besides may then be less than
// what their instruction adds.
DEVICE i32x4 buffer_before(const void* p, int bytes, int before) {
  return buffer_of((const unsigned char*)p - before, bytes ? (int)((unsigned)bytes + before) : 0);
}

// Those of the rows that are left of a tile's, in 32 bits: comparisons of 64 are no scalar instructions.
DEVICE int buffer_bytes(int left, int rows, int each) {
  return left < 0 ? 0 : left < rows ? left * each : 0x7fffffff;
}

// Four of them, each `step` bytes on in memory, with an offset of the lane each.
DEVICE void load_to_lds_4_by_4(unsigned to, unsigned more, i32x4 from, int a, int b, int c, int d, int all, int step) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dword %2, %6, %7 offen lds\n\tbuffer_load_dword %3, %6, %8 offen offset:256 lds\n\tbuffer_load_dword %4, %6, %9 offen offset:512 lds\n\tbuffer_load_dword %5, %6, %10 offen offset:768 lds"
    :: "s"(uniform(to)), "s"(more), "v"(a), "v"(b), "v"(c), "v"(d), "s"(from), "s"(all), "s"(all + step - 256),
       "s"(all + 2 * step - 512), "s"(all + 3 * step - 768) : "memory", "m0", "scc");
}

// Until no more than N of the wave's loads are under way.
template <int N> DEVICE void copy_wait() { asm volatile("s_waitcnt vmcnt(%0)" :: "n"(N) : "memory"); }

DEVICE void load_global_4(unsigned* w, const void* p) { w[0] = *(const unsigned*)p; }

DEVICE void mfma_16x16x16_f16_f16(float* d, const unsigned* a, const unsigned* b) {
  f32x4* const c = (f32x4*)d;
  *c = __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(f16x4, *(const u32x2*)a), __builtin_bit_cast(f16x4, *(const u32x2*)b), *c, 0, 0, 0);
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256))) void
gemm_kernel(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    unsigned short* __restrict__ c,
    int M,
    int K,
    int N) {
  static __attribute__((shared, aligned(1024))) unsigned char shared[32896];
  unsigned short* const a_ring = (unsigned short*)(shared + 0);
  unsigned short* const b_ring = (unsigned short*)(shared + 12288);
  const int tid = thread_index();
  int turn = block_index();
  const int n = (int)((turn % ((N + 64 - 1) / 64)) * 64);
  turn /= ((N + 64 - 1) / 64);
  const int m = (int)((turn) * 64);
  const int wave = wave_of(tid) * 1024;
  const int at = (tid / 64) * 16 + tid / 16 % 4;
  const int at_1 = (tid % 16) * 2;
  const int lane = (int)(((at) * K + ((at_1) + (((at_1) / 8 % 4 ^ ((at) / 2 % 4)) - (at_1) / 8 % 4) * 8)) * 2);
  const int lane_1 = (int)(((at + 4) * K + ((at_1) + (((at_1) / 8 % 4 ^ ((at + 4) / 2 % 4)) - (at_1) / 8 % 4) * 8)) * 2);
  const int lane_2 = (int)(((at + 8) * K + ((at_1) + (((at_1) / 8 % 4 ^ ((at + 8) / 2 % 4)) - (at_1) / 8 % 4) * 8)) * 2);
  const int lane_3 = (int)(((at + 12) * K + ((at_1) + (((at_1) / 8 % 4 ^ ((at + 12) / 2 % 4)) - (at_1) / 8 % 4) * 8)) * 2);
  const int at_2 = (tid / 64) * 8 + tid / 32 % 2;
  const int at_3 = (tid % 32) * 2;
  const int lane_4 = (int)(((at_2) * N + (at_3)) * 2);
  int whole = 0;
  const int at_4 = tid % 16;
  const int at_5 = (tid / 128) * 16 + (tid / 16 % 4) * 4;
  const int at_6 = (tid / 64 % 2) * 2 + (tid % 16) * 4;
  const int at_7 = tid / 128;
  const int at_8 = tid / 8;
  const int at_9 = (tid % 8) * 8;
  unsigned char* const scratch = shared + 0;
  float acc[32] = {};
  #pragma unroll 1
  for (int stage = 0; stage < 2; ++stage) {
    if ((((long long)stage * 32) < K)) {
      {
        const unsigned to = lds_address(a_ring + (stage) * 2048) + wave;
        const i32x4 from = buffer_before(a + (long long)(m) * K + (long long)(((long long)stage * 32)), buffer_bytes((int)(M - m), 64, (int)(K) * 2), 768);
        load_to_lds_4_by_4(to, 0, from, lane, lane_1, lane_2, lane_3, 768, 0);
      }
      {
        const unsigned to = lds_address(b_ring + (stage) * 2048) + wave;
        const i32x4 from = buffer_before(b + (long long)(((long long)stage * 32)) * N + (long long)(n), 2147483647, 768);
        {
          const int i = 0;
          load_to_lds_4_by_4(to, i * 1024, from, lane_4, lane_4, lane_4, lane_4, 768 + i * 4 * (4 * N), (4 * N));
        }
      }
    }
    whole = (((long long)stage * 32) < K) ? whole + 1 : 0;
  }
  int slot = 0;
  int fill = 2;
  #pragma unroll 1
  for (int k = 0; k < K; k += 32) {
    if (whole >= 1) {
      copy_wait<8>();
    }
    else {
      copy_wait<0>();
    }
    block_barrier();
    if (((k + 64) < K)) {
      {
        const unsigned to = lds_address(a_ring + (fill) * 2048) + wave;
        const i32x4 from = buffer_before(a + (long long)(m) * K + (long long)((k + 64)), buffer_bytes((int)(M - m), 64, (int)(K) * 2), 768);
        load_to_lds_4_by_4(to, 0, from, lane, lane_1, lane_2, lane_3, 768, 0);
      }
      {
        const unsigned to = lds_address(b_ring + (fill) * 2048) + wave;
        const i32x4 from = buffer_before(b + (long long)((k + 64)) * N + (long long)(n), 2147483647, 768);
        {
          const int i = 0;
          load_to_lds_4_by_4(to, i * 1024, from, lane_4, lane_4, lane_4, lane_4, 768 + i * 4 * (4 * N), (4 * N));
        }
      }
    }
    whole = ((k + 64) < K) ? whole + 1 : 0;
    unsigned acc_1[8] = {};
    #pragma unroll
    for (int i_1 = 0; i_1 < 4; ++i_1) {
      load_global_8(&acc_1[(i_1 * 4) * 16 / 32], a_ring + ((slot)) * 2048 + ((at_4 + i_1 * 16)) * 32 + (((at_5 + ((((at_5) / 8 % 4) ^ ((at_4 + i_1 * 16) / 2 % 4)) - ((at_5) / 8 % 4)) * 8))));
    }
    unsigned acc_2[4] = {};
    #pragma unroll
    for (int i_2 = 0; i_2 < 4; ++i_2) {
      load_global_4(&acc_2[(i_2 * 2) * 16 / 32], b_ring + (slot) * 2048 + (at_5 + i_2) * 64 + at_6);
    }
    unsigned acc_3[4];
    #pragma unroll
    for (int i_3 = 0; i_3 < 2; ++i_3) {
      acc_3[i_3] = bytes(acc_2[i_3 * 2], acc_2[1 + i_3 * 2], 0x5410u);
    }
    #pragma unroll
    for (int i_4 = 0; i_4 < 2; ++i_4) {
      acc_3[2 + i_4] = bytes(acc_2[i_4 * 2], acc_2[1 + i_4 * 2], 0x7632u);
    }
    #pragma unroll
    for (int i_6 = 0; i_6 < 4; ++i_6) {
      #pragma unroll
      for (int i_5 = 0; i_5 < 2; ++i_5) {
        mfma_16x16x16_f16_f16(&acc[i_6 * 8 + i_5 * 4], &acc_1[i_6 * 2], &acc_3[i_5 * 2]);
      }
    }
    __builtin_amdgcn_sched_group_barrier(0x100, 3, 0);
    __builtin_amdgcn_sched_group_barrier(0x8, 8, 0);
    const auto next_slot = (slot < 2 ? slot + 1 : slot - 2);
    const auto next_fill = slot;
    slot = next_slot;
    fill = next_fill;
  }
  copy_wait<0>();
  float acc_4[32];
  #pragma unroll
  for (int i = 0; i < 32; ++i) {
    acc_4[i] = (-0.0f);
  }
  #pragma unroll
  for (int i_7 = 0; i_7 < 4; ++i_7) {
    #pragma unroll
    for (int i_8 = 0; i_8 < 2; ++i_8) {
      #pragma unroll
      for (int i_9 = 0; i_9 < 4; ++i_9) {
        const float x = acc[i_7 * 8 + i_8 * 4 + i_9 * 1];
        acc_4[i_7 * 8 + i_8 * 4 + i_9 * 1] = add_f32(acc_4[i_7 * 8 + i_8 * 4 + i_9 * 1], x);
      }
    }
  }
  block_barrier();
  #pragma unroll
  for (int i = 0; i < 32; ++i) {
    ((float*)scratch)[i * 257 + tid] = acc_4[i];
  }
  block_barrier();
  const int from = ((tid) % 8) * 2 + ((tid / 8) % 4) * 257 + ((tid / 32) % 4) * 16 + (tid / 128) * 2056;
  float acc_4_1[16];
  #pragma unroll
  for (int i_13 = 0; i_13 < 2; ++i_13) {
    #pragma unroll
    for (int i_12 = 0; i_12 < 2; ++i_12) {
      #pragma unroll
      for (int i_11 = 0; i_11 < 2; ++i_11) {
        #pragma unroll
        for (int i_10 = 0; i_10 < 2; ++i_10) {
          acc_4_1[i_13 * 8 + i_12 * 4 + i_11 * 2 + i_10] = (-0.0f);
          #pragma unroll
          for (int w = 0; w < 2; ++w) {
            const float other = ((float*)scratch)[from + i_13 * 4112 + i_12 + i_11 * 64 + i_10 * 1028 + w * 128];
            acc_4_1[i_13 * 8 + i_12 * 4 + i_11 * 2 + i_10] = add_f32(acc_4_1[i_13 * 8 + i_12 * 4 + i_11 * 2 + i_10], other);
          }
        }
      }
    }
  }
  float acc_5[16];
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    acc_5[i] = acc_4_1[i];
  }
  unsigned c_1[8] = {};
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    c_1[i] = pack_f16(acc_5[2 * i], acc_5[2 * i + 1]);
  }
  #pragma unroll
  for (int i_14 = 0; i_14 < 2; ++i_14) {
    if (m + at_8 + i_14 * 32 < M) {
      store_16(c + (long long)(m + at_8 + i_14 * 32) * N + n + at_9, &c_1[(i_14 * 8) * 16 / 32]);
    }
  }
}
