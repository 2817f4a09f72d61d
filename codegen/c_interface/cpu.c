/* Calls of kernels on the CPU. */
typedef int32_t dslc_turns(const uint64_t *args, int64_t begin, int64_t end, void *scratch);

static uint64_t dslc_word_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static uint64_t dslc_word_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Memory of a call; at least a byte, so that NULL means that there is none. */
static int dslc_take(void **memory, int64_t bytes, int zero) {
  size_t size = ((size_t)dslc_max(1, bytes) + 63) / 64 * 64;
  *memory = aligned_alloc(64, size);
  if (!*memory) return dslc_fail(DSLC_DRIVER, "there are no %zu bytes of memory", size);
  if (zero) memset(*memory, 0, size);
  return 0;
}

static int dslc_run(const char *name, dslc_turns *kernel, const uint64_t *args, int64_t turns, int64_t scratch,
                    const char *const *asserts) {
  void *memory = 0;
  if (turns <= 0) return 0;
  int failed = scratch ? dslc_take(&memory, scratch, 0) : 0;
  if (failed) return failed;
  int32_t which = kernel(args, 0, turns, memory);
  free(memory);
  return which ? dslc_fail(DSLC_ASSERT, "%s: the assertion does not hold: %s", name, asserts[which - 1]) : 0;
}
