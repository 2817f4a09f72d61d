// Global memory: loads, stores and atomics, and what they give to registers.
#include "launch.h"

static const Access *of(const Flight *f) { return f->ins->access; }

static u32 dwords_of(const Access *a) { return (u32)(a->bytes + 3) / 4; }

static bool eight_defined(const u8 *defined) {
  u64 x;
  memcpy(&x, defined, 8);
  return x == 0x0101010101010101ull;
}

// Lanes of which all is defined are noted together until here.
void settle(Flight *f, u32 dwords) {
  for (u32 k = 0; f->whole && k < dwords; k++)
    for (u32 b = 0; b < 4; b++) f->defined[k][b] |= f->whole;
  f->whole = 0;
}

// Bytes of memory as a lane's dwords from number `first` on.
void take_bytes(Flight *f, const u8 *from, const u8 *defined, u32 bytes, u32 first, int l) {
  const u64 lane = (u64)1 << l;
  for (u32 k = 0; k < (bytes + 3) / 4; k++) {
    const u32 n = bytes - 4 * k < 4 ? bytes - 4 * k : 4;
    u32 x = 0;
    if (n == 4) memcpy(&x, from + 4 * k, 4);
    else memcpy(&x, from + 4 * k, n);
    f->data[first + k][l] = x;
  }
  const bool all = !defined || (bytes == 16 && eight_defined(defined) && eight_defined(defined + 8));
  if (all && first == 0 && bytes == f->ins->access->bytes) {
    f->whole |= lane;
    return;
  }
  for (u32 k = 0; k < (bytes + 3) / 4; k++)
    for (u32 b = 0; b < 4; b++)
      if (all || 4 * k + b >= bytes || defined[4 * k + b]) f->defined[first + k][b] |= lane;
}

static void sample_lane(Wave *w, Flight *f, int l, u32 bytes) {
  u8 *defined;
  if (of(f)->coherent && part_of_word(f->address[0][l], bytes).count < bytes) {
    load_word(w, f, l);
    return;
  }
  const u8 *from = place(w, f, bytes, false, l, &defined);
  take_bytes(f, from, defined, bytes, 0, l);
}

static void store_lane(Wave *w, Flight *f, int l, u32 bytes) {
  u8 *defined;
  u8 *to = place(w, f, bytes, true, l, &defined);
  u32 x[4];
  for (int k = 0; k < 4; k++) x[k] = f->data[k][l];
  if (of(f)->extend == HIGH_HALF) x[0] >>= 16;
  if (memcmp(to, x, bytes)) machine.changes++;
  memcpy(to, x, bytes);
  for (u32 b = 0; defined && b < bytes; b++) defined[b] = f->defined[b / 4][b % 4] >> l & 1;
}

// The effect on memory, or of memory on the flight.
static void sample(Wave *w, Flight *f) {
  const Access *a = of(f);
  if (f->sampled) return;
  f->sampled = 1;
  FOR_LANES {
    if (!(f->exec >> l & 1)) continue;
    const u32 valid = a->space == BUFFER ? f->valid[l] : a->bytes;
    if (a->action == ATOMIC) {
      if (valid == a->bytes) change_word(w, f, l);
    } else if (a->action == STORE) {
      if (valid) store_lane(w, f, l, valid);
    } else {
      for (u32 k = (valid + 3) / 4; k < dwords_of(a); k++) {
        f->data[k][l] = 0;
        for (int b = 0; b < 4; b++) f->defined[k][b] |= (u64)1 << l;
      }
      if (valid) sample_lane(w, f, l, valid);
    }
  }
  settle(f, dwords_of(a));
}

static void check_lanes(Wave *w, Flight *f) {
  const Access *a = of(f);
  u8 *defined;
  find_host(f, a->action == STORE || a->action == ATOMIC);
  if (f->host && a->space != BUFFER) return;
  FOR_LANES {
    if (!(f->exec >> l & 1)) continue;
    const u32 valid = a->space == BUFFER ? f->valid[l] : a->bytes;
    if (!valid || (f->host && valid == a->bytes)) continue;
    const bool atomic = a->action == ATOMIC;
    const Part own = atomic || a->coherent ? part_of_word(f->address[0][l], valid) : (Part){0, valid};
    locate_lane(w, f->address[0][l] + own.first, own.count, a->action == STORE || atomic, l, &defined);
  }
}

