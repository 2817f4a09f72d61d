/* As much of a C library as the C interface of Arm CPUs and its test need, for a static program that
   QEMU runs: building a whole one takes minutes. Texts know %s, %d, %zu and 64-bit integers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

static unsigned long auxiliary[64];
static char heap[1 << 20] __attribute__((aligned(64)));
static size_t used;
static char thread[4096] __attribute__((aligned(64)));

static long call(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
unsigned long getauxval(unsigned long type) { return type < 64 ? auxiliary[type] : 0; }
void *aligned_alloc(size_t alignment, size_t size) {
  used = (used + alignment - 1) / alignment * alignment;
  if (used + size > sizeof heap) return 0;
  void *found = heap + used;
  used += size;
  return found;
}
void *malloc(size_t size) { return aligned_alloc(16, size); }
void free(void *memory) { (void)memory; }
int abs(int x) { return x < 0 ? -x : x; }
size_t strlen(const char *s) { size_t n = 0; while (s[n]) ++n; return n; }
void *memset(void *to, int c, size_t n) { for (volatile char *p = to; n--;) *p++ = (char)c; return to; }
void *memcpy(void *to, const void *from, size_t n) {
  for (volatile char *p = to, *q = (char *)from; n--;) *p++ = *q++;
  return to;
}
int vsnprintf(char *out, size_t size, const char *format, va_list rest) {
  size_t n = 0;
  for (; *format && n + 24 < size; ++format) {
    if (*format != '%') { out[n++] = *format; continue; }
    int wide = 0;
    while (*++format == 'l' || *format == 'z') wide = 1;
    if (*format == 's') {
      for (const char *s = va_arg(rest, const char *); *s && n + 24 < size;) out[n++] = *s++;
    } else {
      int64_t x = wide ? va_arg(rest, int64_t) : va_arg(rest, int);
      char digits[24];
      int count = 0;
      if (x < 0) out[n++] = '-', x = -x;
      do digits[count++] = (char)('0' + x % 10); while (x /= 10);
      while (count) out[n++] = digits[--count];
    }
  }
  out[n] = 0;
  return (int)n;
}
int snprintf(char *out, size_t size, const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  int n = vsnprintf(out, size, format, rest);
  va_end(rest);
  return n;
}
void say(const char *text) {
  call(64, 1, (long)text, (long)strlen(text));
  call(64, 1, (long)"\n", 1);
}
int main(void);
void begin(unsigned long *stack) {
  unsigned long *p = stack + 1 + stack[0] + 1;
  while (*p++) continue;
  for (; p[0]; p += 2) if (p[0] < 64) auxiliary[p[0]] = p[1];
  __asm__ volatile("msr tpidr_el0, %0" : : "r"(thread));
  call(93, main(), 0, 0);
}
__asm__(".globl _start\n_start: mov x0, sp\n b begin\n");
