// gemm: one turn of its grid is one block of 384 threads.
// c = a @ b, accumulated in f32.

#define DEVICE static __device__ __forceinline__

struct alignas(64) TensorMap { unsigned long long words[16]; };

// Integers that round towards minus infinity, as in the language; a zero divisor gives 0, and -1 wraps.
template <class T> DEVICE T floordiv(T a, T b) {
  if (b == 0) return 0;
  if (T(-1) < T(0) && b == T(-1)) return T(0ull - (unsigned long long)a);
  T q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

template <class T> DEVICE T floormod(T a, T b) {
  if (b == 0 || (T(-1) < T(0) && b == T(-1))) return 0;
  T r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

// All ones where a is less than b, so that the compiler does not see it.
template <class T> DEVICE unsigned less(T a, T b) {
  unsigned d;
  if (T(-1) < T(0)) asm("set.lt.u32.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  else asm("set.lt.u32.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// The least and greatest of 32 bits by a mask: of two in a row, by min.s32 or by a comparison and a selection,
// ptxas 13.0 to 13.3 make one instruction, and forget an operand's sign or compare with a bound the wrong way.
template <class T> DEVICE T imin(T a, T b) {
#if __CUDA_ARCH__ >= 900
  if constexpr (sizeof(T) == 4) return b ^ ((a ^ b) & T(less(a, b)));
#endif
  return a < b ? a : b;
}

template <class T> DEVICE T imax(T a, T b) {
#if __CUDA_ARCH__ >= 900
  if constexpr (sizeof(T) == 4) return b ^ ((a ^ b) & T(less(b, a)));
#endif
  return a > b ? a : b;
}

DEVICE void store_4(void* p, const unsigned* w) { *(unsigned*)p = w[0]; }

DEVICE float as_f32(unsigned x) { return __uint_as_float(x); }

DEVICE unsigned bits_f32(float x) { return __float_as_uint(x); }

DEVICE unsigned pack_f16(float low, float high) {
  unsigned w; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low)); return w;
}

// Bytes of a and b by the four digits of `pick`: 0 to 3 are those of a, 4 to 7 those of b. (__byte_perm
// would mask the digits once more.)
DEVICE unsigned bytes(unsigned a, unsigned b, unsigned pick) {
  unsigned d; asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(pick)); return d;
}

DEVICE void load_global_16(unsigned* w, const void* p) {
  const uint4 v = *(const uint4*)p; w[0] = v.x; w[1] = v.y; w[2] = v.z; w[3] = v.w;
}

DEVICE void store_16(void* p, const unsigned* w) { *(uint4*)p = make_uint4(w[0], w[1], w[2], w[3]); }

DEVICE unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N> DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

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

// An operand in the block's own shared memory: strides in bytes, the code of the swizzle. In a cluster
// addresses have the block's rank above.
DEVICE unsigned long long matrix_descriptor(const void* p, int leading, int stride, int swizzle) {
  return (unsigned long long)((shared_address(p) & 0x3ffffu) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}

DEVICE int atomic_add_i32(int* p, int x) { return atomicAdd(p, x); }

DEVICE void stmatrix_x4(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// Producer warps: the barrier of the others, and registers that go from the ones to the others.
DEVICE void barrier_of_some(int threads) { asm volatile("bar.sync 1, %0;" :: "r"(threads) : "memory"); }

DEVICE void hold_address(const void* shared) { asm volatile("" :: "r"(shared_address(shared)) : "memory"); }

template <int N> DEVICE void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N)); }

template <int N> DEVICE void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N)); }

// Launches that overlap (PTX ISA 8.5, 9.7.13.13): the next may begin; those before have ended.
// Blocks give this signal one after another, 1.2 ns each on an H200, and one that has ended counts as if it
// had. So the last alone give it: as many as a chip holds at once where blocks are large.
DEVICE void launch_dependents() {
  if (gridDim.x - blockIdx.x <= 1024) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

DEVICE void await_launches() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

DEVICE void may_have_changed(const void* p) { asm volatile("" :: "l"(p) : "memory"); }

template <int A, int B> DEVICE void wgmma_m64n256k16_ss_f16_f16(float* d, unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1, %130, %131;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
    : "l"(a), "l"(b), "n"(A), "n"(B));
}

