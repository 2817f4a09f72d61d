// Hopper's own units: products of warpgroups that read shared memory, barriers that count arrivals and
// bytes, and bulk copies of boxes (PTX ISA 8.5, 9.7.15, 9.7.13.15, 9.7.9.27). Everything that a unit does
// lands either as soon as it may or as late as its wait, so that neither is relied on.
#include <cstdio>
#include <cstring>

#include "runner.h"

namespace {

const unsigned GROUP = 128;  // threads of a warpgroup
const unsigned LEFT = 4;     // registers of a thread for a left operand that is not in memory

// An operand's element in shared memory, by its descriptor.
struct Operand {
  unsigned start, leading, stride, width;
  bool down;  // k runs down the rows
  int size;

  Operand(unsigned long long d, bool down, int size) : down(down), size(size) {
    start = (unsigned)(d & 0x3fff) * 16;
    leading = (unsigned)(d >> 16 & 0x3fff) * 16;
    stride = (unsigned)(d >> 32 & 0x3fff) * 16;
    const unsigned widths[] = {0, 128, 64, 32};
    width = widths[d >> 62];
    if (!width) emu_fail("wgmma with an operand that is not swizzled");
    if (d >> 49 & 7) emu_fail("wgmma with a base offset in a descriptor");
    if (down && size != 2) emu_fail("wgmma takes only 16-bit operands with k down the rows");
  }

  unsigned address(int i, int k) const {
    const unsigned x = (unsigned)(i * size), z = (unsigned)(k * size);
    unsigned at = start;
    if (down) at += x / width * leading + (unsigned)k / 8 * stride + (unsigned)k % 8 * width + x % width;
    else at += (unsigned)i / 8 * stride + (unsigned)i % 8 * width + z;
    return at ^ ((at / 128) % (width / 16)) * 16;
  }
};

unsigned long long element(const Operand& operand, int i, int k) {
  const unsigned at = operand.address(i, k);
  const unsigned size = (unsigned)operand.size;  // a descriptor has only the bits of a block's own memory
  const unsigned char* p = shared_at(*emu_fiber->block, at, size, size, "wgmma");
  const std::vector<bool>& unfenced = emu_fiber->block->unfenced;
  if (at < unfenced.size() && unfenced[at])
    emu_fail("wgmma reads byte %u of shared memory, which a thread wrote with no fence.proxy.async since", at);
  unsigned long long code = 0;
  memcpy(&code, p, (size_t)operand.size);
  return code;
}

// A left operand in registers: each has neighbours along k, every second one is eight rows below.
void left_rows(const Warpgroup::Product& p, int bits, double (*a)[32]) {
  const int each = 32 / bits;
  for (unsigned t = 0; t < GROUP; ++t)
    for (unsigned r = 0; r < LEFT; ++r) {
      const unsigned word = p.left_registers[t * LEFT + r];
      const int i = (int)(t / 32 * 16 + t % 32 / 4 + (r & 1) * 8);
      for (int e = 0; e < each; ++e)
        a[i][((int)(t % 4) + (int)(r >> 1) * 4) * each + e] = value_of(word >> e * bits, p.a);
    }
}

void compute(const Warpgroup::Product& p) {
  static double a[64][32], b[256][32];
  const int bits = bits_of(p.a);
  const Operand right(p.right, p.right_down, bits / 8);
  for (int k = 0; k < p.k; ++k)
    for (int j = 0; j < p.n; ++j) b[j][k] = value_of(element(right, j, k), p.b);
  if (p.left_registers.empty()) {
    const Operand left(p.left, p.left_down, bits / 8);
    for (int k = 0; k < p.k; ++k)
      for (int i = 0; i < 64; ++i) a[i][k] = value_of(element(left, i, k), p.a);
  } else {
    left_rows(p, bits, a);
  }
  for (unsigned t = 0; t < GROUP; ++t) {
    const int row = (int)(t / 32 * 16 + t % 32 / 4);
    for (int r = 0; r < p.n / 2; ++r) {
      const int i = row + (r >> 1 & 1) * 8, j = r / 4 * 8 + (int)(t % 4) * 2 + (r & 1);
      void* d = p.registers[t * (unsigned)(p.n / 2) + (unsigned)r];
      unsigned code;
      memcpy(&code, d, 4);
      double sum = value_of(code, p.d);
      for (int k = 0; k < p.k; ++k) sum += a[i][k] * b[j][k];
      const float f = (float)sum;
      if (p.d[0] == 's') code = (unsigned)(long long)sum;
      else memcpy(&code, &f, 4);
      memcpy(d, &code, 4);
    }
  }
}

// Carry out products in order up to number `end`, all of which every thread has asked for.
void carry_out(Warpgroup& group, size_t end) {
  for (; group.done < end; ++group.done) compute(group.products[group.done]);
}

Warpgroup& own_group() { return emu_fiber->block->groups[emu_fiber->number / GROUP]; }

// The products that all threads of the group have asked for.
size_t asked(const Warpgroup& group) {
  size_t end = group.done;
  while (end < group.products.size() && group.products[end].came == GROUP) ++end;
  return end;
}

void write(unsigned char* to, const unsigned char* from, size_t bytes) {
  if (from) memcpy(to, from, bytes);
  else memset(to, 0, bytes);
}

// One box between global and a block's shared memory, element by element; out of bounds reads 0,
// writes nothing.
void move_box(const BulkLoad& load, bool to_shared) {
  const TensorBox& t = load.box;
  const int* at = load.at;
  const unsigned width = t.swizzle ? t.swizzle : 16;
  unsigned place[5] = {};
  for (unsigned n = 0; n < t.elements; ++n) {
    const unsigned char* p = t.base;
    bool inside = true;
    for (int d = 0; d < t.rank; ++d) {
      const long long x = (long long)at[d] + place[d];
      inside &= x >= 0 && x < t.extents[d];
      p += x * t.strides[d];
    }
    unsigned q = load.to + n * t.size;
    q ^= ((q / 128) % (width / 16)) * 16;
    unsigned char* s = shared_at(*load.block, q, t.size, t.size, "a bulk copy");
    if (to_shared) write(s, inside ? p : nullptr, t.size);
    else if (inside) memcpy((unsigned char*)p, s, t.size);
    for (int d = 0; d < t.rank && ++place[d] == t.box[d]; ++d) place[d] = 0;
  }
}

PhaseBarrier& barrier_of(Block& block, unsigned offset) {
  auto found = block.phases.find(offset);
  if (found == block.phases.end())
    emu_fail("no mbarrier was initialised at byte %u of the shared memory of block %u", offset, block.index.x);
  return found->second;
}

PhaseBarrier& barrier_at(unsigned address) {
  Block& block = holder(address, "an mbarrier's arrival");
  return barrier_of(block, offset_of(address));
}

void land_boxes(PhaseBarrier& b) {
  for (const BulkLoad& load : b.loads) {
    if (!load.block->left) emu_fail("a bulk copy lands in block %u, which has ended", load.block->index.x);
    move_box(load, true);
    b.bytes -= (long)(load.box.elements * load.box.size);
  }
  b.loads.clear();
}

// The phase ends with its last arrival and its last byte.
void end_phase(PhaseBarrier& b) {
  if (b.pending || b.bytes) return;
  ++b.phase;
  b.pending = b.count;
  for (Fiber* f : b.waiting) unpark(f);
  b.waiting.clear();
}

// Copies land as soon as all have come, or as late as somebody waits for them.
void settle(PhaseBarrier& b, bool waited = false) {
  if (b.loads.empty()) return end_phase(b);
  if (!waited && b.waiting.empty() && emu_random.below(2)) return;
  long coming = 0;
  for (const BulkLoad& load : b.loads) coming += (long)(load.box.elements * load.box.size);
  if (b.pending == 0 && coming < b.bytes) return;  // more copies are expected
  if (b.pending == 0 && coming > b.bytes) emu_fail("an mbarrier expects %ld bytes, but %ld come", b.bytes, coming);
  land_boxes(b);
  end_phase(b);
}

}  // namespace

