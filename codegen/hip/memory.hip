// Accesses to memory and to LDS: vectors, atomic additions, asynchronous copies and their waits.

// Memory: vectors of 8 and 16 bytes.
DEVICE void load_global_8(unsigned* w, const void* p) {
  *(u32x2*)w = *(const u32x2*)p;
}

DEVICE void load_global_16(unsigned* w, const void* p) {
  *(u32x4*)w = *(const u32x4*)p;
}

DEVICE void store_8(void* p, const unsigned* w) { *(u32x2*)p = *(const u32x2*)w; }

DEVICE void store_16(void* p, const unsigned* w) { *(u32x4*)p = *(const u32x4*)w; }

template <class T> DEVICE T atomic_add(T* p, T x) {
  return __hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

DEVICE int atomic_add_i32(int* p, int x) { return atomic_add(p, x); }

DEVICE unsigned atomic_add_u32(unsigned* p, unsigned x) { return atomic_add(p, x); }

DEVICE long long atomic_add_i64(long long* p, long long x) { return atomic_add(p, x); }

DEVICE unsigned long long atomic_add_u64(unsigned long long* p, unsigned long long x) { return atomic_add(p, x); }

DEVICE float atomic_add_f32(float* p, float x) { return atomic_add(p, x); }

DEVICE double atomic_add_f64(double* p, double x) { return atomic_add(p, x); }

// A number of 8 or 16 bits by way of the word that it is in: its neighbours may change meanwhile.
template <class T> DEVICE T add_in_word(T* p, unsigned x) {
  const unsigned shift = ((unsigned long long)p & 3) * 8, mask = ((1u << 8 * sizeof(T)) - 1) << shift;
  unsigned* const word = (unsigned*)__builtin_align_down(p, 4);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), next;
  do next = (seen & ~mask) | (((seen >> shift) + x) << shift & mask);
  while (!__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  return (T)(seen >> shift);
}

DEVICE signed char atomic_add_i8(signed char* p, int x) { return add_in_word(p, (unsigned)x); }

DEVICE unsigned char atomic_add_u8(unsigned char* p, unsigned x) { return add_in_word(p, x); }

DEVICE short atomic_add_i16(short* p, int x) { return add_in_word(p, (unsigned)x); }

DEVICE unsigned short atomic_add_u16(unsigned short* p, unsigned x) { return add_in_word(p, x); }

// Pairs of halves that share a word.
DEVICE void atomic_add_f16x2(unsigned short* p, unsigned x) {
  __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) f16x2*)p, as_f16x2(x));
}

DEVICE void atomic_add_bf16x2(unsigned short* p, unsigned x) {
  __builtin_amdgcn_global_atomic_fadd_v2bf16((__attribute__((address_space(1))) i16x2*)p, __builtin_bit_cast(i16x2, x));
}

