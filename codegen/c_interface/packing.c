/* Codes as the bytes that kernels read: docs/packed_weights.md says how they lie. */
enum { DSLC_AXES = 8 };
typedef struct {
  int bits, has_sign, axes, digits, thread_bytes, word_bytes, lanes;
  int64_t tile_codes;
  const int32_t *tile;        /* the extents of a tile; NULL where codes lie row by row */
  const int32_t (*digit)[3];  /* in the order of storage: its axis, its size, what it counts there */
} dslc_storage;

static int64_t dslc_packed_bytes(const dslc_storage *s, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < s->axes; ++i) count *= s->tile ? dslc_cdiv(shape[i], s->tile[i]) : shape[i];
  return s->tile ? count * (s->tile_codes * s->bits / 8) : dslc_cdiv(count * s->bits, 8);
}

/* The bits of a code, the lowest first; `out` was zero. */
static void dslc_put(uint8_t *out, int64_t bit, unsigned code, int bits) {
  unsigned placed = code << (bit & 7);
  out[bit >> 3] |= (uint8_t)placed;
  if ((bit & 7) + bits > 8) out[(bit >> 3) + 1] |= (uint8_t)(placed >> 8);
}

/* The bits of the code at a place, -1 where it has more. */
static int dslc_code(const dslc_storage *s, const dslc_tensor *codes, int64_t at) {
  uint8_t byte = ((const uint8_t *)(uintptr_t)dslc_address(codes))[at];
  if (s->bits == 8) return byte;
  int value = s->has_sign || codes->dtype.code == 0 ? (int8_t)byte : byte;
  int low = s->has_sign ? -(1 << (s->bits - 1)) : 0;
  if (value < low || value >= low + (1 << s->bits)) return -1;
  return value & ((1 << s->bits) - 1);
}

static int dslc_no_code(const dslc_storage *s, const char *name, const int64_t *index) {
  char place[24 * DSLC_AXES] = "";
  for (int i = 0; i < s->axes; ++i)
    snprintf(place + strlen(place), sizeof place - strlen(place), "%s%" PRId64, i ? ", " : "", index[i]);
  return dslc_fail(DSLC_ARGUMENT, "the code at [%s] of %s has more than %d bits", place, name, s->bits);
}

/* The next index below `ends`, the last axis first; 0 after the last one. */
static int dslc_next(int64_t *index, const int64_t *ends, int axes) {
  for (int i = axes - 1; i >= 0; --i) {
    if (++index[i] < ends[i]) return 1;
    index[i] = 0;
  }
  return 0;
}

static int dslc_pack_rows(const dslc_storage *s, const dslc_tensor *codes, const char *name,
                          const int64_t *strides, uint8_t *out) {
  int64_t index[DSLC_AXES] = {0}, bit = 0;
  do {
    int64_t at = 0;
    for (int i = 0; i < s->axes; ++i) at += index[i] * strides[i];
    int code = dslc_code(s, codes, at);
    if (code < 0) return dslc_no_code(s, name, index);
    dslc_put(out, bit, (unsigned)code, s->bits);
    bit += s->bits;
  } while (dslc_next(index, codes->shape, s->axes));
  return 0;
}

/* A tile's bytes, each thread's one after another, as words of all threads. */
static void dslc_deal(const dslc_storage *s, const uint8_t *linear, uint8_t *out, int64_t bytes) {
  int64_t threads = bytes / s->thread_bytes;
  for (int64_t thread = 0; thread < threads; ++thread)
    for (int byte = 0; byte < s->thread_bytes; ++byte) {
      int to = byte;
      if (s->lanes > 1) {
        int part = s->thread_bytes / s->lanes, within = 4 / s->lanes, rest = byte % part;
        to = 4 * (rest / within) + within * (byte / part) + rest % within;
      }
      int64_t word = to / s->word_bytes;
      out[(word * threads + thread) * s->word_bytes + to % s->word_bytes] = linear[thread * s->thread_bytes + byte];
    }
}

/* `places` has the coordinates of each code of a tile, `linear` a byte more than a tile. */
static int dslc_pack_tiles(const dslc_storage *s, const dslc_tensor *codes, const char *name,
                           const int64_t *strides, uint8_t *out, int32_t *places, uint8_t *linear) {
  int64_t bytes = s->tile_codes * s->bits / 8, counts[DSLC_AXES], tile[DSLC_AXES] = {0};
  for (int i = 0; i < s->axes; ++i) counts[i] = dslc_cdiv(codes->shape[i], s->tile[i]);
  memset(places, 0, (size_t)(s->tile_codes * s->axes) * sizeof *places);
  for (int64_t position = 0; position < s->tile_codes; ++position) {
    int64_t rest = position;
    for (int d = s->digits - 1; d >= 0; --d) {
      places[position * s->axes + s->digit[d][0]] += (int32_t)(rest % s->digit[d][1]) * s->digit[d][2];
      rest /= s->digit[d][1];
    }
  }
  do {
    memset(linear, 0, (size_t)bytes + 1);
    for (int64_t position = 0; position < s->tile_codes; ++position) {
      int64_t at = 0, index[DSLC_AXES];
      int inside = 1;
      for (int i = 0; i < s->axes; ++i) {
        index[i] = tile[i] * s->tile[i] + places[position * s->axes + i];
        inside &= index[i] < codes->shape[i];
        at += index[i] * strides[i];
      }
      if (!inside) continue; /* what fills the last tiles is 0 */
      int code = dslc_code(s, codes, at);
      if (code < 0) return dslc_no_code(s, name, index);
      dslc_put(linear, position * s->bits, (unsigned)code, s->bits);
    }
    dslc_deal(s, linear, out, bytes);
    out += bytes;
  } while (dslc_next(tile, counts, s->axes));
  return 0;
}

/* `codes` [..] of 8 bits on the host, one a byte, as `*bytes` packed ones; without `out` their number alone. */
static int dslc_pack(const dslc_storage *s, const dslc_tensor *codes, const char *name, uint8_t *out,
                     int64_t *bytes) {
  int64_t size = dslc_packed_bytes(s, codes->shape), strides[DSLC_AXES], dense = 1;
  if (out && *bytes != size)
    return dslc_fail(DSLC_ARGUMENT, "packed %s takes %" PRId64 " bytes, not %" PRId64, name, size, *bytes);
  *bytes = size;
  if (!out || !size) return 0;
  for (int i = s->axes - 1; i >= 0; --i) {
    strides[i] = codes->strides ? codes->strides[i] : dense;
    dense *= codes->shape[i];
  }
  memset(out, 0, (size_t)size);
  if (!dense) return 0;
  if (!s->tile) return dslc_pack_rows(s, codes, name, strides, out);
  int32_t *places = malloc((size_t)(s->tile_codes * s->axes) * sizeof *places);
  uint8_t *linear = malloc((size_t)(s->tile_codes * s->bits / 8) + 1);
  int failed = dslc_fail(DSLC_DRIVER, "there is no memory to pack %s", name);
  if (places && linear) failed = dslc_pack_tiles(s, codes, name, strides, out, places, linear);
  free(places);
  free(linear);
  return failed;
}
