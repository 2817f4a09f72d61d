// What translated kernels and the machine that runs them agree on: registers, instructions, accesses.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

#define EXPORTED __attribute__((visibility("default")))

enum { LANES = 64, VGPRS = 512, FIRST_AGPR = 256, SGPRS = 129 };
enum { FLAT_SCRATCH = 102, VCC = 106, M0 = 124, EXEC = 126, SCC = 128 };
enum { NONE = 0xffff };  // in place of a register

#define FOR_LANES for (int l = 0; l < LANES; l++)

typedef struct Wave Wave;
typedef struct Ins Ins;

// What an instruction is to the machine; RUN computes on registers alone, by `run`.
enum Kind { RUN, BRANCH, ACCESS, WAIT, BARRIER, SLEEP, END, TRAP, NOTHING };

// Flags. ALL: computes in every lane whatever EXEC says. STRICT: where an operand is undefined the
// result is (comparisons).
enum Flag { ALL = 1, STRICT = 2 };

typedef struct {
  u8 vector;  // a VGPR (AGPRs follow at FIRST_AGPR), else an SGPR
  u8 count;
  u16 at;
} Span;

enum Space { GLOBAL, BUFFER, FLAT, SCRATCH, LDS, SCALAR };
enum Action { LOAD, STORE, ATOMIC, TO_LDS, PERMUTE };
// What becomes of a loaded element that is narrower than a register.
enum Extend { ZERO, SIGN, LOW_HALF, HIGH_HALF, LOW_HALF_SIGN, HIGH_HALF_SIGN, TRANSPOSE };

// One access of memory. Registers by role in Ins.r: 0 result, 1 address, 2 data, 3 base or resource,
// 4 scalar offset, 5 second data.
typedef struct {
  u8 space, action, extend;
  u8 bytes;      // of an element in memory
  u8 count;      // elements a lane: 2 where there are two offsets; of atomics, operands
  u8 returns;    // an atomic that gives the old value
  u8 offen, idxen;
  u8 coherent;   // a load of a word that atomics of other compute units change
  i32 offset, offset1;
  void (*combine)(void *memory, const u32 *data, const u32 *data1);
  u32 (*permute)(u32 lane, u32 pattern);
} Access;

struct Ins {
  void (*run)(Wave *, const Ins *);
  const Access *access;
  u64 k[4];        // literals
  u16 r[8];        // registers, in the order of operands
  Span reads[8], writes[4];  // up to a count of 0
  u8 kind, flags;
  u16 vm, lgkm;    // WAIT: how many may be outstanding
  u32 target;      // BRANCH
  u32 line;        // of the text
  const char *text, *source;
};

typedef struct {
  const char *name;
  const Ins *code;
  u32 length;
} Program;

typedef struct Flight Flight;
typedef struct Group Group;

struct Wave {
  u32 v[VGPRS][LANES] __attribute__((aligned(64)));
  u32 s[SGPRS + 3] __attribute__((aligned(8)));
  u64 defined[VGPRS][4];       // a bit a lane for each byte of a register
  u32 sdefined[SGPRS + 3];
  u16 pending[VGPRS], spending[SGPRS + 3];  // loads on their way
  u16 ordered[VGPRS];          // of these, loads that end in the order in which they began
  u32 pc;
  u8 state, yields, number, priority, queued;
  u32 on_the_way;              // registers, counted by load
  Group *group;
  Flight *oldest, *newest;
  u32 vm, lgkm;
  u8 *scratch, *scratch_defined;
  u64 clock;
  struct {
    u32 pc, visits, power, others;
    u64 state, changes;
  } spin;
};

static inline u64 pair(const Wave *w, u32 r) { return w->s[r] | (u64)w->s[r + 1] << 32; }
static inline u64 exec_of(const Wave *w) { return pair(w, EXEC); }
static inline void set_pair(Wave *w, u32 r, u64 x) {
  w->s[r] = (u32)x;
  w->s[r + 1] = (u32)(x >> 32);
}

// Lanes of a register, where the mask has a bit.
static inline void set_lanes(u32 *to, const u32 *from, u64 mask) {
  if (mask == ~(u64)0) {
    memcpy(to, from, LANES * 4);
  } else if (mask) {
    FOR_LANES if (mask >> l & 1) to[l] = from[l];
  }
}
