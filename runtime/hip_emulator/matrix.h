// MFMA: products of small matrices whose elements lie over the lanes (CDNA3 ISA, 7.1; CDNA4 ISA, 7.1).
// Sums are in f32 with one rounding a product, in the order of k; hardware's order is its own.
#pragma once
#include "lanes.h"

typedef float (*Decode)(u32);
#define INLINE static inline __attribute__((always_inline))

// Element e of a lane's operand, elements of `bits` one after another in its registers.
INLINE u32 element(const u32 *regs, int l, int e, int bits) {
  const int at = e * bits, word = at / 32, in = at % 32;
  u64 x = regs[word * LANES + l];
  if (in + bits > 32) x |= (u64)regs[(word + 1) * LANES + l] << 32;
  return (u32)(x >> in) & (bits == 32 ? ~0u : (1u << bits) - 1);
}

// Lane l holds row l % rows: k from kv * (l / rows) on, or of block l / rows. What is gathered is
// [blocks][k][rows], so that lanes lie side by side.
#define GATHER(VALUE)                                                                             \
  const int kv = k * rows * blocks / LANES;                                                       \
  for (int part = 0; part < LANES / rows; part++)                                                 \
    for (int e = 0; e < kv; e++)                                                                  \
      for (int row = 0; row < rows; row++) {                                                      \
        const int l = part * rows + row;                                                          \
        to[(part * kv + e) * rows + row] = VALUE;                                                 \
      }

INLINE void gather(float *to, const u32 *regs, int rows, int k, int blocks, int bits, Decode decode, const float *scale) {
  if (scale) {
    GATHER(decode(element(regs, l, e, bits)) * scale[l])
  } else {
    GATHER(decode(element(regs, l, e, bits)))
  }
}
INLINE void gather_i8(i32 *to, const u32 *regs, int rows, int k, int blocks) {
  GATHER((i8)element(regs, l, e, 8))
}

// The row of the result, counted over blocks, that register r holds in lanes m * part and on; its columns
// are those lanes.
INLINE int row_of(int part, int r, int m) {
  if (m == 4) return 4 * part + r;
  if (m == 16) return r / 4 * 16 + 4 * part + r % 4;
  return r / 16 * 32 + r % 16 / 4 * 8 + 4 * part + r % 4;
}
// Every element of the result: its register r, its lane l, and where it is, `at`.
#define FOR_RESULT(m, blocks, STATEMENT)                                                           \
  for (int r = 0; r < (blocks) * (m) * (m) / LANES; r++)                                           \
    for (int part = 0; part < LANES / (m); part++)                                                 \
      for (int j = 0; j < (m); j++) {                                                              \
        const int l = part * (m) + j, at = row_of(part, r, m) * (m) + j;                           \
        STATEMENT;                                                                                 \
      }

#define MFMA(NAME, T, MULTIPLY_ADD)                                                                \
  INLINE void NAME(T *acc, const T *a, const T *b, int m, int k, int blocks) {                     \
    for (int block = 0; block < blocks; block++)                                                   \
      for (int i = 0; i < m; i++) {                                                                \
        T row[32];                                                                                 \
        memcpy(row, acc + (block * m + i) * m, m * sizeof(T));                                     \
        for (int x = block * k; x < block * k + k; x++) {                                          \
          const T y = a[x * m + i];                                                                \
          for (int j = 0; j < m; j++) row[j] = MULTIPLY_ADD;                                       \
        }                                                                                          \
        memcpy(acc + (block * m + i) * m, row, m * sizeof(T));                                     \
      }                                                                                            \
  }
MFMA(multiply_f32, float, fmaf(y, b[x * m + j], row[j]))
MFMA(multiply_i32, i32, (i32)((u32)row[j] + (u32)(y * b[x * m + j])))

// d = a * b + c. `c` is NULL for the constant `fill`; registers are those of lanes, 64 apart.
INLINE void mfma_f32(u32 *d, const u32 *a, const u32 *b, const u32 *c, u32 fill, int m, int k, int blocks,
                     int bits_a, Decode decode_a, int bits_b, Decode decode_b, const float *scale_a, const float *scale_b) {
  float x[blocks * m * k], y[blocks * m * k], acc[blocks * m * m];
  gather(x, a, m, k, blocks, bits_a, decode_a, scale_a);
  gather(y, b, m, k, blocks, bits_b, decode_b, scale_b);
  FOR_RESULT(m, blocks, acc[at] = f32_of(c ? c[r * LANES + l] : fill))
  multiply_f32(acc, x, y, m, k, blocks);
  FOR_RESULT(m, blocks, d[r * LANES + l] = bits_f32(acc[at]))
}
INLINE void mfma_i32(u32 *d, const u32 *a, const u32 *b, const u32 *c, u32 fill, int m, int k, int blocks) {
  i32 x[blocks * m * k], y[blocks * m * k], acc[blocks * m * m];
  gather_i8(x, a, m, k, blocks);
  gather_i8(y, b, m, k, blocks);
  FOR_RESULT(m, blocks, acc[at] = (i32)(c ? c[r * LANES + l] : fill))
  multiply_i32(acc, x, y, m, k, blocks);
  FOR_RESULT(m, blocks, d[r * LANES + l] = (u32)acc[at])
}

INLINE double f64_at(const u32 *regs, int r, int l) {
  return f64_of(regs[2 * r * LANES + l] | (u64)regs[(2 * r + 1) * LANES + l] << 32);
}
// 16x16x4, and 4x4x4 in four blocks: k is the lane's row of 16, and so is the result's row.
INLINE void mfma_f64(u32 *d, const u32 *a, const u32 *b, const u32 *c, double fill, int m) {
  double out[4][LANES];
  for (int r = 0; r < m * m * (m == 4 ? 4 : 1) / LANES; r++) FOR_LANES {
    const int block = m == 4 ? l / 4 % 4 * 4 : 0, row = l / 16 + 4 * r;
    double s = c ? f64_at(c, r, l) : fill;
    for (int k = 0; k < 4; k++)
      s = fma(f64_at(a, 0, 16 * k + block + row), f64_at(b, 0, 16 * k + block + l % m), s);
    out[r][l] = s;
  }
  for (int r = 0; r < m * m * (m == 4 ? 4 : 1) / LANES; r++) FOR_LANES {
    d[2 * r * LANES + l] = (u32)bits_f64(out[r][l]);
    d[(2 * r + 1) * LANES + l] = (u32)(bits_f64(out[r][l]) >> 32);
  }
}

static inline float xf32_of(u32 x) { return f32_of(x & 0xffffe000); }  // 10 bits of mantissa
static inline float plain_f32(u32 x) { return f32_of(x); }

// The factors of a lane's operand, from the byte of its scale that op_sel chooses.
INLINE void scales(float *to, const u32 *regs, u32 constant, int byte) {
  FOR_LANES to[l] = e8m0_of((regs ? regs[l] : constant) >> 8 * byte);
}
