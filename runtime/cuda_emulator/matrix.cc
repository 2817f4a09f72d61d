// What the lanes of a warp do together: shuffles, votes, ldmatrix, stmatrix and mma.sync, by the fragment tables
// of PTX ISA 8.5 (9.7.14.5); and the rounding of short floats.
#include <cmath>
#include <cstring>

#include "runner.h"

namespace {

const unsigned ALL = ~0u;

struct Shuffle { unsigned long long* value; int source; };

void shuffle(void** lanes, unsigned mask, const void*) {
  unsigned long long given[WARP];
  for (int i = 0; i < WARP; ++i)
    if (mask >> i & 1) given[i] = *((Shuffle*)lanes[i])->value;
  for (int i = 0; i < WARP; ++i) {
    if (!(mask >> i & 1)) continue;
    Shuffle* s = (Shuffle*)lanes[i];
    if (s->source < 0 || s->source >= WARP || !(mask >> s->source & 1))
      emu_fail("lane %d reads from lane %d, which is not in the shuffle's mask %08x", i, s->source, mask);
    *s->value = given[s->source];
  }
}

void ballot(void** lanes, unsigned mask, const void*) {
  unsigned votes = 0;
  for (int i = 0; i < WARP; ++i)
    if (mask >> i & 1) votes |= (*(unsigned*)lanes[i] & 1u) << i;
  for (int i = 0; i < WARP; ++i)
    if (mask >> i & 1) *(unsigned*)lanes[i] = votes;
}

struct Matrices { unsigned* words; unsigned short row[8]; };
struct Shape { int count; bool transposed; };

// Lane i gives the address of row i % 8 of matrix i / 8; lane t gets the elements (t / 4, t % 4 * 2 + j).
void ldmatrix(void** lanes, unsigned, const void* detail) {
  const Shape* shape = (const Shape*)detail;
  for (int k = 0; k < shape->count; ++k) {
    const unsigned short* m[8];
    for (int r = 0; r < 8; ++r) m[r] = ((Matrices*)lanes[k * 8 + r])->row;
    for (int t = 0; t < WARP; ++t) {
      unsigned w = 0;
      for (int j = 0; j < 2; ++j) {
        const int r = t / 4, c = t % 4 * 2 + j;
        w |= (unsigned)(shape->transposed ? m[c][r] : m[r][c]) << 16 * j;
      }
      ((Matrices*)lanes[t])->words[k] = w;
    }
  }
}

struct Fragments { const unsigned* words; unsigned short row[8]; };

// The same way back: lane i gets row i % 8 of matrix i / 8 from the lanes that hold it.
void stmatrix(void** lanes, unsigned, const void* detail) {
  const Shape* shape = (const Shape*)detail;
  for (int k = 0; k < shape->count; ++k)
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c) {
        const int row = shape->transposed ? c : r, column = shape->transposed ? r : c;
        const unsigned w = ((Fragments*)lanes[row * 4 + column / 2])->words[k];
        ((Fragments*)lanes[k * 8 + r])->row[c] = (unsigned short)(w >> 16 * (column % 2));
      }
}

const Shape SHAPES[2][5] = {{{0, false}, {1, false}, {2, false}, {3, false}, {4, false}},
                            {{0, true}, {1, true}, {2, true}, {3, true}, {4, true}}};

}  // namespace