extern "C" __global__ void __launch_bounds__(384, 1)
gemm_kernel(
    const unsigned short* __restrict__ a,
    const unsigned short* __restrict__ b,
    unsigned short* __restrict__ c,
    int M,
    int K,
    int N,
    float* __restrict__ partial,
    int* __restrict__ arrivals,
    const __grid_constant__ TensorMap a_map,
    const __grid_constant__ TensorMap b_map,
    const __grid_constant__ TensorMap c_map) {
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned long long* const full = (unsigned long long*)(shared + 229376);
  unsigned long long* const empty = (unsigned long long*)(shared + 229408);
  unsigned short* const a_ring = (unsigned short*)(shared + 131072);
  unsigned short* const b_ring = (unsigned short*)(shared + 0);
  unsigned short* const c_pieces = (unsigned short*)(shared + 196608);
  const int tid = threadIdx.x;
  const int turn = blockIdx.x;
  const long long block = ((long long)(turn));
  const int group_at = __shfl_sync(~0u, (tid / 128) * 8192, 0);
  const int at = tid;
  const int row = ((tid) % 16) * 1 + (tid / 32) * 16;
  const int column = ((tid / 16) % 2) * 8;
  unsigned char* const scratch = shared + 229440;
  launch_dependents();
  const int count = (int)((M + 127) / 128);
  const int count_1 = (int)((N + 255) / 256);
  const int turns = (int)((long long)count * (long long)count_1);
  const int steps = (int)((K + 63) / 64);
  const int whole = (int)floordiv<int>(turns, 132);
  const int rest = (int)((long long)turns - ((long long)whole * 132));
  const int ways = (int)imax<long long>((long long)rest, 1);
  const int shares = (int)imin<long long>(imax<long long>((long long)steps, 1), (((long long)rest <= 33) ? 4 : (((long long)rest <= 44) ? 3 : (((long long)rest <= 66) ? 2 : 1))));
  const int each = (int)floordiv<int>(steps, shares);
  const int left = (int)((long long)steps - ((long long)each * (long long)shares));
  const int parts = (int)((long long)rest * (long long)shares);
  const int rounds = (int)(floordiv<long long>((imax<long long>(((long long)parts - block), 0) + 131), 132) + (long long)whole);
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
  await_launches();
  may_have_changed(a);
  may_have_changed(b);
  may_have_changed(c);
  may_have_changed(partial);
  may_have_changed(arrivals);
  if (tid >= 256) {
    give_registers<40>();
    if (tid == 256) {
      int first_fill = 0;
      int first_freed = 1;
      #pragma unroll 1
      for (int round_1 = 0; round_1 < (long long)rounds; ++round_1) {
        const bool whole_turn = (round_1 < (long long)whole);
        const int part = (int)imax<long long>(((block + ((long long)round_1 * 132)) - ((long long)whole * 132)), 0);
        const int share = (int)floordiv<int>(part, ways);
        const int rest_turn = (int)((long long)part - ((long long)share * (long long)ways));
        const int turn_1 = (int)(whole_turn ? (block + ((long long)round_1 * 132)) : ((long long)rest_turn + ((long long)whole * 132)));
        const int end_step = (int)(whole_turn ? (long long)steps : ((imin<long long>(((long long)share + 1), (long long)left) + ((long long)each * (long long)share)) + (long long)each));
        const int first_step = (int)(whole_turn ? 0 : (imin<long long>((long long)left, (long long)share) + ((long long)each * (long long)share)));
        const int strip = (int)((long long)floordiv<long long>(floordiv<int>(turn_1, count_1), 8) * 8);
        const int height = (int)imin<long long>(((long long)count - (long long)strip), 8);
        const int place = (int)((long long)turn_1 - ((long long)count_1 * (long long)strip));
        const int m_turn = (int)(floormod<int>(place, height) + (long long)strip);
        const int n_turn = (int)floordiv<int>(place, height);
        int fill = first_fill;
        int freed = first_freed;
        #pragma unroll 1
        for (long long k_1 = ((long long)first_step * 64); k_1 < imin<long long>(K, ((long long)end_step * 64)); k_1 += 64) {
          phase_await(empty + fill, (unsigned)(freed));
          phase_expect(full + fill, 49152);
          {
            bulk_load_2d((unsigned char*)a_ring + (fill) * 16384, &a_map, full + fill, (int)(k_1), (int)(((long long)m_turn * 128)));
          }
          {
            #pragma unroll
            for (int i_2 = 0; i_2 < 4; ++i_2) {
              bulk_load_2d((unsigned char*)b_ring + (fill) * 32768 + i_2 * 8192, &b_map, full + fill, (int)(((long long)n_turn * 256) + i_2 * 64), (int)(k_1));
            }
          }
          const auto next_fill = (fill < 3 ? fill + 1 : fill - 3);
          const auto next_freed = (freed ^ (fill >= 3));
          fill = next_fill;
          freed = next_freed;
        }
        const auto next_first_fill = fill;
        const auto next_first_freed = freed;
        first_fill = next_first_fill;
        first_freed = next_first_freed;
      }
    }
  }
  else {
    take_registers<232>();
    hold_address(shared);
    int first_slot = 0;
    int first_phase = 0;
    #pragma unroll 1
    for (int round_1_1 = 0; round_1_1 < (long long)rounds; ++round_1_1) {
      const bool whole_turn_1 = (round_1_1 < (long long)whole);
      const int part_1 = (int)imax<long long>(((block + ((long long)round_1_1 * 132)) - ((long long)whole * 132)), 0);
      const int share_1 = (int)floordiv<int>(part_1, ways);
      const int rest_turn_1 = (int)((long long)part_1 - ((long long)share_1 * (long long)ways));
      const int turn_1_1 = (int)(whole_turn_1 ? (block + ((long long)round_1_1 * 132)) : ((long long)rest_turn_1 + ((long long)whole * 132)));
      const int end_step_1 = (int)(whole_turn_1 ? (long long)steps : ((imin<long long>(((long long)share_1 + 1), (long long)left) + ((long long)each * (long long)share_1)) + (long long)each));
      const int first_step_1 = (int)(whole_turn_1 ? 0 : (imin<long long>((long long)left, (long long)share_1) + ((long long)each * (long long)share_1)));
      const int strip_1 = (int)((long long)floordiv<long long>(floordiv<int>(turn_1_1, count_1), 8) * 8);
      const int height_1 = (int)imin<long long>(((long long)count - (long long)strip_1), 8);
      const int place_1 = (int)((long long)turn_1_1 - ((long long)count_1 * (long long)strip_1));
      const int m_turn_1 = (int)(floormod<int>(place_1, height_1) + (long long)strip_1);
      const int n_turn_1 = (int)floordiv<int>(place_1, height_1);
      float acc[128] = {};
      int slot = first_slot;
      int phase = first_phase;
      #pragma unroll 1
      for (long long k = ((long long)first_step_1 * 64); k < imin<long long>(K, ((long long)end_step_1 * 64)); k += 64) {
        phase_await(full + slot, (unsigned)(phase));
        const unsigned long long acc_at = matrix_descriptor((const unsigned char*)a_ring + group_at, 0, 1024, 1) + (slot) * 1024;
        const unsigned long long acc_at_1 = matrix_descriptor((const unsigned char*)b_ring, 8192, 1024, 1) + (slot) * 2048;
        wgmma_fence();
        #pragma unroll
        for (int i_3 = 0; i_3 < 4; ++i_3) {
          wgmma_m64n256k16_ss_f16_f16<0, 1>(acc + 0, acc_at + i_3 * 2, acc_at_1 + i_3 * 128);
        }
        wgmma_commit();
        wgmma_wait<1>();
        if ((k > ((long long)first_step_1 * 64))) {
          if (tid % 32 == 0) phase_arrive(empty + (slot < 1 ? slot + 3 : slot - 1));
        }
        const auto next_slot = (slot < 3 ? slot + 1 : slot - 3);
        const auto next_phase = (phase ^ (slot >= 3));
        slot = next_slot;
        phase = next_phase;
      }
      wgmma_wait<0>();
      changed_floats<128>(acc);
      if ((((long long)first_step_1 * 64) < imin<long long>(K, ((long long)end_step_1 * 64)))) {
        if (tid % 32 == 0) phase_arrive(empty + (slot < 1 ? slot + 3 : slot - 1));
      }
      float acc_whole[128];
      long long done;
      if ((((long long)end_step_1 - (long long)first_step_1) != (long long)steps)) {
        float lines[128];
        #pragma unroll
        for (int i = 0; i < 128; ++i) {
          lines[i] = as_f32(bits_f32(acc[i]));
        }
        #pragma unroll
        for (int i_4 = 0; i_4 < 32; ++i_4) {
          store_16(partial + (long long)((long long)part_1) * 32768 + (long long)(i_4) * 1024 + (long long)(at) * 4, (const unsigned*)&lines[i_4 * 4]);
        }
        int one[1];
        const int x = 1;
        {
          const int i = 0;
          one[i] = x;
        }
        int arrived[1] = {};
        __threadfence();
        barrier_of_some(256);
        {
          if (tid == 0) {
            arrived[0] = atomic_add_i32(arrivals + (long long)rest_turn_1, one[0]);
          }
        }
        {
          if (tid == 0) ((int*)scratch)[0] = arrived[0];
        }
        barrier_of_some(256);
        {
          arrived[0] = ((int*)scratch)[0];
        }
        __threadfence();
        if ((arrived[0] == (int)((long long)shares - 1))) {
          #pragma unroll
          for (int i = 0; i < 128; ++i) {
            acc_whole[i] = 0;
          }
          #pragma unroll 1
          for (int p = 0; p < (long long)shares; ++p) {
            float lines_1[128] = {};
            #pragma unroll
            for (int i_5 = 0; i_5 < 32; ++i_5) {
              load_global_16((unsigned*)&lines_1[i_5 * 4], partial + (long long)(((p * (long long)rest) + (long long)rest_turn_1)) * 32768 + (long long)(i_5) * 1024 + (long long)(at) * 4);
            }
            float part_1_1[128];
            #pragma unroll
            for (int i = 0; i < 128; ++i) {
              part_1_1[i] = as_f32(bits_f32(lines_1[i]));
            }
            #pragma unroll
            for (int i = 0; i < 128; ++i) {
              acc_whole[i] = __fadd_rn(acc_whole[i], part_1_1[i]);
            }
          }
          int none[1] = {};
          {
            if (tid == 0) {
              store_4(arrivals + (long long)rest_turn_1, (const unsigned*)&none[0]);
            }
          }
        }
        else {
          #pragma unroll
          for (int i = 0; i < 128; ++i) {
            acc_whole[i] = acc[i];
          }
        }
        done = (long long)(arrived[0] == (int)((long long)shares - 1));
      }
      else {
        const auto next_done = 1;
        #pragma unroll
        for (int i = 0; i < 128; ++i) {
          acc_whole[i] = acc[i];
        }
        done = next_done;
      }
      if ((done == 1)) {
        unsigned c_1[64] = {};
        #pragma unroll
        for (int i = 0; i < 64; ++i) {
          c_1[i] = pack_f16(acc_whole[2 * i], acc_whole[2 * i + 1]);
        }
        unsigned piece[16];
        #pragma unroll
        for (int i_6 = 0; i_6 < 16; ++i_6) {
          piece[i_6] = c_1[i_6];
        }
        if (tid == 0) bulk_wait<1>();
        copy_wait<1>();
        barrier_of_some(256);
        stmatrix_x4(c_pieces + ((0)) * 8192 + ((row)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row) / 1 % 8)) - ((column) / 8 % 8)) * 8))), &piece[0]);
        stmatrix_x4(c_pieces + ((0)) * 8192 + ((row)) * 64 + (((column + 16 + ((((column + 16) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 16) / 8 % 8)) * 8))), &piece[4]);
        stmatrix_x4(c_pieces + ((0)) * 8192 + ((row)) * 64 + (((column + 32 + ((((column + 32) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 32) / 8 % 8)) * 8))), &piece[8]);
        stmatrix_x4(c_pieces + ((0)) * 8192 + ((row)) * 64 + (((column + 48 + ((((column + 48) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 48) / 8 % 8)) * 8))), &piece[12]);
        fence_async_proxy();
        barrier_of_some(256);
        if (tid == 0) {
          bulk_store_2d(&c_map, (unsigned char*)c_pieces + (0) * 16384, (int)(((long long)n_turn_1 * 256)), (int)(((long long)m_turn_1 * 128)));
        }
        copy_commit();
        if (tid == 0) bulk_commit();
        unsigned piece_1[16];
        #pragma unroll
        for (int i_8 = 0; i_8 < 16; ++i_8) {
          piece_1[i_8] = c_1[16 + i_8];
        }
        if (tid == 0) bulk_wait<1>();
        copy_wait<1>();
        barrier_of_some(256);
        stmatrix_x4(c_pieces + ((1)) * 8192 + ((row)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row) / 1 % 8)) - ((column) / 8 % 8)) * 8))), &piece_1[0]);
        stmatrix_x4(c_pieces + ((1)) * 8192 + ((row)) * 64 + (((column + 16 + ((((column + 16) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 16) / 8 % 8)) * 8))), &piece_1[4]);
        stmatrix_x4(c_pieces + ((1)) * 8192 + ((row)) * 64 + (((column + 32 + ((((column + 32) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 32) / 8 % 8)) * 8))), &piece_1[8]);
        stmatrix_x4(c_pieces + ((1)) * 8192 + ((row)) * 64 + (((column + 48 + ((((column + 48) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 48) / 8 % 8)) * 8))), &piece_1[12]);
        fence_async_proxy();
        barrier_of_some(256);
        if (tid == 0) {
          bulk_store_2d(&c_map, (unsigned char*)c_pieces + (1) * 16384, (int)((((long long)n_turn_1 * 256) + 64)), (int)(((long long)m_turn_1 * 128)));
        }
        copy_commit();
        if (tid == 0) bulk_commit();
        unsigned piece_2[16];
        #pragma unroll
        for (int i_10 = 0; i_10 < 16; ++i_10) {
          piece_2[i_10] = c_1[32 + i_10];
        }
        if (tid == 0) bulk_wait<1>();
        copy_wait<1>();
        barrier_of_some(256);
        stmatrix_x4(c_pieces + ((0)) * 8192 + ((row)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row) / 1 % 8)) - ((column) / 8 % 8)) * 8))), &piece_2[0]);
        stmatrix_x4(c_pieces + ((0)) * 8192 + ((row)) * 64 + (((column + 16 + ((((column + 16) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 16) / 8 % 8)) * 8))), &piece_2[4]);
        stmatrix_x4(c_pieces + ((0)) * 8192 + ((row)) * 64 + (((column + 32 + ((((column + 32) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 32) / 8 % 8)) * 8))), &piece_2[8]);
        stmatrix_x4(c_pieces + ((0)) * 8192 + ((row)) * 64 + (((column + 48 + ((((column + 48) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 48) / 8 % 8)) * 8))), &piece_2[12]);
        fence_async_proxy();
        barrier_of_some(256);
        if (tid == 0) {
          bulk_store_2d(&c_map, (unsigned char*)c_pieces + (0) * 16384, (int)((((long long)n_turn_1 * 256) + 128)), (int)(((long long)m_turn_1 * 128)));
        }
        copy_commit();
        if (tid == 0) bulk_commit();
        unsigned piece_3[16];
        #pragma unroll
        for (int i_12 = 0; i_12 < 16; ++i_12) {
          piece_3[i_12] = c_1[48 + i_12];
        }
        if (tid == 0) bulk_wait<1>();
        copy_wait<1>();
        barrier_of_some(256);
        stmatrix_x4(c_pieces + ((1)) * 8192 + ((row)) * 64 + (((column + ((((column) / 8 % 8) ^ ((row) / 1 % 8)) - ((column) / 8 % 8)) * 8))), &piece_3[0]);
        stmatrix_x4(c_pieces + ((1)) * 8192 + ((row)) * 64 + (((column + 16 + ((((column + 16) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 16) / 8 % 8)) * 8))), &piece_3[4]);
        stmatrix_x4(c_pieces + ((1)) * 8192 + ((row)) * 64 + (((column + 32 + ((((column + 32) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 32) / 8 % 8)) * 8))), &piece_3[8]);
        stmatrix_x4(c_pieces + ((1)) * 8192 + ((row)) * 64 + (((column + 48 + ((((column + 48) / 8 % 8) ^ ((row) / 1 % 8)) - ((column + 48) / 8 % 8)) * 8))), &piece_3[12]);
        fence_async_proxy();
        barrier_of_some(256);
        if (tid == 0) {
          bulk_store_2d(&c_map, (unsigned char*)c_pieces + (1) * 16384, (int)((((long long)n_turn_1 * 256) + 192)), (int)(((long long)m_turn_1 * 128)));
        }
        copy_commit();
        if (tid == 0) bulk_commit();
      }
      const auto next_first_slot = slot;
      const auto next_first_phase = phase;
      first_slot = next_first_slot;
      first_phase = next_first_phase;
    }
    if (tid == 0) bulk_wait<0>();
    copy_wait<0>();
    fence_async_proxy();
  }
}
