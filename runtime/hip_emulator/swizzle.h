// The patterns of ds_swizzle (CDNA3 ISA, chapter 11.3).
#pragma once
#include "machine.h"

static inline u32 ds_swizzle(u32 lane, u32 pattern) {
  if (pattern & 0x8000) return (lane & ~3u) | (pattern >> 2 * (lane & 3) & 3);
  const u32 in = lane & 31;
  return (lane & 32) | (((in & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}