int bits_of(const char* type) {
  static const struct { const char* name; int bits; } types[] = {
      {"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"f32", 32}, {"f64", 64}, {"e4m3", 8}, {"e5m2", 8},
      {"s8", 8}, {"u8", 8}, {"s4", 4}, {"u4", 4}, {"s32", 32}};
  for (const auto& t : types)
    if (!strcmp(t.name, type)) return t.bits;
  emu_fail("mma.sync of %s", type);
}

double value_of(unsigned long long code, const char* type) {
  const int bits = bits_of(type);
  if (bits < 64) code &= (1ull << bits) - 1;
  if (!strcmp(type, "f16")) return emu_decode((unsigned)code, 5, 10);
  if (!strcmp(type, "bf16")) return emu_decode((unsigned)code, 8, 7);
  if (!strcmp(type, "tf32")) return emu_decode((unsigned)code & ~0x1fffu, 8, 23);
  if (!strcmp(type, "f32")) return emu_decode((unsigned)code, 8, 23);
  if (!strcmp(type, "e5m2")) return emu_decode((unsigned)code, 5, 2);
  if (!strcmp(type, "e4m3")) {
    if ((code & 0x7f) == 0x7f) return NAN;
    const int e = (int)(code >> 3 & 15), m = (int)(code & 7);
    const double x = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
    return code >> 7 ? -x : x;
  }
  double x;
  if (!strcmp(type, "f64")) return memcpy(&x, &code, 8), x;
  if (type[0] == 'u') return (double)code;
  return (double)((long long)(code << (64 - bits)) >> (64 - bits));
}

namespace {

// d = a b + c of a warp. Register r of A has, from row lane / 4 (+ 8 in every second register of m16),
// 32 / bits neighbours along k; B likewise by columns; C and D have pairs along n.
void product(void** lanes, unsigned, const void* detail) {
  const Product& p = *(const Product*)detail;
  static double a[16][64], b[64][8], c[16][8];
  const int halves = p.m / 8, wide = bits_of(p.a) == 64 ? 64 : 32;
  const int each = wide / bits_of(p.a);
  for (int lane = 0; lane < WARP; ++lane) {
    const unsigned long long* r = (const unsigned long long*)lanes[lane];
    const int group = lane / 4, inside = lane % 4;
    for (int i = 0; i < p.lanes_a; ++i)
      for (int j = 0; j < each; ++j)
        a[group + i % halves * 8][i / halves * 4 * each + inside * each + j] =
            value_of(r[p.lanes_d + i] >> j * bits_of(p.a), p.a);
    for (int i = 0; i < p.lanes_b; ++i)
      for (int j = 0; j < each; ++j)
        b[i * 4 * each + inside * each + j][group] =
            value_of(r[p.lanes_d + p.lanes_a + i] >> j * bits_of(p.b), p.b);
    for (int i = 0; i < p.lanes_d; ++i)
      c[group + i / 2 * 8][inside * 2 + i % 2] = value_of(r[p.lanes_d + p.lanes_a + p.lanes_b + i], p.d);
  }
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j < p.n; ++j) {
      double sum = c[i][j];
      for (int k = 0; k < p.k; ++k) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  for (int lane = 0; lane < WARP; ++lane) {
    unsigned long long* r = (unsigned long long*)lanes[lane];
    for (int i = 0; i < p.lanes_d; ++i) {
      const double x = c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
      const float f = (float)x;
      unsigned short_bits;
      memcpy(&short_bits, &f, 4);
      if (p.d[0] == 's') r[i] = (unsigned)(long long)x;
      else if (wide == 64) memcpy(&r[i], &x, 8);
      else r[i] = short_bits;
    }
  }
}

}  // namespace

extern "C" {

void emu_shuffle(unsigned mask, unsigned long long* value, int source, int line) {
  Shuffle s = {value, source};
  emu_meet(mask, shuffle, nullptr, &s, line, "a shuffle");
}

unsigned emu_ballot(unsigned mask, bool vote, int line) {
  unsigned votes = vote;
  emu_meet(mask, ballot, nullptr, &votes, line, "a vote");
  return votes;
}

void emu_ldmatrix(unsigned* words, unsigned address, int count, bool transposed, int line) {
  Matrices mine = {words, {}};
  // A row is read when its lane comes: the lanes' meeting orders nothing that they did to memory.
  if ((int)emu_lane() < 8 * count) memcpy(mine.row, emu_shared_pointer(address, 16, 16, "ldmatrix"), 16);
  emu_meet(ALL, ldmatrix, &SHAPES[transposed][count], &mine, line, "ldmatrix");
}

void emu_stmatrix(const unsigned* words, unsigned address, int count, bool transposed, int line) {
  Fragments mine = {words, {}};
  emu_meet(ALL, stmatrix, &SHAPES[transposed][count], &mine, line, "stmatrix");
  if ((int)emu_lane() < 8 * count) memcpy(emu_shared_pointer(address, 16, 16, "stmatrix"), mine.row, 16);
}

void emu_product(const Product* form, unsigned long long* registers) {
  emu_meet(ALL, product, form, registers, 0, form->name);
}

double emu_decode(unsigned code, int exponent, int mantissa) {
  const int bias = (1 << (exponent - 1)) - 1, top = (1 << exponent) - 1;
  const int e = (int)(code >> mantissa & (unsigned)top);
  const double m = code & ((1u << mantissa) - 1u);
  double x;
  if (e == top) x = m != 0 ? NAN : INFINITY;
  else x = e ? ldexp(m + (1u << mantissa), e - bias - mantissa) : ldexp(m, 1 - bias - mantissa);
  return code >> (exponent + mantissa) & 1u ? -x : x;
}

unsigned emu_encode(double x, int exponent, int mantissa) {
  const int bias = (1 << (exponent - 1)) - 1, top = (1 << exponent) - 1;
  if (std::isnan(x)) return (1u << (exponent + mantissa)) - 1u;
  const unsigned sign = std::signbit(x) ? 1u << (exponent + mantissa) : 0u;
  if (std::isinf(x)) return sign | (unsigned)top << mantissa;
  int e;
  frexp(x, &e);                        // |x| = f 2^e with f in [1/2, 1)
  if (x == 0 || e < 2 - bias) e = 2 - bias;
  const double units = nearbyint(ldexp(fabs(x), mantissa + 1 - e));  // of the last place, to even
  const unsigned code = (unsigned)units + (unsigned)((e - 2 + bias) << mantissa);
  return sign | (code >= (unsigned)top << mantissa ? (unsigned)top << mantissa : code);
}

double emu_odd(double x, double y) {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  const double from_y = sum - x;
  const double error = (x - (sum - from_y)) + (y - from_y);
  unsigned long long bits;
  memcpy(&bits, &sum, 8);
  if (error == 0 || bits & 1) return sum;
  return nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

}  // extern "C"
