/* What every interface needs: arithmetic as manifests mean it, errors, checks of tensors. */
static _Thread_local char dslc_text[512];

static int dslc_fail(int status, const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  vsnprintf(dslc_text, sizeof dslc_text, format, rest);
  va_end(rest);
  return status;
}

/* Division rounds down, and the remainder has the divisor's sign; by zero both give 0. */
static inline int64_t dslc_div(int64_t x, int64_t y) {
  return y ? x / y - (x % y != 0 && (x < 0) != (y < 0)) : 0;
}
static inline int64_t dslc_mod(int64_t x, int64_t y) { return y ? x - dslc_div(x, y) * y : 0; }
static inline int64_t dslc_cdiv(int64_t x, int64_t y) { return -dslc_div(-x, y); }
static inline int64_t dslc_min(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t dslc_max(int64_t x, int64_t y) { return x < y ? y : x; }
static inline int64_t dslc_abs(int64_t x) { return x < 0 ? -x : x; }
static inline int64_t dslc_shl(int64_t x, int64_t by) {
  return by >= 0 && by < 64 ? (int64_t)((uint64_t)x << by) : 0;
}
static inline int64_t dslc_shr(int64_t x, int64_t by) { return by >= 0 && by < 64 ? x >> by : 0; }
static inline int dslc_power(int64_t size) {
  int bits = 0;
  for (int64_t rest = size > 0 ? size - 1 : 0; rest; rest >>= 1) ++bits;
  return bits;
}
/* How many powers of two a size lies from the one that code is meant for. */
static inline int dslc_far(int64_t size, int64_t meant) {
  return abs(dslc_power(size) - dslc_power(meant));
}

static inline uint64_t dslc_address(const dslc_tensor *t) {
  return (uint64_t)(uintptr_t)t->data + t->byte_offset;
}

/* Another name's type with the same bits serves, as it does in Python: codes and bit patterns. */
static int dslc_check_type(const dslc_tensor *t, const char *name, int code, int bits) {
  if (!t) return dslc_fail(DSLC_ARGUMENT, "argument %s is NULL", name);
  int same = t->dtype.code == code || (bits == 8 && code != 6);
  if (!same || t->dtype.bits != bits || t->dtype.lanes != 1)
    return dslc_fail(DSLC_ARGUMENT, "argument %s has elements of type (%d, %d bits), expected (%d, %d bits)",
                     name, t->dtype.code, t->dtype.bits, code, bits);
  return 0;
}

static int dslc_check_device(const dslc_tensor *t, const char *name, int type, int id) {
  if (t->device.type == type && (id < 0 || t->device.id == id)) return 0;
  return dslc_fail(DSLC_ARGUMENT, "argument %s is on device (%d, %d), expected (%d, %d)", name,
                   t->device.type, t->device.id, type, id < 0 ? 0 : id);
}

/* Strides in elements; those of an axis with one element are never used. */
static int dslc_check_shape(const dslc_tensor *t, const char *name, int rank, const int64_t *shape,
                            const int64_t *strides) {
  if (t->ndim != rank)
    return dslc_fail(DSLC_ARGUMENT, "argument %s has %d axes, expected %d", name, t->ndim, rank);
  int64_t dense = 1;
  int empty = 0;
  for (int i = 0; i < rank; ++i) {
    if (t->shape[i] != shape[i])
      return dslc_fail(DSLC_ARGUMENT, "axis %d of argument %s has %" PRId64 " elements, expected %" PRId64,
                       i, name, t->shape[i], shape[i]);
    empty |= !shape[i];
  }
  for (int i = rank - 1; i >= 0 && t->strides && !empty; --i) {
    int64_t wanted = strides ? strides[i] : dense;
    if (shape[i] > 1 && t->strides[i] != wanted)
      return dslc_fail(DSLC_ARGUMENT, "axis %d of argument %s has the stride %" PRId64 ", expected %" PRId64,
                       i, name, t->strides[i], wanted);
    dense *= shape[i];
  }
  if (strides && !t->strides && !empty) {
    dense = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (shape[i] > 1 && strides[i] != dense)
        return dslc_fail(DSLC_ARGUMENT, "argument %s is dense, and its strides are not", name);
      dense *= shape[i];
    }
  }
  return 0;
}

/* Packed bytes: dense, and as many as the tensor takes. */
static int dslc_check_packed(const dslc_tensor *t, const char *name, int64_t bytes) {
  int64_t count = 1, dense = 1;
  for (int i = t->ndim - 1; i >= 0; --i) {
    if (t->strides && t->shape[i] > 1 && t->strides[i] != dense)
      return dslc_fail(DSLC_ARGUMENT, "argument %s is not dense", name);
    dense *= t->shape[i];
    count *= t->shape[i];
  }
  if (count != bytes)
    return dslc_fail(DSLC_ARGUMENT, "argument %s has %" PRId64 " bytes, expected %" PRId64 " packed ones", name,
                     count, bytes);
  return 0;
}

static int dslc_check_address(const dslc_tensor *t, const char *name, int64_t multiple) {
  if (dslc_address(t) % (uint64_t)multiple == 0) return 0;
  return dslc_fail(DSLC_ARGUMENT, "argument %s begins at no multiple of %" PRId64 " bytes", name, multiple);
}
