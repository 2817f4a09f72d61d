// LDS: accesses, races between waves, and copies of global memory that land in it.
#include "launch.h"

// Two waves that touch a byte in one epoch (between two barriers of the workgroup), one of them
// writing, race. What a wave left on its way at a barrier is touched again in the epoch after it.
// Tags are an epoch and who it was: a wave's number + 1, with ATOMIC where it was by an atomic.
enum { ATOMIC_BY = 0x80, SEVERAL_ATOMICS = 0xfe, SEVERAL = 0xff };

static void race(const Wave *w, u32 byte, u32 other, bool write, bool wrote) {
  if (other >= SEVERAL_ATOMICS)
    report("a race: it %s byte %u of LDS, which other waves %s since the last barrier", write ? "writes" : "reads",
           byte, wrote ? "wrote" : "read");
  report("a race: it %s byte %u of LDS, which wave %u %s since the last barrier (this is wave %u)",
         write ? "writes" : "reads", byte, (other & ~ATOMIC_BY) - 1, wrote ? "wrote" : "read", w->number);
}

// Whether a tag of this epoch is another wave's; those of atomics may meet.
static bool foreign(u32 tag, u32 epoch, u32 mine, bool atomic) {
  return tag >= epoch && tag != mine && tag != (mine | ATOMIC_BY) && !(atomic && tag & ATOMIC_BY && (tag & 255) != SEVERAL);
}

// What is wrong with a touch, in words.
static void explain(const Wave *w, u32 first, u32 last, bool write, bool atomic, bool landing, u32 mine) {
  const Group *g = w->group;
  const u32 shift = machine.request->granule_shift, epoch = g->epoch << 8;
  for (u32 b = first; b <= last; b++) {
    if (g->landing[b] && !landing)
      report("it %s byte %u of LDS before the s_waitcnt that lands the copy to it", write ? "writes" : "reads", b << shift);
    if (foreign(g->wrote[b], epoch, mine, atomic)) race(w, b << shift, g->wrote[b] & 255, write, true);
    if (write && foreign(g->read[b], epoch, mine, false)) race(w, b << shift, g->read[b] & 255, write, false);
  }
}

static u32 atomic_tag(u32 tag, u32 epoch, u32 mine) {
  if (tag < epoch) return mine | ATOMIC_BY;
  return tag == mine || tag == (mine | ATOMIC_BY) ? tag : epoch | SEVERAL_ATOMICS;
}

// An access of a lane, for the races. Atomics of several waves may meet. The tags are of granules: 4
// bytes where the kernel accesses LDS in no smaller ones.
static void touch_as(Wave *w, u32 at, u32 bytes, bool write, bool atomic, bool landing, int lane) {
  Group *g = w->group;
  const Request *q = machine.request;
  if ((u64)at + bytes > q->lds_bytes)
    report("it %s %u bytes at byte %d of LDS, of which the workgroup has %u (lane %d)", write ? "writes" : "reads",
           bytes, (i32)at, q->lds_bytes, lane);
  const u32 first = at >> q->granule_shift, last = (at + bytes - 1) >> q->granule_shift;
  const u32 epoch = g->epoch << 8, mine = epoch | (w->number + 1u);
  u32 bad = 0;
  for (u32 b = first; b <= last; b++) {
    bad |= (g->wrote[b] >= epoch) & (g->wrote[b] != mine);
    bad |= write & (g->read[b] >= epoch) & (g->read[b] != mine);
    bad |= (g->landing[b] != 0) & !landing;
  }
  if (bad) explain(w, first, last, write, atomic, landing, mine);
  for (u32 b = first; b <= last; b++) {
    if (atomic) g->wrote[b] = atomic_tag(g->wrote[b], epoch, mine);
    else if (write) g->wrote[b] = mine;
    else g->read[b] = (g->read[b] >= epoch) & (g->read[b] != mine) ? epoch | SEVERAL : mine;
  }
}

void touch(Wave *w, u32 at, u32 bytes, bool write, int lane) { touch_as(w, at, bytes, write, false, false, lane); }

static u32 dma_bytes(const Flight *f) { return f->ins->access->bytes; }

