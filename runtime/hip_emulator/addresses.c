// Where accesses of memory go: addresses of lanes, arrays and their bounds, buffers.
#include "launch.h"

enum { FIRST_BYTE = 1 << 30 };  // of an allocation within its addresses

u64 lanes_defined(const Wave *w, u32 reg, u32 count) {
  u64 all = ~(u64)0;
  for (u32 r = reg; r < reg + count; r++) {
    const u64 *d = w->defined[r];
    all &= d[0] & d[1] & d[2] & d[3];
  }
  return all;
}

void require_defined(Wave *w, u32 reg, u32 count, u64 lanes, const char *what) {
  if (reg == NONE) return;
  for (u32 r = reg; r < reg + count; r++) {
    const u64 bad = ~lanes_defined(w, r, 1) & lanes;
    if (bad) report("%s depends on %s, which is undefined in lane %d", what, register_name(true, r), __builtin_ctzll(bad));
  }
}

void require_scalar(Wave *w, u32 reg, u32 count, const char *what) {
  if (reg == NONE) return;
  for (u32 r = reg; r < reg + count; r++)
    if (~w->sdefined[r]) report("%s depends on %s, which is undefined", what, register_name(false, r));
}

const Allocation *allocation_of(u64 address) {
  const Request *q = machine.request;
  const u64 number = (address >> ALLOCATION_BITS) - 1;
  return number < q->allocation_count ? &q->allocations[number] : NULL;
}

i64 byte_of(const Allocation *a, u64 address) {
  return (i64)(address & (((u64)1 << ALLOCATION_BITS) - 1)) - FIRST_BYTE - a->skew;
}

static u8 *locate(u64 address, u32 bytes, bool write, int lane, u8 **defined) {
  const char *verb = write ? "writes" : "reads";
  const Allocation *a = allocation_of(address);
  if (!a)
    report("it %s %u bytes at address %#llx, which is of no array (lane %d)", verb, bytes,
           (unsigned long long)address, lane);
  const i64 at = byte_of(a, address);
  if (at < 0 || (u64)at + bytes > a->size)
    report("it %s %u bytes at byte %lld of %s, which has %llu (lane %d)", verb, bytes, (long long)at,
           a->name, (unsigned long long)a->size, lane);
  if (write && !a->writable) report("it writes to %s, which is an input (lane %d)", a->name, lane);
  *defined = a->defined ? a->defined + at : NULL;
  return a->bytes + at;
}

// Where a lane's bytes are: also in its scratch memory, and in LDS through flat addresses.
u8 *locate_lane(Wave *w, u64 address, u32 bytes, bool write, int lane, u8 **defined) {
  const u64 aperture = address >> 32 << 32;
  if (aperture == PRIVATE_APERTURE) {
    const u32 at = (u32)address, size = machine.request->scratch_bytes;
    if ((u64)at + bytes > size)
      report("it accesses %u bytes at byte %d of scratch memory, which has %u (lane %d)", bytes, (i32)at, size, lane);
    *defined = w->scratch_defined + (size_t)lane * size + at;
    return w->scratch + (size_t)lane * size + at;
  }
  if (aperture == SHARED_APERTURE) {
    touch(w, (u32)address, bytes, write, lane);
    *defined = w->group->lds_defined + (u32)address;
    return w->group->lds + (u32)address;
  }
  return locate(address, bytes, write, lane, defined);
}

// How many bytes of a lane's access are within a buffer; a buffer without stride or swizzle is checked
// by bytes, dword by dword (CDNA3 ISA, 9.1.5).
void buffer_addresses(Wave *w, const Ins *i, Flight *f, u8 *valid) {
  const Access *a = i->access;
  const u32 *d = &w->s[i->r[3]];
  require_scalar(w, i->r[3], 4, "the buffer resource");
  require_scalar(w, i->r[4], 1, "the address");
  require_defined(w, i->r[1], a->offen + a->idxen, f->exec, "the address");
  const u64 base = d[0] | (u64)(d[1] & 0xffff) << 32, records = d[2];
  const u32 stride = d[1] >> 16 & 0x3fff, scalar = i->r[4] == NONE ? (u32)i->k[0] : w->s[i->r[4]];
  if (d[1] >> 31 || d[3] >> 23 & 1) report("the emulator knows no swizzled buffers");
  const u32 *index = a->idxen ? w->v[i->r[1]] : NULL;
  const u32 *offset = a->offen ? w->v[i->r[1] + a->idxen] : NULL;
  const u32 size = a->bytes;
  FOR_LANES {
    if (!(f->exec >> l & 1)) continue;
    const u64 at = (u64)(offset ? offset[l] : 0) + (u32)a->offset + (u64)stride * (index ? index[l] : 0);
    f->address[0][l] = base + at + scalar;
    const u64 end = records > scalar ? records - scalar : 0;
    if (stride && index) valid[l] = (u8)(index[l] < records ? size : 0);
    else valid[l] = (u8)(at + size <= end ? size : at >= end ? 0 : (end - at) / 4 * 4);
  }
}

void addresses(Wave *w, const Ins *i, Flight *f) {
  const Access *a = i->access;
  const bool scalar = i->r[3] != NONE;
  if (i->r[1] != NONE)
    require_defined(w, i->r[1], a->space == SCRATCH || scalar ? 1 : 2, f->exec, "the address");
  const u32 *low = i->r[1] == NONE ? NULL : w->v[i->r[1]];
  if (a->space == SCRATCH) {
    require_scalar(w, i->r[3], 1, "the address");
    const u32 at = (scalar ? w->s[i->r[3]] : 0) + (u32)a->offset;
    FOR_LANES f->address[0][l] = PRIVATE_APERTURE | (u32)(at + (low ? low[l] : 0));
  } else if (scalar) {
    require_scalar(w, i->r[3], 2, "the address");
    const u64 at = pair(w, i->r[3]) + (u64)(i64)a->offset;
    FOR_LANES f->address[0][l] = at + low[l];
  } else {
    const u32 *high = w->v[i->r[1] + 1];
    FOR_LANES f->address[0][l] = (low[l] | (u64)high[l] << 32) + (u64)(i64)a->offset;
  }
}

// Lanes mostly are within one array: it is looked for once.
void find_host(Flight *f, bool write) {
  f->host = NULL;
  u64 low = ~(u64)0, high = 0;
  const u32 bytes = f->ins->access->bytes;
  FOR_LANES {
    const u64 at = f->address[0][l];
    if (!(f->exec >> l & 1) || (f->ins->access->space == BUFFER && f->valid[l] != bytes)) continue;
    low = at < low ? at : low;
    high = at > high ? at : high;
  }
  const Allocation *a = allocation_of(low);
  if (low > high || !a || high >> ALLOCATION_BITS != low >> ALLOCATION_BITS) return;
  const i64 at = byte_of(a, low);
  if (at < 0 || (u64)at + (high - low) + bytes > a->size || (write && !a->writable)) return;
  f->host = a->bytes + at, f->shadow = a->defined ? a->defined + at : NULL, f->low = low;
  f->extent = high - low + bytes;
}

u8 *place(Wave *w, const Flight *f, u32 bytes, bool write, int l, u8 **defined) {
  if (!f->host || bytes != f->ins->access->bytes) return locate_lane(w, f->address[0][l], bytes, write, l, defined);
  *defined = f->shadow ? f->shadow + (f->address[0][l] - f->low) : NULL;
  return f->host + (f->address[0][l] - f->low);
}
