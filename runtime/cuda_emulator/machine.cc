// Blocks and their threads. A thread is a fiber that runs until it waits; which goes next is drawn, so
// that nothing but a barrier, a meeting of lanes or a spin orders what two threads do. Where priorities
// are steady, some threads lag behind all others for long, which finds what uniform draws hardly do
// (Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs, 2010).
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "runner.h"

Random emu_random;
Fiber* emu_fiber;
const Place* emu_place;
Index emu_block_dim = {1, 1, 1}, emu_grid_dim = {1, 1, 1};

namespace {

const size_t STACK = 512 << 10;
jmp_buf scheduler;
void (*kernel)(void**);
void** arguments;
std::vector<Fiber*> ready;  // where priorities are steady a heap, the highest first
bool steady;
const int64_t LAGGING = -(1ll << 40), SPINNING = -(1ll << 50);
int64_t laggards, spins;
std::vector<unsigned char*> stacks;
std::vector<Block*> residents;
long idle;  // turns of spinning threads since something happened
std::vector<Fiber*> awaiting;  // the launches before

unsigned char* new_stack() {
  if (!stacks.empty()) {
    unsigned char* stack = stacks.back();
    stacks.pop_back();
    return stack;
  }
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void* all = mmap(nullptr, STACK + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) emu_fail("no memory for the stacks of so many threads");
  mprotect(all, page, PROT_NONE);
  return (unsigned char*)all + page;
}

void suspend() {
  Fiber* self = emu_fiber;
  if (!_setjmp(self->context)) _longjmp(scheduler, 1);
}

bool lower(const Fiber* a, const Fiber* b) { return a->priority < b->priority; }

// Priorities of threads until their next barrier. Now and then some lag behind all that do not
// lag already: their block waits for them while other blocks go on to their end.
void draw_priorities(const std::vector<Fiber*>& fibers) {
  const int64_t together = emu_random.below(~0u);
  for (Fiber* f : fibers) f->priority = together + emu_random.below(1u << 31);
  if (emu_random.below(8)) return;
  const uint32_t share = 2u << emu_random.below(6);
  ++laggards;
  for (Fiber* f : fibers)
    if (emu_random.below(share) == 0) f->priority = LAGGING + laggards;
}

void make_ready(Fiber* f) {
  ready.push_back(f);
  if (steady) std::push_heap(ready.begin(), ready.end(), lower);
}

Fiber* take_ready() {
  if (steady) std::pop_heap(ready.begin(), ready.end(), lower);
  else std::swap(ready[emu_random.below((uint32_t)ready.size())], ready.back());
  Fiber* f = ready.back();
  ready.pop_back();
  return f;
}

void wake(Fiber* fiber) {
  fiber->waits_at = nullptr;
  make_ready(fiber);
}

void release_barrier(Block& block, int id) {
  idle = 0;
  block.barriers[id].waiting = block.barriers[id].line = 0;
  std::vector<Fiber*> released;
  for (Fiber* f : block.fibers)
    if (f->barrier == id) released.push_back(f);
  draw_priorities(released);
  for (Fiber* f : released) {
    f->barrier = -1;
    wake(f);
  }
}

// The cluster's barrier is over once every thread that still runs has come to it.
void settle_cluster(Cluster& cluster) {
  if (cluster.arrived < cluster.left) return;
  idle = 0;
  cluster.arrived = 0;
  ++cluster.meeting;
  draw_priorities(cluster.waiting);
  for (Fiber* f : cluster.waiting) wake(f);
  cluster.waiting.clear();
}

void main_of_fiber() {
  kernel(arguments);
  end_thread(emu_fiber);
  if (emu_fiber->met) emu_fail("a thread ends that came to a barrier of its cluster and did not wait there");
  emu_fiber->done = true;
  Cluster& cluster = *emu_fiber->block->cluster;
  if (--cluster.left) settle_cluster(cluster);
  _longjmp(scheduler, 1);
}

void start(Block* block, unsigned threads) {
  block->shared = new_shared();
  block->awaited = false;
  block->left = threads;
  block->warps.resize((threads + WARP - 1) / WARP);
  block->groups.resize((threads + 127) / 128);
  block->unfenced.assign(shared_size(), false);
  for (unsigned t = 0; t < threads; ++t) {
    Fiber* f = new Fiber();
    f->place = {{t, 0, 0}, block->index};
    f->block = block;
    f->number = t;
    f->barrier = -1;
    f->groups.emplace_back();
    f->fenced = false;
    f->products = 0;
    f->stack = new_stack();
    block->fibers.push_back(f);
  }
  draw_priorities(block->fibers);
  for (Fiber* f : block->fibers) make_ready(f);
  residents.push_back(block);
}

// A block has ended: nobody may read or write its memory, which is another's once its cluster has.
void finish(Block* block) {
  free_shared(block->shared, *block);
  for (Fiber* f : block->fibers) {
    stacks.push_back(f->stack);
    delete f;
  }
  for (size_t i = 0; i < residents.size(); ++i)
    if (residents[i] == block) residents.erase(residents.begin() + (long)i);
  Cluster* cluster = block->cluster;
  if (--cluster->running) return;
  for (Block* b : cluster->blocks) {
    give_back_shared(b->shared);
    delete b;
  }
  delete cluster;
}

// Let one thread run until it waits, yields or ends.
void resume(Fiber* f) {
  emu_fiber = f;
  emu_place = &f->place;
  if (!_setjmp(scheduler)) {
    if (f->begun) _longjmp(f->context, 1);
    f->begun = true;
    getcontext(&f->begin);
    f->begin.uc_stack.ss_sp = f->stack;
    f->begin.uc_stack.ss_size = STACK;
    f->begin.uc_link = nullptr;
    makecontext(&f->begin, main_of_fiber, 0);
    setcontext(&f->begin);
  }
  emu_fiber = nullptr;
}

// The launches before have ended.
void end_earlier() {
  idle = 0;
  seal_tensors(false);
  for (Fiber* f : awaiting) wake(f);
  awaiting.clear();
}

// Nobody can run and blocks are left: say who waits for what.
[[noreturn]] void stuck() {
  Block* block = residents.front();
  char text[600] = "";
  size_t used = 0;
  const char* last = nullptr;
  int line = -1, shown = 0;
  for (Fiber* f : block->fibers) {
    const char* at = f->done ? "its end" : f->waits_at ? f->waits_at : "nothing";
    if (last && !strcmp(at, last) && f->line == line) continue;
    if (++shown > 6 || used > 450) break;
    used += (size_t)snprintf(text + used, sizeof text - used, "%sfrom thread %u on: %s", used ? "; " : "", f->number, at);
    if (!f->done) used += (size_t)snprintf(text + used, sizeof text - used, " of line %d", f->line);
    last = at, line = f->line;
  }
  emu_fail("the threads of block %u wait for ever: %s", block->index.x, text);
}

}  // namespace

