// Memory whose edges are watched: pages that nothing may touch behind every buffer, and patterns in the
// bytes that alignment leaves.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner.h"

namespace {

const size_t ALIGN = 16;          // pointers of a call are that much aligned, unless it says less
const size_t SHARED_ALIGN = 128;
const size_t GUARD = 256 << 10;   // on each side, that nothing may touch: whole pages
const unsigned WINDOW = 1u << 24;  // addresses of the block of rank r begin at r times that, its own as well
const unsigned char EDGE = 0xA5;  // in the bytes between a buffer and its guards

struct Guarded { std::string name; unsigned char *start, *data, *end; size_t bytes; bool tensor, constant; };

std::vector<Guarded> buffers;
std::vector<unsigned char*> shared_pool;
unsigned shared_bytes;
bool sealed;
size_t page() { return (size_t)sysconf(_SC_PAGESIZE); }

// `bytes` of memory, its end within 2 * `align` of a guard page. Below ALIGN it begins at a multiple of
// `align` and of no more.
Guarded map(const std::string& name, size_t bytes, size_t align) {
  size_t padded = (bytes + align - 1) / align * align;
  if (align < ALIGN && padded % (2 * align) == 0) padded += align;
  const size_t pages = (padded + page() - 1) / page() * page();
  void* all = mmap(nullptr, pages + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) emu_fail("no memory for %s", name.c_str());
  unsigned char* start = (unsigned char*)all + GUARD;
  if (pages) mprotect(start, pages, PROT_READ | PROT_WRITE);
  Guarded g = {name, start, start + pages - padded, start + pages, bytes, false, false};
  memset(g.start, EDGE, pages);
  return g;
}

bool edges_hold(const Guarded& g) {
  for (unsigned char* p = g.start; p < g.data; ++p) if (*p != EDGE) return false;
  for (unsigned char* p = g.data + g.bytes; p < g.end; ++p) if (*p != EDGE) return false;
  return true;
}

// Where in the kernel's library the fault was, for addr2line.
void print_origin(void* context) {
  (void)context;
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  const ucontext_t* u = (const ucontext_t*)context;
#if defined(__x86_64__)
  void* pc = (void*)u->uc_mcontext.gregs[REG_RIP];
#else
  void* pc = (void*)u->uc_mcontext.pc;
#endif
  Dl_info info;
  if (dladdr(pc, &info)) fprintf(stderr, "emulator-origin: 0x%zx\n", (size_t)pc - (size_t)info.dli_fbase);
#endif
}

void fault(int, siginfo_t* info, void* context) {
  const unsigned char* at = (const unsigned char*)info->si_addr;
  const Guarded* near = nullptr;
  long distance = 0;
  for (const Guarded& g : buffers) {
    const long beyond = at >= g.data + g.bytes ? at - (g.data + g.bytes) + 1 : at < g.data ? at - g.data : 0;
    if (!near || labs(beyond) < labs(distance)) near = &g, distance = beyond;
  }
  print_origin(context);
  if (!near || labs(distance) > 1 << 30) emu_fail("an access to no buffer at all, at %p", (const void*)at);
  if (!distance && sealed && near->tensor)
    emu_fail("an access to %s before griddepcontrol.wait, at byte %zu", near->name.c_str(), (size_t)(at - near->data));
  if (!distance) emu_fail("a write to %s, which is constant, at byte %zu", near->name.c_str(), (size_t)(at - near->data));
  emu_fail("an access %ld bytes %s %s (%zu bytes)", labs(distance), distance > 0 ? "past the end of" : "before",
           near->name.c_str(), near->bytes);
}

void illegal(int signal, siginfo_t*, void* context) {
  print_origin(context);
  emu_fail(signal == SIGFPE ? "an integer division by zero" : "an illegal instruction");
}

}  // namespace

void set_shared(unsigned bytes) { shared_bytes = bytes; }

