// gemm: one turn of its grid is one block of 256 threads.
// c = a @ b, accumulated in f32.

#define DEVICE static __device__ __forceinline__

struct alignas(64) TensorMap { unsigned long long words[16]; };

DEVICE unsigned pack_f16(float low, float high) {
  unsigned w; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low)); return w;
}

// Bytes of a and b by the four digits of `pick`: 0 to 3 are those of a, 4 to 7 those of b.
DEVICE unsigned bytes(unsigned a, unsigned b, unsigned pick) { return __byte_perm(a, b, pick); }

DEVICE unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

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

// Boxes of tensors to shared memory; a barrier is told of their bytes.
DEVICE void bulk_load_2d(void* to, const TensorMap* map, unsigned long long* b, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y) : "memory");
}

// Boxes from shared memory, in groups: those waited for have been read.
DEVICE void bulk_store_2d(const TensorMap* map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y) : "memory");
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

// An operand in shared memory: strides in bytes, the code of the swizzle.
DEVICE unsigned long long matrix_descriptor(const void* p, int leading, int stride, int swizzle) {
  return (unsigned long long)(shared_address(p) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}

DEVICE void stmatrix_x4(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

template <int A, int B> DEVICE void wgmma_m64n256k16_ss_f16_f16(float* d, unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1, %130, %131;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
    : "l"(a), "l"(b), "n"(A), "n"(B));
}

extern "C" __global__ void __launch_bounds__(256)
gemm(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    unsigned short* __restrict__ c,
    int M,
    int K,
    int N,
    const __grid_constant__ TensorMap a_map,
    const __grid_constant__ TensorMap b_map,
    const __grid_constant__ TensorMap c_map) {
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned long long* const full = (unsigned long long*)(shared + 196608);
  unsigned long long* const empty = (unsigned long long*)(shared + 196640);
  unsigned short* const a_ring = (unsigned short*)(shared + 131072);
  unsigned short* const b_ring = (unsigned short*)(shared + 0);
  unsigned short* const c_tile = (unsigned short*)(shared + 0);
  const int tid = threadIdx.x;
  int turn = blockIdx.x;
  const int rows = ((M + 128 - 1) / 128), columns = ((N + 256 - 1) / 256);
  int inside = turn % (rows * columns);
  const int first = inside / (min(8, rows) * columns) * 8;
  const int height = min(rows - first, 8);
  inside -= first * columns;
  turn /= rows * columns;
  const int n = (int)(((inside / height)) * 256);
  const int m = (int)(((first + inside % height)) * 128);
  const int group_at = __shfl_sync(~0u, (tid / 128) * 8192, 0);
  const int row = ((tid) % 16) * 1 + (tid / 32) * 16;
  const int column = ((tid / 16) % 2) * 8;
  float acc[128];
  const float x = 0.0f;
  #pragma unroll
  for (int i = 0; i < 128; ++i) {
    acc[i] = x;
  }
  if (tid == 0) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      phase_init(full + i, 1);
    }
    phase_init_fence();
  }
  if (tid == 0) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      phase_init(empty + i, 8);
    }
    phase_init_fence();
  }
  __syncthreads();
  #pragma unroll 1
  for (int turn_1 = 0; turn_1 < 2; ++turn_1) {
    if ((((long long)turn_1 * 64) < K)) {
      if (tid == 0) phase_expect(full + turn_1, 49152);
      if (tid == 0) {
        bulk_load_2d((unsigned char*)a_ring + (turn_1) * 16384, &a_map, full + turn_1, (int)(((long long)turn_1 * 64)), (int)(m));
      }
      if (tid == 0) {
        #pragma unroll
        for (int i_2 = 0; i_2 < 4; ++i_2) {
          bulk_load_2d((unsigned char*)b_ring + (turn_1) * 32768 + i_2 * 8192, &b_map, full + turn_1, (int)(n + i_2 * 64), (int)(((long long)turn_1 * 64)));
        }
      }
    }
  }
  float acc_1[128];
  #pragma unroll
  for (int i = 0; i < 128; ++i) {
    acc_1[i] = acc[i];
  }
  int slot = 0;
  int fill = 2;
  int phase = 0;
  int freed = 1;
  #pragma unroll 1
  for (int k = 0; k < K; k += 64) {
    phase_await(full + slot, (unsigned)(phase));
    const unsigned long long acc_at = matrix_descriptor((const unsigned char*)a_ring + group_at, 0, 1024, 1) + (slot) * 1024;
    const unsigned long long acc_at_1 = matrix_descriptor((const unsigned char*)b_ring, 8192, 1024, 1) + (slot) * 2048;
    wgmma_fence();
    #pragma unroll
    for (int i_3 = 0; i_3 < 4; ++i_3) {
      wgmma_m64n256k16_ss_f16_f16<0, 1>(acc_1 + 0, acc_at + i_3 * 2, acc_at_1 + i_3 * 128);
    }
    wgmma_commit();
    if (((k + 128) < K)) {
      phase_await(empty + fill, (unsigned)(freed));
      if (tid == 0) phase_expect(full + fill, 49152);
      if (tid == 0) {
        bulk_load_2d((unsigned char*)a_ring + (fill) * 16384, &a_map, full + fill, (int)((k + 128)), (int)(m));
      }
      if (tid == 0) {
        #pragma unroll
        for (int i_5 = 0; i_5 < 4; ++i_5) {
          bulk_load_2d((unsigned char*)b_ring + (fill) * 32768 + i_5 * 8192, &b_map, full + fill, (int)(n + i_5 * 64), (int)((k + 128)));
        }
      }
    }
    wgmma_wait<1>();
    if ((k > 0)) {
      if (tid % 32 == 0) phase_arrive(empty + (slot < 1 ? slot + 3 : slot - 1));
    }
    const auto next_slot = (slot < 3 ? slot + 1 : slot - 3);
    const auto next_fill = (fill < 3 ? fill + 1 : fill - 3);
    const auto next_phase = (phase ^ (slot >= 3));
    const auto next_freed = (freed ^ (fill >= 3));
    slot = next_slot;
    fill = next_fill;
    phase = next_phase;
    freed = next_freed;
  }
  wgmma_wait<0>();
  changed_floats<128>(acc_1);
  unsigned c_1[64] = {};
  #pragma unroll
  for (int i = 0; i < 64; ++i) {
    c_1[i] = pack_f16(acc_1[2 * i], acc_1[2 * i + 1]);
  }
  __syncthreads();
  stmatrix_x4(c_tile + (((column + ((((column) / 8 % 8) ^ ((row) / 1 % 8)) - ((column) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row) / 1 % 8)) - ((column) / 8 % 8)) * 8)) % 64), &c_1[0]);
  stmatrix_x4(c_tile + (((column + 16 + ((((column + 16) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 16) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 16 + ((((column + 16) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 16) / 8 % 8)) * 8)) % 64), &c_1[4]);
  stmatrix_x4(c_tile + (((column + 32 + ((((column + 32) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 32) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 32 + ((((column + 32) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 32) / 8 % 8)) * 8)) % 64), &c_1[8]);
  stmatrix_x4(c_tile + (((column + 48 + ((((column + 48) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 48) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 48 + ((((column + 48) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 48) / 8 % 8)) * 8)) % 64), &c_1[12]);
  stmatrix_x4(c_tile + (((column + 64 + ((((column + 64) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 64) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 64 + ((((column + 64) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 64) / 8 % 8)) * 8)) % 64), &c_1[16]);
  stmatrix_x4(c_tile + (((column + 80 + ((((column + 80) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 80) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 80 + ((((column + 80) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 80) / 8 % 8)) * 8)) % 64), &c_1[20]);
  stmatrix_x4(c_tile + (((column + 96 + ((((column + 96) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 96) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 96 + ((((column + 96) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 96) / 8 % 8)) * 8)) % 64), &c_1[24]);
  stmatrix_x4(c_tile + (((column + 112 + ((((column + 112) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 112) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 112 + ((((column + 112) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 112) / 8 % 8)) * 8)) % 64), &c_1[28]);
  stmatrix_x4(c_tile + (((column + 128 + ((((column + 128) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 128) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 128 + ((((column + 128) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 128) / 8 % 8)) * 8)) % 64), &c_1[32]);
  stmatrix_x4(c_tile + (((column + 144 + ((((column + 144) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 144) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 144 + ((((column + 144) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 144) / 8 % 8)) * 8)) % 64), &c_1[36]);
  stmatrix_x4(c_tile + (((column + 160 + ((((column + 160) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 160) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 160 + ((((column + 160) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 160) / 8 % 8)) * 8)) % 64), &c_1[40]);
  stmatrix_x4(c_tile + (((column + 176 + ((((column + 176) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 176) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 176 + ((((column + 176) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 176) / 8 % 8)) * 8)) % 64), &c_1[44]);
  stmatrix_x4(c_tile + (((column + 192 + ((((column + 192) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 192) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 192 + ((((column + 192) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 192) / 8 % 8)) * 8)) % 64), &c_1[48]);
  stmatrix_x4(c_tile + (((column + 208 + ((((column + 208) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 208) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 208 + ((((column + 208) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 208) / 8 % 8)) * 8)) % 64), &c_1[52]);
  stmatrix_x4(c_tile + (((column + 224 + ((((column + 224) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 224) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 224 + ((((column + 224) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 224) / 8 % 8)) * 8)) % 64), &c_1[56]);
  stmatrix_x4(c_tile + (((column + 240 + ((((column + 240) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 240) / 8 % 8)) * 8)) / 64) * 8192 + ((row)) * 64 + (((column + 240 + ((((column + 240) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 240) / 8 % 8)) * 8)) % 64), &c_1[60]);
  fence_async_proxy();
  __syncthreads();
  if (tid == 0) {
    #pragma unroll
    for (int i_6 = 0; i_6 < 4; ++i_6) {
      bulk_store_2d(&c_map, (unsigned char*)c_tile + i_6 * 16384, (int)(n + i_6 * 64), (int)(m));
    }
  }
  if (tid == 0) bulk_commit();
  if (tid == 0) bulk_wait<0>();
}