static bool overlap(const Flight *x, const Flight *y) {
  if (x->host && y->host && (x->host > y->host + y->extent || y->host > x->host + x->extent)) return false;
  FOR_LANES {
    if (!(x->exec >> l & 1)) continue;
    for (int m = 0; m < LANES; m++)
      if (y->exec >> m & 1 && x->address[0][l] < y->address[0][m] + of(y)->bytes &&
          y->address[0][m] < x->address[0][l] + of(x)->bytes)
        return true;
  }
  return false;
}

// A wave's accesses of one address happen in order; those that wait do anyway.
static void keep_order(Wave *w, const Flight *f) {
  for (Flight *older = w->oldest; older; older = older->next) {
    if (older->sampled || !older->vm) continue;
    const bool reads = of(older)->action == LOAD || of(older)->action == TO_LDS;
    if (reads && (of(f)->action == LOAD || of(f)->action == TO_LDS)) continue;
    if (overlap(older, f)) sample(w, older);
  }
}

static void take_data(Wave *w, const Ins *i, Flight *f) {
  const Access *a = i->access;
  const u32 n = dwords_of(a);
  const bool global = a->space != SCRATCH && !(a->space == FLAT);
  for (u32 k = 0; k < n; k++) {
    memcpy(f->data[k], w->v[i->r[2] + k], sizeof f->data[k]);
    memcpy(f->defined[k], w->defined[i->r[2] + k], sizeof f->defined[k]);
  }
  if (a->action == STORE && a->bytes < 4) {  // the other bytes do not matter
    const int first = a->extend == HIGH_HALF ? 2 : 0;
    u64 all = ~(u64)0;
    for (int b = 0; b < a->bytes; b++) {
      f->defined[0][b] = w->defined[i->r[2]][first + b];
      all &= f->defined[0][b];
    }
    if (global && ~all & f->exec) report("it stores %s, which is undefined", register_name(true, i->r[2]));
  } else if (global || a->action == ATOMIC) {
    const u32 operands = a->action == ATOMIC ? (u32)a->count * n : n;
    require_defined(w, i->r[2], operands, f->exec, "what it stores");
    for (u32 k = n; k < operands; k++) memcpy(f->data[k], w->v[i->r[2] + k], sizeof f->data[k]);
  }
  if (a->action == ATOMIC) memset(f->defined, 0, sizeof f->defined);
}

static void access_scalar(Wave *w, const Ins *i) {
  const Access *a = i->access;
  Flight *f = new_flight(i, 1);
  f->lgkm = 1, f->vector = 0, f->host = NULL, f->dwords = (u8)(a->bytes / 4);
  require_scalar(w, i->r[3], a->idxen ? 4 : 2, "the address");
  require_scalar(w, i->r[4], 1, "the address");
  const u64 offset = (u64)(i64)a->offset + (i->r[4] == NONE ? 0 : w->s[i->r[4]]);
  u64 at = pair(w, i->r[3]), valid = a->bytes;
  if (a->idxen) {  // a buffer
    at &= 0xffffffffffffull;
    const u64 records = w->s[i->r[3] + 2];
    valid = offset >= records ? 0 : records - offset < valid ? (records - offset) / 4 * 4 : valid;
  }
  f->address[0][0] = (at + offset) & ~(u64)3;
  for (u32 k = 0; k < f->dwords; k++) f->data[k][0] = 0;
  for (u32 k = (u32)valid / 4; k < f->dwords; k++)
    for (int b = 0; b < 4; b++) f->defined[k][b] = 1;
  if (valid) sample_lane(w, f, 0, (u32)valid);
  settle(f, f->dwords);
  begin(w, f);
}

