/* The CPU's features by CPUID, and the registers that the system keeps by XCR0 (Intel SDM, volume 2). */
static int dslc_has(unsigned leaf, unsigned part, int word, unsigned bits) {
  unsigned found[4] = {0};
  return __get_cpuid_count(leaf, part, found, found + 1, found + 2, found + 3) && (found[word] & bits) == bits;
}

static int dslc_keeps(unsigned bits) {
  unsigned low, high;
  if (!dslc_has(1, 0, 2, 1u << 27)) return 0; /* XGETBV */
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & bits) == bits;
}

/* Whether the process may use AMX's tiles, which Linux permits to those that ask (arch_prctl). */
__attribute__((unused)) static int dslc_tiles(void) {
#ifdef __linux__
  long failed;
  __asm__ volatile("syscall" : "=a"(failed) : "a"(158L), "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
  return !failed;
#else
  return 0;
#endif
}