static void touch_flight(Wave *w, Flight *f) {
  const Access *a = f->ins->access;
  const bool lds = a->space == LDS && a->action != PERMUTE;
  if (!lds && a->action != TO_LDS) return;
  machine.by = w, machine.at = f->ins;
  FOR_LANES {
    if (!(f->exec >> l & 1)) continue;
    if (a->action == TO_LDS) {
      touch_as(w, f->lds_at + (u32)l * dma_bytes(f), dma_bytes(f), true, false, true, l);
      continue;
    }
    for (int k = 0; k < a->count; k++)
      touch_as(w, (u32)f->address[k][l], a->bytes, a->action != LOAD, a->action == ATOMIC, false, l);
  }
}

void touch_again(Group *g) {
  for (u32 i = 0; i < g->waves; i++)
    for (Flight *f = g->wave[i]->oldest; f; f = f->next) touch_flight(g->wave[i], f);
}

static void count_landing(Group *g, u32 at, u32 bytes, int step) {
  const u32 shift = machine.request->granule_shift;
  for (u32 b = at >> shift; b <= (at + bytes - 1) >> shift; b++) g->landing[b] = (u16)(g->landing[b] + step);
}

// The copy's lanes go to consecutive places from M0, whatever their addresses are.
void start_dma(Wave *w, Flight *f) {
  const Ins *i = f->ins;
  if (~w->sdefined[M0]) report("a copy to LDS goes where m0 says, which is undefined");
  const u32 m0 = w->s[M0] & (machine.request->lds_is_large ? 0x3ffff : 0xffff);
  f->lds_at = m0 + (u32)i->access->offset;
  if (f->lds_at % 4) report("a copy to LDS begins at byte %u, which is no multiple of 4", f->lds_at);
  FOR_LANES {
    if (!(f->exec >> l & 1)) continue;
    const u32 at = f->lds_at + (u32)l * dma_bytes(f);
    touch_as(w, at, dma_bytes(f), true, false, true, l);
    count_landing(w->group, at, dma_bytes(f), 1);
  }
}

void land_dma(Wave *w, Flight *f) {
  Group *g = w->group;
  FOR_LANES {
    if (!(f->exec >> l & 1)) continue;
    const u32 at = f->lds_at + (u32)l * dma_bytes(f);
    for (u32 k = 0; k < dma_bytes(f) / 4; k++) {
      memcpy(g->lds + at + 4 * k, &f->data[k][l], 4);
      for (u32 b = 0; b < 4; b++) g->lds_defined[at + 4 * k + b] = f->defined[k][b] >> l & 1;
    }
    count_landing(g, at, dma_bytes(f), -1);
  }
  machine.changes++;
}

static void read_lane(Wave *w, Flight *f, u32 at, u32 bytes, u32 first, int l) {
  const Group *g = w->group;
  take_bytes(f, g->lds + at, g->lds_defined + at, bytes, first, l);
}

static void write_lane(Wave *w, const u32 *data, const u64 (*defined)[4], u32 from, u32 at, u32 bytes, int l) {
  Group *g = w->group;
  u8 now[16];
  for (u32 b = 0; b < bytes; b++) now[b] = (u8)(data[(from + b) / 4] >> 8 * ((from + b) % 4));
  if (memcmp(g->lds + at, now, bytes)) machine.changes++;
  memcpy(g->lds + at, now, bytes);
  for (u32 b = 0; b < bytes; b++) g->lds_defined[at + b] = defined[(from + b) / 4][(from + b) % 4] >> l & 1;
}

static void rmw_lane(Wave *w, Flight *f, u32 at, int l) {
  const Ins *i = f->ins;
  const Access *a = i->access;
  Group *g = w->group;
  if (at % a->bytes) report("an atomic at byte %u of LDS, which is no multiple of %u (lane %d)", at, a->bytes, l);
  for (u32 b = at; b < at + a->bytes; b++)
    if (!g->lds_defined[b]) report("an atomic on byte %u of LDS, which nothing wrote (lane %d)", b, l);
  u32 old[2], operands[2][2];
  for (u32 k = 0; k < a->bytes / 4u; k++) {
    operands[0][k] = i->r[2] == NONE ? 0 : w->v[i->r[2] + k][l];
    operands[1][k] = i->r[5] == NONE ? 0 : w->v[i->r[5] + k][l];
  }
  memcpy(old, g->lds + at, a->bytes);
  a->combine(g->lds + at, operands[0], operands[1]);
  if (memcmp(g->lds + at, old, a->bytes)) machine.changes++;
  for (u32 k = 0; k < a->bytes / 4u; k++) {
    f->data[k][l] = old[k];
    for (int b = 0; b < 4; b++) f->defined[k][b] |= (u64)1 << l;
  }
}

