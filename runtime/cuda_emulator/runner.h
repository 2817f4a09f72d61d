// What the parts of the runner share: blocks of threads that are fibers, memory, the request.
#pragma once
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ucontext.h>

#include "machine.h"

const int WARP = 32;

struct Block;

// A copy on its way to shared memory.
struct Copy { unsigned char* to; const unsigned char* from; unsigned bytes, used; };

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
};

// Lanes that have come to one collective.
struct Meeting { unsigned mask, here; EmuOp op; const void* detail; void* lanes[WARP]; int line; const char* name; };

struct Barrier { int waiting, count, line; };

struct Block {
  Index index;
  unsigned char* shared;
  std::vector<Fiber*> fibers;
  std::vector<Meeting> warps;
  Barrier barriers[16];
  unsigned left;             // threads that still run
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
void run_grid(void (*launch)(void**), void** args, unsigned blocks, unsigned threads, unsigned resident, bool steady);

// memory.cc
void set_shared(unsigned bytes);
unsigned char* new_shared();               // filled with ones: NaN in every float, -1 in every integer
void free_shared(unsigned char* memory, const Block& block);
unsigned char* guarded(const char* name, const unsigned char* data, size_t bytes, size_t align,
                       bool constant);
void check_guards();
void install_handlers();
void land(const Copy& copy);