template <class T> DEVICE T atomic_max(T* p, T x) {
  return __hip_atomic_fetch_max(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T> DEVICE T atomic_min(T* p, T x) {
  return __hip_atomic_fetch_min(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class W> DEVICE W exchange_word(W* p, W x) {
  return __hip_atomic_exchange(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class W> DEVICE W replace_word(W* p, W expected, W x) {
  __hip_atomic_compare_exchange_strong(p, &expected, x, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

// The bits of a mask in a word whose others belong to other threads.
DEVICE void change_bits(unsigned* p, unsigned mask, unsigned bits) {
  __hip_atomic_fetch_and(p, ~mask | bits, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_or(p, mask & bits, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// A word that other blocks write, and one that they read.
template <class T> DEVICE void await_value(T* p, T value) {
  while (__hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != value) __builtin_amdgcn_s_sleep(1);
}

template <class T> DEVICE void set_value(T* p, T value) {
  __hip_atomic_store(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// 16 bits by way of the word that they are in.
DEVICE unsigned* word_around(unsigned short* p, unsigned& shift) {
  shift = ((unsigned long long)p & 2) * 8;
  return (unsigned*)__builtin_align_down(p, 4);
}

DEVICE float atomic_add_f16(unsigned short* p, float x) {
  unsigned shift, *const word = word_around(p, shift);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), next;
  do next = (seen & ~(0xffffu << shift)) | encode_f16(decode_f16(seen >> shift & 0xffffu) + x) << shift;
  while (!__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  return decode_f16(seen >> shift & 0xffffu);
}

DEVICE float atomic_add_bf16(unsigned short* p, float x) {
  unsigned shift, *const word = word_around(p, shift);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), next;
  do next = (seen & ~(0xffffu << shift)) | encode_bf16(decode_bf16(seen >> shift & 0xffffu) + x) << shift;
  while (!__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  return decode_bf16(seen >> shift & 0xffffu);
}

DEVICE void copy_16(void* to, const void* from, bool inside) {
  *(u32x4*)to = inside ? *(const u32x4*)from : u32x4{0u, 0u, 0u, 0u};
}

DEVICE void copy_8(void* to, const void* from, bool inside) {
  *(u32x2*)to = inside ? *(const u32x2*)from : u32x2{0u, 0u};
}

DEVICE void copy_4(void* to, const void* from, bool inside) {
  *(unsigned*)to = inside ? *(const unsigned*)from : 0u;
}

// A number of the wave, which all of its lanes have alike.
DEVICE int wave_of(int tid) { return __builtin_amdgcn_readfirstlane(tid / 64); }

DEVICE unsigned lds_address(const void* p) {
  return (unsigned)(unsigned long long)(const __attribute__((address_space(3))) unsigned char*)p;
}

// What all lanes have alike, in a scalar register: behind a branch of some lanes the compiler may have
// put it into a vector register.
DEVICE int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }

// So many bytes of memory as loads see them: what is read behind them is 0.
DEVICE i32x4 buffer_of(const void* p, int bytes) {
  const unsigned long long at = (unsigned long long)p;
  return i32x4{uniform((int)at), uniform((int)(at >> 32) & 0xffff), uniform(bytes), 0x00020000};
}

// The same from so many bytes before, which no lane reads: what loads add besides may then be less than
// what their instruction adds.
DEVICE i32x4 buffer_before(const void* p, int bytes, int before) {
  return buffer_of((const unsigned char*)p - before, bytes ? (int)((unsigned)bytes + before) : 0);
}

// Those of the rows that are left of a tile's, in 32 bits: comparisons of 64 are no scalar instructions.
DEVICE int buffer_bytes(int left, int rows, int each) {
  return left < 0 ? 0 : left < rows ? left * each : 0x7fffffff;
}

// To LDS at `to` + `more` and on, lane by lane. The compiler does not know of it and never waits for it.
DEVICE void load_to_lds_16(unsigned to, unsigned more, i32x4 from, int lane, int all) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dwordx4 %2, %3, %4 offen lds"
    :: "s"(uniform(to)), "s"(more), "v"(lane), "s"(from), "s"(all) : "memory", "m0", "scc");
}

// Four of them, each `step` bytes on in memory, with an offset of the lane each.
DEVICE void load_to_lds_16_by_4(unsigned to, unsigned more, i32x4 from, int a, int b, int c, int d, int all, int step) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dwordx4 %2, %6, %7 offen lds\n\tbuffer_load_dwordx4 %3, %6, %8 offen offset:1024 lds\n\tbuffer_load_dwordx4 %4, %6, %9 offen offset:2048 lds\n\tbuffer_load_dwordx4 %5, %6, %10 offen offset:3072 lds"
    :: "s"(uniform(to)), "s"(more), "v"(a), "v"(b), "v"(c), "v"(d), "s"(from), "s"(all), "s"(all + step - 1024),
       "s"(all + 2 * step - 2048), "s"(all + 3 * step - 3072) : "memory", "m0", "scc");
}

DEVICE void load_to_lds_4(unsigned to, unsigned more, i32x4 from, int lane, int all) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dword %2, %3, %4 offen lds"
    :: "s"(uniform(to)), "s"(more), "v"(lane), "s"(from), "s"(all) : "memory", "m0", "scc");
}

// Four of them, each `step` bytes on in memory, with an offset of the lane each.
DEVICE void load_to_lds_4_by_4(unsigned to, unsigned more, i32x4 from, int a, int b, int c, int d, int all, int step) {
  asm volatile("s_add_u32 m0, %0, %1\n\ts_nop 0\n\tbuffer_load_dword %2, %6, %7 offen lds\n\tbuffer_load_dword %3, %6, %8 offen offset:256 lds\n\tbuffer_load_dword %4, %6, %9 offen offset:512 lds\n\tbuffer_load_dword %5, %6, %10 offen offset:768 lds"
    :: "s"(uniform(to)), "s"(more), "v"(a), "v"(b), "v"(c), "v"(d), "s"(from), "s"(all), "s"(all + step - 256),
       "s"(all + 2 * step - 512), "s"(all + 3 * step - 768) : "memory", "m0", "scc");
}

// Until no more than N of the wave's loads are under way.
template <int N> DEVICE void copy_wait() { asm volatile("s_waitcnt vmcnt(%0)" :: "n"(N) : "memory"); }
