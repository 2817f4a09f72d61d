// What the parts of the runner share: blocks of threads that are fibers, memory, the request.
#pragma once
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <ucontext.h>

#include "machine.h"

const int WARP = 32;

struct Block;

// A copy on its way to shared memory.
struct Copy { unsigned char* to; const unsigned char* from; unsigned bytes, used; };

// A bulk copy on its way: of a box at `at`, to (or from) a byte of a block's shared memory.
struct BulkLoad { TensorBox box; int at[5]; unsigned to; Block* block; };

struct Fiber {
  Place place;
  Block* block;
  unsigned number;           // of the thread in its block
  unsigned char* stack;
  ucontext_t begin;
  jmp_buf context;
  bool begun, done;
  const char* waits_at;      // what it waits for; null while it can run
  int64_t priority;
  int barrier;               // the number of the barrier that it waits at, or -1
  int line;
  std::vector<std::vector<Copy>> groups;  // the last is open
  bool fenced;               // its registers are ordered before a warpgroup's product
  size_t products;           // of its warpgroup that it has asked for
  std::vector<size_t> product_groups;
  std::vector<BulkLoad> stores;  // bulk copies to global memory
  std::vector<size_t> committed;  // how many of them each group and those before it have
  std::vector<std::pair<unsigned, unsigned>> written;  // bytes that its copies wrote, without a fence since
  bool met;                  // it has come to its cluster's barrier, and not yet waited there
  unsigned meeting;          // the number of that barrier
};

// Lanes that have come to one collective.
struct Meeting { unsigned mask, here; EmuOp op; const void* detail; void* lanes[WARP]; int line; const char* name; };

struct Barrier { int waiting, count, line; };

// Products of a warpgroup: in the order in which its threads ask for them, the first `done` carried out.
struct Warpgroup {
  struct Product {
    int n, k;
    const char *d, *a, *b;
    unsigned long long left, right;
    bool left_down, right_down;
    unsigned came;
    std::vector<void*> registers;
    std::vector<unsigned> left_registers;  // their values
  };
  std::vector<Product> products;
  size_t done = 0;
  std::vector<Fiber*> waiting;
};

// An mbarrier: what its phase still waits for, and the copies that it counts.
struct PhaseBarrier {
  unsigned count, pending;
  long bytes;
  unsigned phase;
  std::vector<BulkLoad> loads;
  std::vector<Fiber*> waiting;
};

// Blocks that reach each other's shared memory, until each has ended; their barrier.
struct Cluster {
  std::vector<Block*> blocks;
  unsigned running, left, arrived, meeting;  // blocks and threads that still run, threads at the barrier
  std::vector<Fiber*> waiting;
};

struct Block {
  Index index;
  Cluster* cluster;
  unsigned rank;             // in its cluster
  unsigned char* shared;
  std::vector<Fiber*> fibers;
  std::vector<Meeting> warps;
  Barrier barriers[16];
  unsigned left;             // threads that still run
  std::vector<Warpgroup> groups;
  std::map<unsigned, PhaseBarrier> phases;
  std::vector<bool> unfenced;  // bytes of shared memory that units may not read yet
  bool awaited;                // a thread has awaited the launches before
};

struct Random {
  uint64_t state;
  uint32_t below(uint32_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)((state * 0x2545f4914f6cdd1dull >> 32) * n >> 32);
  }
};

extern Random emu_random;
extern Fiber* emu_fiber;
extern const char* emu_title;

// machine.cc
void park(const char* what);  // until somebody lets it go on
void unpark(Fiber* f);
void run_grid(void (*launch)(void**), void** args, unsigned blocks, unsigned threads, unsigned cluster,
              unsigned resident, bool steady, bool dependent);
void refuse_early(const char* what);  // while a launch before may still run

// hopper.cc
void end_thread(Fiber* f);

// matrix.cc
int bits_of(const char* type);
double value_of(unsigned long long code, const char* type);

// memory.cc
unsigned shared_size();
unsigned offset_of(unsigned address);      // in the memory of the block that holds it
Block& holder(unsigned address, const char* name);  // the block whose shared memory an address is in
unsigned char* shared_at(Block& block, unsigned offset, unsigned bytes, unsigned align, const char* name);
void set_shared(unsigned bytes);
unsigned char* new_shared();               // filled with ones: NaN in every float, -1 in every integer
void free_shared(unsigned char* memory, const Block& block);
void give_back_shared(unsigned char* memory);
unsigned char* guarded(const char* name, const unsigned char* data, size_t bytes, size_t align,
                       bool constant);
void seal_tensors(bool sealed);  // nothing may touch them
bool is_sealed();
void check_guards();
void install_handlers();
void land(const Copy& copy);