// Where waves meet is where their order matters: after atomics, and where others see an access before
// an earlier one. Then others go on, at times for long.
static void meet(Wave *w, bool atomic, bool now) {
  bool early = false;
  for (const Flight *f = w->oldest; f && now; f = f->next)
    early |= !f->sampled && (of(f)->action == STORE || of(f)->action == ATOMIC);
  if (!early && !(atomic && chance(2))) return;
  w->yields = 1;
  if (chance(2)) w->priority = 0;
}

void access_memory(Wave *w, const Ins *i) {
  const Access *a = i->access;
  if (a->space == LDS) {
    access_lds(w, i);
    return;
  }
  if (a->space == SCALAR) {
    access_scalar(w, i);
    return;
  }
  Flight *f = new_flight(i, exec_of(w));
  f->vm = 1, f->lgkm = a->space == FLAT, f->dwords = (u8)dwords_of(a);
  if (a->space == BUFFER) buffer_addresses(w, i, f, f->valid);
  else addresses(w, i, f);
  if (a->action == STORE || a->action == ATOMIC) take_data(w, i, f);
  check_lanes(w, f);
  if (a->action == TO_LDS) start_dma(w, f);
  // An access happens now or when it has to, and those of different addresses in any order.
  const bool now = a->space == SCRATCH || chance(a->action == STORE ? 4 : 2);
  if (now) {
    keep_order(w, f);
    sample(w, f);
  }
  begin(w, f);
  if (a->space != SCRATCH && (a->action == STORE || a->action == ATOMIC)) meet(w, a->action == ATOMIC, now);
}

static void land_half(Wave *w, const Flight *f, bool high, bool sign) {
  const u32 r = f->ins->r[0], bytes = of(f)->bytes;
  FOR_LANES {
    if (!(f->exec >> l & 1)) continue;
    u32 x = f->data[0][l];
    if (sign && bytes == 1) x = (u32)(i32)(i8)x & 0xffff;
    w->v[r][l] = high ? (w->v[r][l] & 0xffff) | x << 16 : (w->v[r][l] & 0xffff0000) | (x & 0xffff);
  }
  for (int b = 0; b < 2; b++) {
    u64 *d = &w->defined[r][high ? 2 + b : b];
    *d = (*d & ~f->exec) | (f->defined[0][b] & f->exec);
  }
}

// An instruction's registers get what it gave.
void land(Wave *w, Flight *f) {
  const Access *a = of(f);
  if (a->space != LDS && a->space != SCALAR) sample(w, f);
  if (a->action == TO_LDS) {
    land_dma(w, f);
    return;
  }
  const u32 r = f->ins->r[0];
  if (r == NONE || a->action == STORE) return;
  if (!f->vector) {
    for (u32 k = 0; k < f->dwords; k++) {
      const u64 *d = f->defined[k];
      w->s[r + k] = f->data[k][0];
      w->sdefined[r + k] = d[0] & d[1] & d[2] & d[3] & 1 ? ~0u : 0;
    }
    return;
  }
  if (a->extend >= LOW_HALF && a->extend <= HIGH_HALF_SIGN) {
    land_half(w, f, a->extend == HIGH_HALF || a->extend == HIGH_HALF_SIGN, a->extend >= LOW_HALF_SIGN);
    return;
  }
  if (a->bytes < 4 && a->action == LOAD) {
    FOR_LANES {
      if (a->extend == SIGN) f->data[0][l] = a->bytes == 1 ? (u32)(i32)(i8)f->data[0][l] : (u32)(i32)(i16)f->data[0][l];
      for (int b = 1; b < 4; b++) f->defined[0][b] &= f->defined[0][a->bytes - 1];
    }
  }
  for (u32 k = 0; k < f->dwords; k++) {
    set_lanes(w->v[r + k], f->data[k], f->exec);
    for (int b = 0; b < 4; b++)
      w->defined[r + k][b] = (w->defined[r + k][b] & ~f->exec) | (f->defined[k][b] & f->exec);
  }
}
