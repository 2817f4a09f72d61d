"""The words of C for what loops of cores do: types, operations, and what stands before every loop."""

from __future__ import annotations

C = {"f32": "float", "bf16": "float", "i1": "uint8_t", "i8": "int8_t", "i16": "int16_t",
     "i32": "int32_t", "index": "int64_t"}  # fmt: skip
STORED = {**C, "bf16": "uint16_t"}
BINARY = {
    "addf": "{0} + {1}", "subf": "{0} - {1}", "mulf": "{0} * {1}", "divf": "{0} / {1}",
    "maximumf": "greater({0}, {1})", "minimumf": "lesser({0}, {1})",
    "addi": "{0} + {1}", "subi": "{0} - {1}", "muli": "{0} * {1}",
    "andi": "{0} & {1}", "ori": "{0} | {1}", "xori": "{0} ^ {1}",
    "minsi": "{0} < {1} ? {0} : {1}", "maxsi": "{0} > {1} ? {0} : {1}",
}  # fmt: skip
INDEX = {"shrui": "{0} >> {1}", "divui": "({1} ? {0} / {1} : 0)",
         "remui": "({1} ? {0} % {1} : 0)"}  # fmt: skip
MATH = {"exp": "expf({0})", "exp2": "exp2f({0})", "sqrt": "sqrtf({0})", "rsqrt": "1.0f / sqrtf({0})",
         "absf": "fabsf({0})", "tanh": "tanhf({0})", "fma": "fmaf({0}, {1}, {2})"}  # fmt: skip
REDUCE = {"add": "t + {0}", "maximumf": "greater(t, {0})", "minimumf": "lesser(t, {0})"}
ORDER = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

PRELUDE = """\
#include <math.h>
#include <stdint.h>
#include <string.h>
typedef struct { uint8_t *data, *mask; int64_t count; } memory;
static inline float greater(float x, float y) { return x != x ? x : y != y ? y : x > y ? x : y; }
static inline float lesser(float x, float y) { return x != x ? x : y != y ? y : x < y ? x : y; }
static inline float wide(uint16_t x) {
  uint32_t b = (uint32_t)x << 16; float f; memcpy(&f, &b, 4); return f;
}
static inline uint16_t narrow(float f) {
  uint32_t b; memcpy(&b, &f, 4);
  if (f != f) return (uint16_t)(b >> 16 | 0x40);
  return (uint16_t)((b + 0x7FFF + (b >> 16 & 1)) >> 16);
}
static inline float rounded(float f) { return wide(narrow(f)); }
static int refused(int64_t *e, int m, int64_t at, int lanes, int line, int write) {
  e[0] = m; e[1] = at; e[2] = lanes; e[3] = line; e[4] = write; return 1;
}
#define READ(m, at, n, line) do { \\
  if ((at) < 0 || (at) + (n) > M[m].count) return refused(E, m, at, n, line, 0); \\
  if (M[m].mask) for (int i = 0; i < (n); i++) \\
    if (!M[m].mask[(at) + i]) return refused(E, m, at, n, line, 0); } while (0)
#define WRITE(m, at, n, line) do { \\
  if ((at) < 0 || (at) + (n) > M[m].count) return refused(E, m, at, n, line, 1); \\
  if (M[m].mask) memset(M[m].mask + (at), 1, n); } while (0)
"""