unsigned char* new_shared() {
  unsigned char* memory;
  if (!shared_pool.empty()) {
    memory = shared_pool.back();
    shared_pool.pop_back();
  } else {
    buffers.push_back(map("shared memory", shared_bytes, SHARED_ALIGN));
    memory = buffers.back().data;
  }
  memset(memory, 0xff, shared_bytes);
  return memory;
}

void free_shared(unsigned char* memory, const Block& block) {
  for (const Guarded& g : buffers)
    if (g.data == memory && !edges_hold(g))
      emu_fail("block %u wrote beyond its %u bytes of shared memory", block.index.x, shared_bytes);
  memset(memory, 0xff, shared_bytes);  // whoever reads on from another block finds NaN
}

void give_back_shared(unsigned char* memory) { shared_pool.push_back(memory); }

unsigned char* guarded(const char* name, const unsigned char* data, size_t bytes, size_t align,
                       bool constant) {
  Guarded g = map(name, bytes, align);
  g.tensor = true, g.constant = constant;
  memcpy(g.data, data, bytes);
  if (constant && g.end > g.start) mprotect(g.start, (size_t)(g.end - g.start), PROT_READ);
  buffers.push_back(g);
  return g.data;
}

void seal_tensors(bool now) {
  sealed = now;
  for (const Guarded& g : buffers)
    if (g.tensor && g.end > g.start)
      mprotect(g.start, (size_t)(g.end - g.start), now ? PROT_NONE : g.constant ? PROT_READ : PROT_READ | PROT_WRITE);
}

bool is_sealed() { return sealed; }

void check_guards() {
  for (const Guarded& g : buffers)
    if (!edges_hold(g)) emu_fail("a write just beyond the %zu bytes of %s", g.bytes, g.name.c_str());
}

void install_handlers() {
  static unsigned char stack[64 << 10];
  stack_t other = {};
  other.ss_sp = stack, other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = fault;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  action.sa_sigaction = illegal;
  sigaction(SIGILL, &action, nullptr);
  sigaction(SIGFPE, &action, nullptr);
}

unsigned shared_size() { return shared_bytes; }
unsigned offset_of(unsigned address) { return address % WINDOW; }

Block& holder(unsigned address, const char* name) {
  const std::vector<Block*>& blocks = emu_fiber->block->cluster->blocks;
  const unsigned rank = address / WINDOW;
  if (rank >= blocks.size()) emu_fail("%s reaches block %u of a cluster of %zu", name, rank, blocks.size());
  if (!blocks[rank]->left) emu_fail("%s reaches the shared memory of block %u, which has ended", name, blocks[rank]->index.x);
  return *blocks[rank];
}

unsigned char* shared_at(Block& block, unsigned offset, unsigned bytes, unsigned align, const char* name) {
  if (offset > shared_bytes || bytes > shared_bytes - offset)
    emu_fail("%s at byte %u of %u bytes of shared memory", name, offset, shared_bytes);
  if (offset % align) emu_fail("%s at byte %u of shared memory, which is not a multiple of %u", name, offset, align);
  return block.shared + offset;
}

void land(const Copy& copy) {
  Block& block = *emu_fiber->block;
  const unsigned at = (unsigned)(copy.to - block.shared);
  for (unsigned i = 0; i < copy.bytes; ++i) block.unfenced[at + i] = true;
  emu_fiber->written.push_back({at, copy.bytes});
  memcpy(copy.to, copy.from, copy.used);
  memset(copy.to + copy.used, 0, copy.bytes - copy.used);
}

