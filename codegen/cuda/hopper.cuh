// Hopper: barriers with phases, bulk copies, clusters, products of warpgroups.

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

// Bytes in a row to shared memory; a barrier is told of them. They leave the cache before others do:
// packed weights are read by few blocks, and at one time.
DEVICE void bulk_load_run(void* to, const void* from, unsigned long long* b, int bytes) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
    :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(b)), "l"(policy) : "memory");
}

// Boxes of tensors to shared memory; a barrier is told of their bytes.
DEVICE void bulk_load_2d(void* to, const TensorMap* map, unsigned long long* b, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y) : "memory");
}

DEVICE void bulk_load_3d(void* to, const TensorMap* map, unsigned long long* b, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z) : "memory");
}

DEVICE void bulk_load_4d(void* to, const TensorMap* map, unsigned long long* b, int x, int y, int z, int u) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
}

DEVICE void bulk_load_5d(void* to, const TensorMap* map, unsigned long long* b, int x, int y, int z, int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}

// Boxes from shared memory, in groups: those waited for have been read.
DEVICE void bulk_store_2d(const TensorMap* map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y) : "memory");
}

DEVICE void bulk_store_3d(const TensorMap* map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y), "r"(z) : "memory");
}

DEVICE void bulk_store_4d(const TensorMap* map, const void* from, int x, int y, int z, int u) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
}

DEVICE void bulk_store_5d(const TensorMap* map, const void* from, int x, int y, int z, int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
    :: "l"(map), "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}

// The same to one place in the blocks of a cluster that a mask has bits for; each one's barrier is told.
DEVICE void bulk_multicast_run(void* to, const void* from, unsigned long long* b, int mask, int bytes) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1], %2, [%3], %4, %5;"
    :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(b)), "h"((unsigned short)mask), "l"(policy) : "memory");
}

DEVICE void bulk_multicast_2d(void* to, const TensorMap* map, unsigned long long* b, int mask, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "h"((unsigned short)mask) : "memory");
}

DEVICE void bulk_multicast_3d(void* to, const TensorMap* map, unsigned long long* b, int mask, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "h"((unsigned short)mask) : "memory");
}

DEVICE void bulk_multicast_4d(void* to, const TensorMap* map, unsigned long long* b, int mask, int x, int y, int z, int u) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "h"((unsigned short)mask) : "memory");
}

DEVICE void bulk_multicast_5d(void* to, const TensorMap* map, unsigned long long* b, int mask, int x, int y, int z, int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;"
    :: "r"(shared_address(to)), "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "h"((unsigned short)mask) : "memory");
}

// Clusters: a barrier of their threads, an arrival in the block of a rank, its memory.
DEVICE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The same where nothing that was written is for others to see, but for barriers that were fenced.
DEVICE void cluster_meet() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

DEVICE void phase_arrive_at(unsigned long long* b, int rank) {
  unsigned at;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(b)), "r"(rank));
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(at) : "memory");
}

template <class T> DEVICE T* in_block(T* p, int rank) {
  T* there; asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank)); return there;
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

template <int N> DEVICE void changed_integers(int* d) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(d[i]) :: "memory");
}

// The registers of a left operand live until here. Where there are calls, only an instruction says so:
// one that is never carried out, since there is a multiprocessor.
template <int N> DEVICE void keep_registers(const unsigned* a) {
#ifdef KEEP_REGISTERS
  unsigned multiprocessors;
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
  if (multiprocessors == 0) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("st.shared.u32 [%0], %1;" :: "r"(0), "r"(a[i]) : "memory");
  }
#endif
}

// An operand in the block's own shared memory: strides in bytes, the code of the swizzle. In a cluster
// addresses have the block's rank above.
DEVICE unsigned long long matrix_descriptor(const void* p, int leading, int stride, int swizzle) {
  return (unsigned long long)((shared_address(p) & 0x3ffffu) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}
