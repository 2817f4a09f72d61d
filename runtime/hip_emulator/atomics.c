// Atomics in memory, and words that an array has only a part of.
//
// Allocations are of whole words (hipMalloc gives multiples of 256 bytes), arrays within them need not be: an
// atomic on the word around a number of 8 or 16 bits sees bytes of another array, which may change at any
// time by no doing of this kernel. It may read them and write them back by a comparison, nothing else.
#include "launch.h"

// Which bytes of a word are of the array that it is in.
Part part_of_word(u64 address, u32 bytes) {
  const Part whole = {0, bytes};
  const Allocation *a = allocation_of(address);
  if (!a || address % bytes) return whole;
  const i64 begin = -byte_of(a, address), end = begin + (i64)a->size;  // of the array, as the word counts
  if (begin >= bytes || end <= 0) return whole;
  const u32 first = begin > 0 ? (u32)begin : 0, last = end < bytes ? (u32)end : bytes;
  return (Part){first, last - first};
}

// A byte that is another's: any, and the same each time (the finaliser of splitmix64).
static u8 neighbour(u64 address) {
  u64 x = address ^ machine.request->seed;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return (u8)(x ^ x >> 31);
}

static void neighbours(u8 *word, u64 address, Part own, u32 bytes) {
  for (u32 b = 0; b < bytes; b++)
    if (b < own.first || b >= own.first + own.count) word[b] = neighbour(address + b);
}

// A coherent load of such a word.
void load_word(Wave *w, Flight *f, int l) {
  const u64 address = f->address[0][l];
  const u32 bytes = f->ins->access->bytes;
  const Part own = part_of_word(address, bytes);
  u8 *defined, word[16], known[16];
  const u8 *from = locate_lane(w, address + own.first, own.count, false, l, &defined);
  memset(known, 1, sizeof known);
  neighbours(word, address, own, bytes);
  memcpy(word + own.first, from, own.count);
  if (defined) memcpy(known + own.first, defined, own.count);
  take_bytes(f, word, known, bytes, 0, l);
}

// What nothing wrote yet, and what is another's, is run as zeros and as ones: each such bit may stay as it
// is or get a value of its own, as by a mask; else the result depends on it.
void change_word(Wave *w, Flight *f, int l) {
  const Access *a = f->ins->access;
  const u64 address = f->address[0][l];
  u8 *defined;
  if (address % a->bytes) report("an atomic at an address that is no multiple of %u (lane %d)", a->bytes, l);
  const Part own = part_of_word(address, a->bytes);
  u8 *const at = locate_lane(w, address + own.first, own.count, true, l, &defined);
  u32 operand[4];
  for (int k = 0; k < 4; k++) operand[k] = f->data[k][l];
  _Alignas(8) u8 old[8] = {0}, made[8], zeros[8], ones[8];
  memset(zeros, 0, 8), memset(ones, 0xff, 8);
  neighbours(old, address, own, a->bytes);
  memcpy(old + own.first, at, own.count), memcpy(made, old, 8);
  for (u32 b = 0; b < own.count; b++)
    if (!defined || defined[b]) zeros[own.first + b] = ones[own.first + b] = at[b];
  for (int k = 0; k < 3; k++) a->combine(k == 0 ? made : k == 1 ? zeros : ones, operand, operand + a->bytes / 4);
  for (u32 b = 0; b < a->bytes; b++) {
    const bool mine = b >= own.first && b < own.first + own.count;
    u8 *const shadow = mine && defined ? defined + (b - own.first) : NULL;
    const bool known = mine && (!shadow || *shadow);
    if (!mine && (zeros[b] != 0 || ones[b] != 0xff || made[b] != old[b]))
      report("an atomic changes byte %u of a word, which is of another array (lane %d)", b, l);
    if (known ? zeros[b] != ones[b] : zeros[b] & ~ones[b])
      report("an atomic on memory that nothing wrote (lane %d)", l);
    f->defined[b / 4][b % 4] |= (u64)(known || !mine) << l;
    if (shadow && !known && (u8)(zeros[b] | ~ones[b])) *shadow = 1;  // its other bits are not followed
  }
  memcpy(at, made + own.first, own.count);
  if (memcmp(made, old, 8)) machine.changes++;
  for (u32 k = 0; k < a->bytes / 4u; k++) memcpy(&f->data[k][l], old + 4 * k, 4);
}