extern "C" {

// A prefetch changes nothing, but it asks for bytes that there are.
void emu_prefetch(const void* from, int bytes) {
  if (bytes % 16 || (uintptr_t)from % 16) emu_fail("a bulk prefetch of bytes that are no multiples of 16");
  const unsigned char* at = (const unsigned char*)from;
  for (const Guarded& g : buffers)
    if (g.tensor && at >= g.data && at + bytes <= g.data + g.bytes) return;
  emu_fail("a prefetch of bytes that are in no buffer");
}

unsigned char* emu_shared() { return emu_fiber->block->shared; }

unsigned emu_shared_address(const void* p) {
  const size_t offset = (size_t)((const unsigned char*)p - emu_fiber->block->shared);
  if (offset > shared_bytes) emu_fail("an address that is not in shared memory");
  return (unsigned)offset + emu_fiber->block->rank * WINDOW;
}

unsigned char* emu_shared_pointer(unsigned address, unsigned bytes, unsigned align, const char* name) {
  return shared_at(holder(address, name), address % WINDOW, bytes, align, name);
}

unsigned emu_mapped(unsigned address, unsigned rank) { return address % WINDOW + rank * WINDOW; }

void* emu_mapped_pointer(const void* p, unsigned rank) {
  const unsigned address = emu_mapped(emu_shared_address(p), rank);
  return holder(address, "mapa").shared + address % WINDOW;
}

void emu_commit() { emu_fiber->groups.emplace_back(); }

void emu_copy(unsigned to, const void* from, unsigned bytes, unsigned used) {
  if (used > bytes) emu_fail("cp.async reads %u bytes for %u", used, bytes);
  if (used) refuse_early("cp.async");
  if (used && (uintptr_t)from % bytes) emu_fail("cp.async of %u bytes from a misaligned address", bytes);
  const Copy copy = {emu_shared_pointer(to, bytes, bytes, "cp.async"), (const unsigned char*)from, bytes, used};
  // A copy may land at once or as late as its wait: both happen, so that neither is relied on.
  if (emu_random.below(2)) land(copy);
  else emu_fiber->groups.back().push_back(copy);
}

// All groups but the `pending` newest have landed; -1: the open one has too.
void emu_wait(int pending) {
  auto& groups = emu_fiber->groups;
  const size_t keep = pending < 0 ? 0 : (size_t)pending + 1;
  while (groups.size() > keep) {
    for (const Copy& copy : groups.front()) land(copy);
    groups.erase(groups.begin());
  }
  if (groups.empty()) groups.emplace_back();
}

// What the checks compiled into a kernel call (UndefinedBehaviorSanitizer's interface): `where` is a
// file, a line and a column.
struct Where { const char* file; unsigned line, column; };

#define REPORT(NAME, TEXT) \
  void __ubsan_handle_##NAME(Where* w, ...) { emu_fail(TEXT " in line %u", w->line); } \
  void __ubsan_handle_##NAME##_abort(Where* w, ...) { emu_fail(TEXT " in line %u", w->line); }
REPORT(out_of_bounds, "an index outside an array")
REPORT(shift_out_of_bounds, "a shift by a negative number or by the width or more")
REPORT(divrem_overflow, "an integer division by zero")
REPORT(add_overflow, "a signed overflow of +")
REPORT(sub_overflow, "a signed overflow of -")
REPORT(mul_overflow, "a signed overflow of *")
REPORT(negate_overflow, "a signed overflow of unary -")
REPORT(float_cast_overflow, "a float out of the range of an integer")
REPORT(vla_bound_not_positive, "an array without elements")
REPORT(pointer_overflow, "a pointer that wraps around")

struct Mismatch { Where where; const void* type; unsigned char align_log2, kind; };

void __ubsan_handle_type_mismatch_v1_abort(Mismatch* m, uintptr_t at) {
  const unsigned align = 1u << m->align_log2;
  if (at % align) emu_fail("an access in line %u at an address that is not a multiple of %u", m->where.line, align);
  emu_fail("an access in line %u outside its object", m->where.line);
}
void __ubsan_handle_type_mismatch_v1(Mismatch* m, uintptr_t at) { __ubsan_handle_type_mismatch_v1_abort(m, at); }

}  // extern "C"