void run_grid(void (*launch)(void**), void** args, unsigned blocks, unsigned threads, unsigned size,
              unsigned resident, bool keeps, bool dependent) {
  kernel = launch, arguments = args, steady = keeps;
  emu_block_dim = {threads, 1, 1}, emu_grid_dim = {blocks, 1, 1};
  const unsigned clusters = blocks / size;
  std::vector<unsigned> order(clusters);
  for (unsigned i = 0; i < clusters; ++i) order[i] = i;
  for (unsigned i = clusters; i > 1; --i) std::swap(order[i - 1], order[emu_random.below(i)]);
  size_t next = 0;
  // The launches before end as late as they can, or soon, so that no block finds others at the wait.
  const bool soon = dependent && emu_random.below(4) == 0;
  while (next < clusters || !residents.empty()) {
    if (dependent && residents.empty()) seal_tensors(true);
    const bool stalled = idle > 4 * (long)ready.size() + 64 && next < clusters;
    while (next < clusters && (residents.size() < resident || stalled)) {
      Cluster* cluster = new Cluster();
      cluster->running = size, cluster->left = size * threads;
      for (unsigned rank = 0; rank < size; ++rank) {
        Block* block = new Block();
        block->index = {order[next] * size + rank, 0, 0};
        block->cluster = cluster, block->rank = rank;
        cluster->blocks.push_back(block);
        start(block, threads);
      }
      ++next;
      if (stalled) break;
    }
    if (stalled) idle = 0;
    if (!awaiting.empty() && (soon || ready.empty() || idle > 4 * (long)ready.size() + 64)) end_earlier();
    if (idle > 100000 + 100 * (long)ready.size())
      emu_fail("block %u thread %u spins in line %d on a value that nobody will write",
               ready[0]->block->index.x, ready[0]->number, ready[0]->line);
    if (ready.empty()) stuck();
    Fiber* f = take_ready();
    resume(f);
    if (!f->done) continue;
    idle = 0;
    if (--f->block->left) continue;
    if (dependent && !f->block->awaited)
      emu_fail("block %u ends without griddepcontrol.wait: later launches would not wait for earlier ones", f->block->index.x);
    finish(f->block);
  }
}

void park(const char* what) {
  emu_fiber->waits_at = what;
  suspend();
}

