// vector_add: one turn of its grid is one block of 128 threads.
// z = x + y.

#define DEVICE static __device__ __forceinline__

DEVICE void load_global_16(unsigned* w, const void* p) {
  const uint4 v = *(const uint4*)p; w[0] = v.x; w[1] = v.y; w[2] = v.z; w[3] = v.w;
}

DEVICE void store_16(void* p, const unsigned* w) { *(uint4*)p = make_uint4(w[0], w[1], w[2], w[3]); }

extern "C" __global__ void __launch_bounds__(128)
vector_add_kernel(
    const float* __restrict__ x,
    const float* __restrict__ y,
    float* __restrict__ z,
    int N) {
  const int tid = threadIdx.x;
  const int turn = blockIdx.x;
  const int n = (int)((turn) * 1024);
  const int at = (tid) * 4;
  float z_1[8] = {};
  #pragma unroll
  for (int i_1 = 0; i_1 < 2; ++i_1) {
    if (n + at + i_1 * 512 < N) {
      load_global_16((unsigned*)&z_1[i_1 * 4], x + n + at + i_1 * 512);
    }
  }
  float z_2[8] = {};
  #pragma unroll
  for (int i_2 = 0; i_2 < 2; ++i_2) {
    if (n + at + i_2 * 512 < N) {
      load_global_16((unsigned*)&z_2[i_2 * 4], y + n + at + i_2 * 512);
    }
  }
  float z_3[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    z_3[i] = __fadd_rn(z_1[i], z_2[i]);
  }
  #pragma unroll
  for (int i_3 = 0; i_3 < 2; ++i_3) {
    if (n + at + i_3 * 512 < N) {
      store_16(z + n + at + i_3 * 512, (const unsigned*)&z_3[i_3 * 4]);
    }
  }
}
