// Values of other lanes: DPP controls and the selections of SDWA.
#pragma once
#include "machine.h"

// The lane that `l` reads under a DPP control, or -1. Controls as the encodings number them.
static inline int dpp_source(int l, u32 control) {
  const int row = l & ~15, in = l & 15;
  if (control < 0x100) return (l & ~3) | (int)(control >> 2 * (l & 3) & 3);        // quad_perm
  const int n = control & 15;
  if (control < 0x110) return in + n < 16 ? l + n : -1;                              // row_shl
  if (control < 0x120) return in - n >= 0 ? l - n : -1;                              // row_shr
  if (control < 0x130) return row | ((in - n) & 15);                                 // row_ror
  switch (control) {
    case 0x130: return l + 1 < 64 ? l + 1 : -1;  // wave_shl
    case 0x134: return (l + 1) & 63;             // wave_rol
    case 0x138: return l - 1;                    // wave_shr
    case 0x13c: return (l - 1) & 63;             // wave_ror
    case 0x140: return row | (15 - in);          // row_mirror
    case 0x141: return (l & ~7) | (7 - (l & 7)); // row_half_mirror
    case 0x142: return row >= 16 ? row - 1 : -1; // row_bcast:15
    case 0x143: return l >= 32 ? 31 : -1;        // row_bcast:31
  }
  return row | n;  // row_newbcast (0x150 and on)
}

// The operand as the lanes of a DPP instruction see it; the result says which lanes are written.
static inline u64 dpp(u32 *to, const u32 *from, u64 exec, u32 control, u32 rows, u32 banks, bool zero) {
  u64 written = 0;
  FOR_LANES {
    const int s = dpp_source(l, control);
    const bool valid = s >= 0 && (exec >> s & 1);
    to[l] = valid ? from[s] : 0;
    const bool enabled = (rows >> (l >> 4) & 1) && (banks >> (l >> 2 & 3) & 1);
    written |= (u64)(enabled && (valid || zero)) << l;
  }
  return written & exec;
}

// A byte or word of a register. SDWA numbers them: bytes 0-3, words 4 and 5, the whole 6.
static inline u32 selected(u32 x, int part, bool sign) {
  if (part == 6) return x;
  const int at = part < 4 ? 8 * part : 16 * (part - 4), bits = part < 4 ? 8 : 16;
  x = x >> at & ((1u << bits) - 1);
  return sign ? (u32)((i32)(x << (32 - bits)) >> (32 - bits)) : x;
}
// A result put into a part of a register; the rest is 0, the sign, or what it was.
enum Unused { PAD, SEXT, PRESERVE };
static inline u32 placed(u32 x, u32 old, int part, int unused) {
  if (part == 6) return x;
  const int at = part < 4 ? 8 * part : 16 * (part - 4), bits = part < 4 ? 8 : 16;
  const u32 mask = ((1u << bits) - 1) << at, put = x << at & mask;
  if (unused == PRESERVE) return (old & ~mask) | put;
  if (unused == SEXT) return put | (x >> (bits - 1) & 1 ? ~((mask >> at << at) | ((1u << at) - 1)) : 0);
  return put;
}
