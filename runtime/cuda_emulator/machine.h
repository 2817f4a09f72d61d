// What a translated kernel asks of the machine that runs it (machine.cc, memory.cc, matrix.cc).
#pragma once

struct Index { unsigned x, y, z; };

// The thread that runs now.
struct Place { Index thread, block; };

// One form of mma.sync: m x n x k, element types as PTX spells them, registers of a lane.
struct Product { const char* name; int m, n, k; const char *d, *a, *b; int lanes_d, lanes_a, lanes_b; };

extern "C" {
extern const Place* emu_place;
extern Index emu_block_dim, emu_grid_dim;

[[noreturn]] void emu_fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
void emu_barrier(int line, int id, int count);
void emu_barrier_arrive(int id, int count);
void emu_yield();          // other threads may go first: before an atomic operation, at a fence
void emu_watch(int line);  // before a read of what another block may change: spinning is noticed

// All lanes of `mask` come together; the last to come does `op` on what the lanes gave.
typedef void (*EmuOp)(void** lanes, unsigned mask, const void* detail);
void emu_meet(unsigned mask, EmuOp op, const void* detail, void* lane, int line, const char* name);

unsigned char* emu_shared();
unsigned emu_shared_address(const void* p);
unsigned char* emu_shared_pointer(unsigned address, unsigned bytes, unsigned align, const char* name);
// Another block's of the cluster: its address, and a pointer to what `p` points to in one's own.
unsigned emu_mapped(unsigned address, unsigned rank);
void* emu_mapped_pointer(const void* p, unsigned rank);
void emu_cluster_arrive(int line);
void emu_cluster_wait(int line);

// Launches before this one (PTX ISA 8.5, 9.7.13.13): until they are awaited no tensor may be touched.
void emu_await_launches(int line);
void emu_prefetch(const void* from, int bytes);

void emu_copy(unsigned to, const void* from, unsigned bytes, unsigned used);
void emu_commit();
void emu_wait(int pending);

// A box of a tensor, as a tensor map describes it: extents and strides in bytes, the fastest axis first.
struct alignas(64) TensorBox {
  unsigned char* base;
  long long extents[5], strides[5];
  unsigned box[5], elements, size, swizzle;
  int rank;
};

void emu_wgmma_fence();
void emu_wgmma(int n, int k, const char* d, const char* a, const char* b, void** registers, int count,
               void** left_registers, unsigned long long left, unsigned long long right, bool left_down, bool right_down);
void emu_wgmma_commit();
void emu_wgmma_wait(int pending, int line);
void emu_proxy_fence();
void emu_phase_init(unsigned address, unsigned count);
void emu_phase_arrive(unsigned address, long bytes);
void emu_phase_wait(unsigned address, unsigned parity, int line);
void emu_bulk_load(const TensorBox* box, const int* at, unsigned to, unsigned barrier);
void emu_bulk_multicast(const TensorBox* box, const int* at, unsigned to, unsigned barrier, unsigned mask);
void emu_bulk_store(const TensorBox* box, const int* at, unsigned from);
void emu_bulk_commit();
void emu_bulk_wait(int pending);

void emu_product(const Product* form, unsigned long long* registers);
void emu_ldmatrix(unsigned* words, unsigned address, int count, bool transposed, int line);
void emu_stmatrix(const unsigned* words, unsigned address, int count, bool transposed, int line);
void emu_shuffle(unsigned mask, unsigned long long* value, int source, int line);
unsigned emu_ballot(unsigned mask, bool vote, int line);
unsigned emu_lane();

double emu_decode(unsigned code, int exponent, int mantissa);  // with infinities and NaN, as IEEE 754
unsigned emu_encode(double x, int exponent, int mantissa);     // nearest even; NaN is all ones but the sign
double emu_odd(double x, double y);  // x + y rounded to odd: a second rounding to fewer bits is right
}
