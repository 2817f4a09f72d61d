// softmax: one turn of its grid is one workgroup of 64 threads.

#pragma clang fp contract(off)
#define DEVICE static __attribute__((device, always_inline)) inline
typedef unsigned u32x4 __attribute__((ext_vector_type(4)));

DEVICE unsigned thread_index() { return __builtin_amdgcn_workitem_id_x(); }

DEVICE unsigned block_index() { return __builtin_amdgcn_workgroup_id_x(); }

// The word of the lane whose number differs in one bit: within rows of 16 lanes by DPP, in halves of
// the wave by a swizzle, and across them by way of the crossbar of LDS.
template <int D> DEVICE int exchange(int x) {
  if constexpr (D == 1) return __builtin_amdgcn_update_dpp(x, x, 0xb1, 0xf, 0xf, false);
  else if constexpr (D == 2) return __builtin_amdgcn_update_dpp(x, x, 0x4e, 0xf, 0xf, false);
  else if constexpr (D == 4) {
    const int turned = __builtin_amdgcn_update_dpp(x, x, 0x141, 0xf, 0xf, false);
    return __builtin_amdgcn_update_dpp(turned, turned, 0x1b, 0xf, 0xf, false);
  }
  else if constexpr (D == 8) return __builtin_amdgcn_update_dpp(x, x, 0x128, 0xf, 0xf, false);
  else if constexpr (D == 16) return __builtin_amdgcn_ds_swizzle(x, 0x401f);
  else return __builtin_amdgcn_ds_bpermute((__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)) ^ D) << 2, x);
}

// The same of any type: a flag as an int.
template <int D, class T> DEVICE T shuffle_xor(T x) {
  if constexpr (sizeof(T) < 4) {
    return (T)exchange<D>((int)x);
  } else {
    constexpr int words = sizeof(T) / 4;
    struct Words { int w[words]; } v = __builtin_bit_cast(Words, x);
#pragma unroll
    for (int i = 0; i < words; ++i) v.w[i] = exchange<D>(v.w[i]);
    return __builtin_bit_cast(T, v);
  }
}

DEVICE float as_f32(unsigned x) { return __builtin_bit_cast(float, x); }

// Operations that round by themselves: the text forbids contraction.
DEVICE float add_f32(float a, float b) { return a + b; }

DEVICE float sub_f32(float a, float b) { return a - b; }

DEVICE float fmax_nan(float a, float b) { return a != a || a > b ? a : b; }

DEVICE float exp_f32(float x) { return __builtin_expf(x); }

DEVICE void load_global_16(unsigned* w, const void* p) {
  *(u32x4*)w = *(const u32x4*)p;
}

DEVICE void store_16(void* p, const unsigned* w) { *(u32x4*)p = *(const u32x4*)w; }

extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void
softmax_kernel(
    const float* __restrict__ x,
    float* __restrict__ y,
    int M) {
  const int tid = thread_index();
  const int turn = block_index();
  const int m = (int)(turn);
  const int at = (tid) * 4;
  float e[8] = {};
  #pragma unroll
  for (int i_1 = 0; i_1 < 2; ++i_1) {
    load_global_16((unsigned*)&e[i_1 * 4], x + (long long)(m) * 512 + at + i_1 * 256);
  }
  float e_1[8] = {};
  #pragma unroll
  for (int i_2 = 0; i_2 < 2; ++i_2) {
    load_global_16((unsigned*)&e_1[i_2 * 4], x + (long long)(m) * 512 + at + i_2 * 256);
  }
  float e_2[1];
  {
    const int i = 0;
    e_2[i] = as_f32(0xff800000u);
  }
  #pragma unroll
  for (int i_3 = 0; i_3 < 2; ++i_3) {
    #pragma unroll
    for (int i_4 = 0; i_4 < 4; ++i_4) {
      const float x_1 = e_1[i_3 * 4 + i_4 * 1];
      e_2[0] = fmax_nan(e_2[0], x_1);
    }
  }
  {
    const int i = 0;
    const float other = shuffle_xor<1>(e_2[i]);
    e_2[i] = fmax_nan(e_2[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<2>(e_2[i]);
    e_2[i] = fmax_nan(e_2[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<4>(e_2[i]);
    e_2[i] = fmax_nan(e_2[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<8>(e_2[i]);
    e_2[i] = fmax_nan(e_2[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<16>(e_2[i]);
    e_2[i] = fmax_nan(e_2[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<32>(e_2[i]);
    e_2[i] = fmax_nan(e_2[i], other);
  }
  float e_3[1];
  {
    const int i = 0;
    e_3[i] = e_2[i];
  }
  float e_4[8];
  const float x_2 = e_3[0];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    e_4[i] = x_2;
  }
  float e_5[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    e_5[i] = sub_f32(e[i], e_4[i]);
  }
  float e_6[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    e_6[i] = exp_f32(e_5[i]);
  }
  float y_1[1];
  {
    const int i = 0;
    y_1[i] = (-0.0f);
  }
  #pragma unroll
  for (int i_5 = 0; i_5 < 2; ++i_5) {
    #pragma unroll
    for (int i_6 = 0; i_6 < 4; ++i_6) {
      const float x_3 = e_6[i_5 * 4 + i_6 * 1];
      y_1[0] = add_f32(y_1[0], x_3);
    }
  }
  {
    const int i = 0;
    const float other = shuffle_xor<1>(y_1[i]);
    y_1[i] = add_f32(y_1[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<2>(y_1[i]);
    y_1[i] = add_f32(y_1[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<4>(y_1[i]);
    y_1[i] = add_f32(y_1[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<8>(y_1[i]);
    y_1[i] = add_f32(y_1[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<16>(y_1[i]);
    y_1[i] = add_f32(y_1[i], other);
  }
  {
    const int i = 0;
    const float other = shuffle_xor<32>(y_1[i]);
    y_1[i] = add_f32(y_1[i], other);
  }
  float y_2[1];
  {
    const int i = 0;
    y_2[i] = y_1[i];
  }
  float y_3[8];
  const float x_4 = y_2[0];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    y_3[i] = x_4;
  }
  float y_4[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    y_4[i] = (e_6[i] / y_3[i]);
  }
  #pragma unroll
  for (int i_7 = 0; i_7 < 2; ++i_7) {
    store_16(y + (long long)(m) * 512 + at + i_7 * 256, (const unsigned*)&y_4[i_7 * 4]);
  }
}
