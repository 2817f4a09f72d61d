// Accesses to memory by matrices and atomic additions; producer warps; launches that overlap.

DEVICE void ldmatrix_x4(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x4_trans(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(shared_address(p)) : "memory");
}

DEVICE int atomic_add_i32(int* p, int x) { return atomicAdd(p, x); }

DEVICE unsigned atomic_add_u32(unsigned* p, unsigned x) { return atomicAdd(p, x); }

DEVICE long long atomic_add_i64(long long* p, long long x) {
  return (long long)atomicAdd((unsigned long long*)p, (unsigned long long)x);
}

DEVICE unsigned long long atomic_add_u64(unsigned long long* p, unsigned long long x) { return atomicAdd(p, x); }

DEVICE float atomic_add_f32(float* p, float x) { return atomicAdd(p, x); }

DEVICE double atomic_add_f64(double* p, double x) { return atomicAdd(p, x); }

DEVICE float atomic_add_f16(unsigned short* p, float x) {
  unsigned short seen = *(volatile unsigned short*)p, old;
  do {
    old = seen;
    seen = atomicCAS(p, old, (unsigned short)encode_f16(decode_f16(old) + x));
  } while (seen != old);
  return decode_f16(old);
}

DEVICE float atomic_add_bf16(unsigned short* p, float x) {
  unsigned short seen = *(volatile unsigned short*)p, old;
  do {
    old = seen;
    seen = atomicCAS(p, old, (unsigned short)encode_bf16(decode_bf16(old) + x));
  } while (seen != old);
  return decode_bf16(old);
}

template <class T> DEVICE T atomic_max(T* p, T x) { return atomicMax(p, x); }

template <class T> DEVICE T atomic_min(T* p, T x) { return atomicMin(p, x); }

template <class W> DEVICE W exchange_word(W* p, W x) { return atomicExch(p, x); }

template <class W> DEVICE W replace_word(W* p, W expected, W x) { return atomicCAS(p, expected, x); }

// The bits of a mask in a word whose others belong to other threads.
DEVICE void change_bits(unsigned* p, unsigned mask, unsigned bits) {
  atomicAnd(p, ~mask | bits), atomicOr(p, mask & bits);
}

// A number of 8 or 16 bits by way of the word that it is in: its neighbours may change meanwhile.
template <class T> DEVICE T add_in_word(T* p, unsigned x) {
  const unsigned shift = ((unsigned long long)p & 3) * 8, mask = ((1u << 8 * sizeof(T)) - 1) << shift;
  unsigned* const word = (unsigned*)((unsigned long long)p & ~3ull);
  unsigned seen = *(volatile unsigned*)word, old;
  do {
    old = seen;
    seen = atomicCAS(word, old, (old & ~mask) | (((old >> shift) + x) << shift & mask));
  } while (seen != old);
  return (T)(old >> shift);
}

DEVICE signed char atomic_add_i8(signed char* p, int x) { return add_in_word(p, (unsigned)x); }

DEVICE unsigned char atomic_add_u8(unsigned char* p, unsigned x) { return add_in_word(p, x); }

DEVICE short atomic_add_i16(short* p, int x) { return add_in_word(p, (unsigned)x); }

DEVICE unsigned short atomic_add_u16(unsigned short* p, unsigned x) { return add_in_word(p, x); }

template <class T> DEVICE void await_value(T* p, T value) {
  while (*(volatile T*)p != value) {}
}

template <class T> DEVICE void set_value(T* p, T value) { *(volatile T*)p = value; }

DEVICE void atomic_add_f16x2(unsigned short* p, unsigned x) {
  atomic_add_f16(p, decode_f16(x & 0xffffu)), atomic_add_f16(p + 1, decode_f16(x >> 16));
}

DEVICE void atomic_add_bf16x2(unsigned short* p, unsigned x) {
  atomic_add_bf16(p, decode_bf16(x & 0xffffu)), atomic_add_bf16(p + 1, decode_bf16(x >> 16));
}

DEVICE void ldmatrix_x2(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
    : "=r"(w[0]), "=r"(w[1]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x2_trans(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
    : "=r"(w[0]), "=r"(w[1]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x1(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
    : "=r"(w[0]) : "r"(shared_address(p)) : "memory");
}

DEVICE void ldmatrix_x1_trans(unsigned* w, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
    : "=r"(w[0]) : "r"(shared_address(p)) : "memory");
}

DEVICE void stmatrix_x1(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
    :: "r"(shared_address(p)), "r"(w[0]) : "memory");
}

DEVICE void stmatrix_x1_trans(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
    :: "r"(shared_address(p)), "r"(w[0]) : "memory");
}

DEVICE void stmatrix_x2(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]) : "memory");
}

DEVICE void stmatrix_x2_trans(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]) : "memory");
}

DEVICE void stmatrix_x4(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

DEVICE void stmatrix_x4_trans(void* p, const unsigned* w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
    :: "r"(shared_address(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// Producer warps: the barrier of the others, and registers that go from the ones to the others.
DEVICE void barrier_of_some(int threads) { asm volatile("bar.sync 1, %0;" :: "r"(threads) : "memory"); }

// Two warpgroups that alternate: number g waits at barrier 2 + g, at which the other one counts.
DEVICE void await_partner(int g) { asm volatile("bar.sync %0, 256;" :: "r"(2 + g) : "memory"); }

DEVICE void hand_over(int g) { asm volatile("bar.arrive %0, 256;" :: "r"(3 - g) : "memory"); }

DEVICE void hold_address(const void* shared) { asm volatile("" :: "r"(shared_address(shared)) : "memory"); }

template <int N> DEVICE void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N)); }

template <int N> DEVICE void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N)); }

// Launches that overlap (PTX ISA 8.5, 9.7.13.13): the next may begin; those before have ended.
// Blocks give this signal one after another, 1.2 ns each on an H200, and one that has ended counts as if it
// had. So the last alone give it: as many as a chip holds at once where blocks are large.
DEVICE void launch_dependents() {
  if (gridDim.x - blockIdx.x <= 1024) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

DEVICE void await_launches() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

DEVICE void may_have_changed(const void* p) { asm volatile("" :: "l"(p) : "memory"); }

// Bytes in a row to the level-2 cache: multiples of 16 from a multiple of 16 on (9.7.9.27).
DEVICE void prefetch_run(const void* from, int bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(from), "r"(bytes) : "memory");
}
