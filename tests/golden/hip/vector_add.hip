// vector_add: one turn of its grid is one workgroup of 128 threads.

#pragma clang fp contract(off)
#define DEVICE static __attribute__((device, always_inline)) inline

DEVICE unsigned thread_index() { return __builtin_amdgcn_workitem_id_x(); }

DEVICE unsigned block_index() { return __builtin_amdgcn_workgroup_id_x(); }

// Operations that round by themselves: the text forbids contraction.
DEVICE float add_f32(float a, float b) { return a + b; }

DEVICE void load_global_4(unsigned* w, const void* p) { w[0] = *(const unsigned*)p; }

DEVICE void store_4(void* p, const unsigned* w) { *(unsigned*)p = w[0]; }

extern "C" __attribute__((global, amdgpu_flat_work_group_size(128, 128))) void
vector_add_kernel(
    const float* __restrict__ x,
    const float* __restrict__ y,
    float* __restrict__ z,
    int N) {
  const int tid = thread_index();
  const int turn = block_index();
  const int n = (int)((turn) * 1024);
  const int at = (tid) * 4;
  float z_1[8] = {};
  #pragma unroll
  for (int i_1 = 0; i_1 < 2; ++i_1) {
    #pragma unroll
    for (int i_2 = 0; i_2 < 4; ++i_2) {
      if (n + at + i_1 * 512 + i_2 < N) {
        load_global_4((unsigned*)&z_1[i_1 * 4 + i_2], x + n + at + i_1 * 512 + i_2);
      }
    }
  }
  float z_2[8] = {};
  #pragma unroll
  for (int i_3 = 0; i_3 < 2; ++i_3) {
    #pragma unroll
    for (int i_4 = 0; i_4 < 4; ++i_4) {
      if (n + at + i_3 * 512 + i_4 < N) {
        load_global_4((unsigned*)&z_2[i_3 * 4 + i_4], y + n + at + i_3 * 512 + i_4);
      }
    }
  }
  float z_3[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    z_3[i] = add_f32(z_1[i], z_2[i]);
  }
  #pragma unroll
  for (int i_5 = 0; i_5 < 2; ++i_5) {
    #pragma unroll
    for (int i_6 = 0; i_6 < 4; ++i_6) {
      if (n + at + i_5 * 512 + i_6 < N) {
        store_4(z + n + at + i_5 * 512 + i_6, (const unsigned*)&z_3[i_5 * 4 + i_6]);
      }
    }
  }
}