void refuse_early(const char* what) {
  if (is_sealed()) emu_fail("%s before griddepcontrol.wait", what);
}

void unpark(Fiber* f) {
  idle = 0;
  wake(f);
}

extern "C" {

void emu_barrier(int line, int id, int count) {
  Fiber* f = emu_fiber;
  Block& block = *f->block;
  Barrier& barrier = block.barriers[id];
  const int wanted = count ? count : (int)block.fibers.size();
  if (barrier.waiting && ((barrier.line && barrier.line != line) || barrier.count != wanted))
    emu_fail("a divergent barrier: block %u has threads at line %d, and thread %u at line %d",
             block.index.x, barrier.line, f->number, line);
  barrier.line = line, barrier.count = wanted;
  f->line = line, f->waits_at = "a barrier", f->barrier = id;
  if (++barrier.waiting == wanted) release_barrier(block, id);
  suspend();
}

void emu_await_launches(int line) {
  emu_fiber->block->awaited = true;
  if (!is_sealed()) return;
  emu_fiber->line = line;
  awaiting.push_back(emu_fiber);
  park("griddepcontrol.wait");
}

// Counts at a barrier like one that waits there, and goes on.
void emu_barrier_arrive(int id, int count) {
  Block& block = *emu_fiber->block;
  Barrier& barrier = block.barriers[id];
  if (barrier.waiting && barrier.count != count)
    emu_fail("barrier %d is for %d threads, and for %d at another arrival", id, barrier.count, count);
  barrier.count = count;
  if (++barrier.waiting == count) release_barrier(block, id);
}

void emu_cluster_arrive(int line) {
  Fiber* f = emu_fiber;
  Cluster& cluster = *f->block->cluster;
  f->line = line;
  if (f->met) emu_fail("a thread comes twice to a barrier of its cluster");
  f->met = true, f->meeting = cluster.meeting;
  ++cluster.arrived;
  settle_cluster(cluster);
}

void emu_cluster_wait(int line) {
  Fiber* f = emu_fiber;
  Cluster& cluster = *f->block->cluster;
  if (!f->met) emu_fail("a thread waits at a barrier of its cluster that it has not come to");
  f->met = false;
  if (f->meeting != cluster.meeting) return emu_yield();
  f->line = line, f->waits_at = "a barrier of its cluster";
  cluster.waiting.push_back(f);
  suspend();
}

void emu_yield() {
  idle = 0;
  make_ready(emu_fiber);
  suspend();
}

void emu_watch(int line) {
  emu_fiber->line = line;
  ++idle;
  emu_fiber->priority = SPINNING - ++spins;  // whoever spins lets all others go
  make_ready(emu_fiber);
  suspend();
}

void emu_meet(unsigned mask, EmuOp op, const void* detail, void* lane, int line, const char* name) {
  Fiber* f = emu_fiber;
  Block& block = *f->block;
  const unsigned warp = f->number / WARP, mine = f->number % WARP;
  const unsigned size = (unsigned)block.fibers.size() - warp * WARP;
  if (size < WARP) mask &= (1u << size) - 1;
  if (!(mask >> mine & 1)) emu_fail("thread %u is not in the mask of its own %s in line %d", f->number, name, line);
  Meeting& m = block.warps[warp];
  if (m.here && (m.op != op || m.detail != detail || m.mask != mask || m.line != line || (m.here >> mine & 1)))
    emu_fail("warp %u of block %u diverges: lanes at %s of line %d, thread %u at %s of line %d",
             warp, block.index.x, m.name, m.line, f->number, name, line);
  m.mask = mask, m.op = op, m.detail = detail, m.line = line, m.name = name;
  m.here |= 1u << mine;
  m.lanes[mine] = lane;
  f->line = line;
  f->waits_at = name;
  if (m.here == mask) {
    op(m.lanes, mask, detail);
    m.here = 0;
    idle = 0;
    for (unsigned i = 0; i < WARP; ++i)
      if (mask >> i & 1) wake(block.fibers[warp * WARP + i]);
  }
  suspend();
}

unsigned emu_lane() { return emu_fiber->number % WARP; }

void emu_fail(const char* format, ...) {
  va_list rest;
  va_start(rest, format);
  fflush(stdout);
  fprintf(stderr, "emulator: ");
  vfprintf(stderr, format, rest);
  if (emu_fiber) fprintf(stderr, " [block %u thread %u]", emu_fiber->place.block.x, emu_fiber->number);
  fprintf(stderr, "\n");
  fflush(stderr);
  _exit(3);
}

}  // extern "C"