// ds_read_..._tr: rows of 16 elements, each loaded by 16 / n lanes of n elements, become columns: lane i
// of 16 gets element i of every row (CDNA4 ISA, LDS transpose loads).
static void transpose(Flight *f, u32 bits) {
  const u32 dwords = f->dwords, n = dwords * 32 / bits, lanes = 16 / n;
  u32 out[4][LANES];
  memset(out, 0, sizeof out);
  u64 bad = 0;
  for (u32 k = 0; k < dwords; k++)
    bad |= ~(f->defined[k][0] & f->defined[k][1] & f->defined[k][2] & f->defined[k][3]);
  FOR_LANES for (u32 j = 0; j < n; j++) {
    const u32 i = (u32)l & 15, lane = ((u32)l & ~15u) + lanes * j + i / n;
    const u32 from = i % n * bits, to = j * bits;
    for (u32 b = 0; b < bits; b++) {
      const u32 bit = f->data[(from + b) / 32][lane] >> (from + b) % 32 & 1;
      out[(to + b) / 32][l] |= bit << (to + b) % 32;
    }
  }
  memcpy(f->data, out, sizeof out);
  for (int group = 0; group < LANES; group += 16)
    if (bad >> group & 0xffff)
      for (u32 k = 0; k < dwords; k++)
        for (int b = 0; b < 4; b++) f->defined[k][b] &= ~((u64)0xffff << group);
}

// ds_permute, ds_bpermute, ds_swizzle: through LDS's crossbar, not its memory.
static void permute(Wave *w, const Ins *i, Flight *f) {
  const Access *a = i->access;
  const u32 data = i->r[2];
  u32 source[LANES];
  FOR_LANES source[l] = NONE;
  if (a->permute) {
    FOR_LANES source[l] = a->permute((u32)l, (u32)a->offset);
  } else {
    require_defined(w, i->r[1], 1, f->exec, "the lane's number");
    FOR_LANES {
      if (!(f->exec >> l & 1)) continue;
      const u32 other = (w->v[i->r[1]][l] + (u32)a->offset) / 4 % LANES;
      if (a->idxen) source[other] = (u32)l;  // forward: the highest lane wins
      else source[l] = other;
    }
  }
  FOR_LANES {
    const bool valid = source[l] != NONE && (f->exec >> source[l] & 1);
    f->data[0][l] = valid ? w->v[data][source[l]] : 0;
    for (int b = 0; b < 4; b++) f->defined[0][b] |= (valid ? w->defined[data][b] >> source[l] & 1 : (u64)1) << l;
  }
}

void access_lds(Wave *w, const Ins *i) {
  const Access *a = i->access;
  Flight *f = new_flight(i, exec_of(w));
  const u32 each = (a->bytes + 3u) / 4;
  f->lgkm = 1, f->sampled = 1, f->dwords = (u8)(each * (a->action == LOAD ? a->count : 1));
  if (a->action == PERMUTE) {
    permute(w, i, f);
    begin(w, f);
    return;
  }
  require_defined(w, i->r[1], 1, f->exec, "the address");
  if (a->action == ATOMIC) {
    require_defined(w, i->r[2], each, f->exec, "what it stores");
    require_defined(w, i->r[5], each, f->exec, "what it stores");
  }
  FOR_LANES {
    if (!(f->exec >> l & 1)) continue;
    for (int k = 0; k < a->count; k++) {
      const u32 at = w->v[i->r[1]][l] + (u32)(k ? a->offset1 : a->offset);
      f->address[k][l] = at;
      touch_as(w, at, a->bytes, a->action != LOAD, a->action == ATOMIC, false, l);
      if (a->action == LOAD) {
        read_lane(w, f, at, a->bytes, (u32)k * each, l);
      } else if (a->action == ATOMIC) {
        rmw_lane(w, f, at, l);
      } else {
        u32 x[4];
        const u32 reg = i->r[k ? 5 : 2];
        for (u32 d = 0; d < each; d++) x[d] = w->v[reg + d][l];
        write_lane(w, x, (const u64(*)[4])w->defined[reg], a->extend == HIGH_HALF ? 2 : 0, at, a->bytes, l);
      }
    }
  }
  settle(f, each);
  if (a->extend == TRANSPOSE) transpose(f, (u32)i->k[1]);
  begin(w, f);
}