extern "C" {

void emu_wgmma_fence() { emu_fiber->fenced = true; }

void emu_wgmma(int n, int k, const char* d, const char* a, const char* b, void** registers, int count,
               void** left_registers, unsigned long long left, unsigned long long right, bool left_down,
               bool right_down) {
  Fiber* f = emu_fiber;
  if (count != n / 2) emu_fail("wgmma with n = %d has %d registers of the result", n, count);
  if (!f->fenced) emu_fail("wgmma without a wgmma.fence since its registers were read or written");
  if (f->block->fibers.size() % GROUP) emu_fail("wgmma in a block that is not of whole warpgroups");
  Warpgroup& group = own_group();
  const size_t number = f->products++;
  if (number == group.products.size()) {
    Warpgroup::Product fresh = {n, k, d, a, b, left, right, left_down, right_down, 0, {}, {}};
    fresh.registers.resize((size_t)GROUP * (size_t)count);
    if (left_registers) fresh.left_registers.resize((size_t)GROUP * LEFT);
    group.products.push_back(fresh);
  }
  Warpgroup::Product& p = group.products[number];
  if (left_registers) left = p.left;
  if (p.n != n || p.k != k || p.left != left || p.right != right || strcmp(p.a, a) || strcmp(p.b, b))
    emu_fail("the threads of a warpgroup do not ask for one product: thread %u has other descriptors", f->number);
  for (int i = 0; i < count; ++i) p.registers[f->number % GROUP * (unsigned)count + (unsigned)i] = registers[i];
  // What the text names here: that the compiler keeps it in these registers is seen in machine code alone.
  for (unsigned i = 0; left_registers && i < LEFT; ++i)
    memcpy(&p.left_registers[f->number % GROUP * LEFT + i], left_registers[i], 4);
  if (++p.came == GROUP && emu_random.below(2)) carry_out(group, asked(group));
}

void emu_wgmma_commit() { emu_fiber->product_groups.push_back(emu_fiber->products); }

// All groups but the `pending` newest have ended; the registers may be read once none is left.
void emu_wgmma_wait(int pending, int line) {
  Fiber* f = emu_fiber;
  auto& groups = f->product_groups;
  size_t end = 0;
  while (groups.size() > (size_t)pending) {
    end = groups.front();
    groups.erase(groups.begin());
  }
  Warpgroup& group = own_group();
  while (end > asked(group)) {  // the other warps have not come so far
    f->line = line;
    group.waiting.push_back(f);
    park("the products of its warpgroup");
  }
  carry_out(group, end);
  for (Fiber* other : group.waiting) unpark(other);
  group.waiting.clear();
  if (!pending) f->fenced = false;
}

void emu_proxy_fence() {
  Fiber* f = emu_fiber;
  for (const auto& range : f->written)
    for (unsigned i = 0; i < range.second; ++i) f->block->unfenced[range.first + i] = false;
  f->written.clear();
}

void emu_phase_init(unsigned address, unsigned count) {
  emu_shared_pointer(address, 8, 8, "an mbarrier");
  emu_fiber->block->phases[offset_of(address)] = {count, count, 0, 0, {}, {}};
}

void emu_phase_arrive(unsigned address, long bytes) {
  PhaseBarrier& b = barrier_at(address);
  if (!b.pending) emu_fail("more arrive at an mbarrier than the %u that it counts", b.count);
  --b.pending;
  b.bytes += bytes;
  settle(b);
}

void emu_phase_wait(unsigned address, unsigned parity, int line) {
  for (;;) {
    PhaseBarrier& b = barrier_at(address);
    if (b.phase % 2 == parity % 2) settle(b, true);
    if (b.phase % 2 != parity % 2) return;
    Fiber* f = emu_fiber;
    f->line = line;
    b.waiting.push_back(f);
    park("the phase of an mbarrier");
  }
}

static void load_box(const TensorBox* box, const int* at, Block& block, unsigned to, unsigned barrier) {
  refuse_early("a bulk copy");
  if (box->swizzle && to % 128) emu_fail("a bulk copy to byte %u of shared memory, which is not a multiple of 128", to);
  PhaseBarrier& b = barrier_of(block, barrier);
  BulkLoad load = {*box, {}, to, &block};
  memcpy(load.at, at, sizeof(int) * 5);
  b.loads.push_back(load);
  settle(b);
}

void emu_bulk_load(const TensorBox* box, const int* at, unsigned to, unsigned barrier) {
  load_box(box, at, holder(to, "a bulk copy"), offset_of(to), offset_of(barrier));
}

// To the same place in every block of the mask, each of whose own barriers is told.
void emu_bulk_multicast(const TensorBox* box, const int* at, unsigned to, unsigned barrier, unsigned mask) {
  for (unsigned rank = 0; mask >> rank; ++rank)
    if (mask >> rank & 1)
      load_box(box, at, holder(emu_mapped(to, rank), "a multicast"), offset_of(to), offset_of(barrier));
}

void emu_bulk_store(const TensorBox* box, const int* at, unsigned from) {
  refuse_early("a bulk copy");
  const std::vector<bool>& unfenced = emu_fiber->block->unfenced;
  from = offset_of(from);
  for (unsigned i = 0; i < box->elements * box->size && from + i < unfenced.size(); ++i)
    if (unfenced[from + i]) emu_fail("a bulk copy reads shared memory written with no fence.proxy.async since");
  BulkLoad store = {*box, {}, from, emu_fiber->block};
  memcpy(store.at, at, sizeof(int) * 5);
  emu_fiber->stores.push_back(store);
}

void emu_bulk_commit() { emu_fiber->committed.push_back(emu_fiber->stores.size()); }

// All groups but the `pending` newest have been read, as late as that is waited for.
void emu_bulk_wait(int pending) {
  auto& stores = emu_fiber->stores;
  auto& groups = emu_fiber->committed;
  if (groups.size() <= (size_t)pending) return;
  const size_t done = groups[groups.size() - (size_t)pending - 1];
  for (size_t i = 0; i < done; ++i) move_box(stores[i], false);
  stores.erase(stores.begin(), stores.begin() + (long)done);
  groups.erase(groups.begin(), groups.end() - pending);
  for (size_t& group : groups) group -= done;
}

}  // extern "C"

void end_thread(Fiber* f) {
  if (!f->product_groups.empty()) emu_fail("a thread ends with products that it has not waited for");
  if (!f->stores.empty()) emu_fail("a thread ends with bulk copies that it has not waited for");
}
