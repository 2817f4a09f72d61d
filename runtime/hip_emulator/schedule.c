// Workgroups, waves and their order; the entry of the library.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "launch.h"

Machine machine;

u64 random_bits(void) {  // xorshift64*, Vigna 2016
  u64 x = machine.random;
  x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
  machine.random = x;
  return x * 0x2545f4914f6cdd1dull >> 16;
}

void report(const char *format, ...) {
  char *to = machine.request->report;
  size_t at = 0, room = sizeof machine.request->report;
  va_list arguments;
  va_start(arguments, format);
  at += (size_t)vsnprintf(to, room, format, arguments);
  va_end(arguments);
  if (machine.by && machine.at && at < room) {
    const u32 *id = machine.by->group->id;
    at += (size_t)snprintf(to + at, room - at, "\n  workgroup (%u, %u, %u), wave %u, line %u: %s", id[0],
                           id[1], id[2], machine.by->number, machine.at->line, machine.at->text);
    if (machine.at->source && at < room) snprintf(to + at, room - at, "\n  from %s", machine.at->source);
  }
  longjmp(machine.out, 1);
}

static void *zeros(size_t count, size_t size) {
  void *found = calloc(count ? count : 1, size);
  if (!found) report("the host has not the memory that this launch needs");
  return found;
}

static void enqueue(Wave *w) {
  if (w->queued) return;
  w->queued = 1;
  machine.ready[machine.ready_count++] = w;
}

static void set_scalar(Wave *w, u32 r, u32 value) {
  w->s[r] = value;
  w->sdefined[r] = ~0u;
}

static Wave *new_wave(Group *g, u32 number) {
  const Request *q = machine.request;
  Wave *w = aligned_alloc(64, sizeof(Wave));
  if (!w) report("the host has not the memory that this launch needs");
  g->wave[number] = w;
  memset((u8 *)w + sizeof w->v, 0, sizeof *w - sizeof w->v);
  const u32 poison = (u32)random_bits() | 0x7fc00000;  // a NaN, unless it is read as integers
  for (u32 r = 0; r < VGPRS; r++) FOR_LANES w->v[r][l] = poison;
  for (u32 r = 0; r < SGPRS; r++) w->s[r] = poison;
  w->group = g;
  w->number = (u8)number;
  w->priority = (u8)(random_bits() & 7);
  w->scratch = zeros(q->scratch_bytes, LANES);
  w->scratch_defined = zeros(q->scratch_bytes, LANES);
  u32 s = 0;
  for (; s < q->user_count; s++) set_scalar(w, s, q->user[s]);
  for (int axis = 0; axis < 3; axis++)
    if (q->group_ids[axis]) set_scalar(w, s++, g->id[axis]);
  const u32 threads = q->block[0] * q->block[1] * q->block[2];
  u64 exec = 0;
  FOR_LANES {
    const u32 t = number * LANES + (u32)l;
    if (t < threads) exec |= (u64)1 << l;
    const u32 x = t % q->block[0], y = t / q->block[0] % q->block[1];
    w->v[0][l] = x | y << 10 | (t / q->block[0] / q->block[1]) << 20;
  }
  for (int byte = 0; byte < 4; byte++) w->defined[0][byte] = ~(u64)0;
  set_scalar(w, EXEC, (u32)exec);
  set_scalar(w, EXEC + 1, (u32)(exec >> 32));
  return w;
}

static void free_group(Group *g) {
  for (u32 i = 0; g->wave && i < g->waves; i++) {
    if (!g->wave[i]) continue;
    free_flights(g->wave[i]);
    free(g->wave[i]->scratch), free(g->wave[i]->scratch_defined);
    free(g->wave[i]);
  }
  free(g->lds), free(g->lds_defined), free(g->landing), free(g->wrote), free(g->read), free(g->wave);
  free(g);
}

static void start_group(void) {
  const Request *q = machine.request;
  const u32 n = machine.next_group++;
  Group *g = zeros(1, sizeof *g);
  machine.groups[machine.group_count++] = g;
  g->id[0] = n % q->grid[0], g->id[1] = n / q->grid[0] % q->grid[1], g->id[2] = n / q->grid[0] / q->grid[1];
  g->waves = (q->block[0] * q->block[1] * q->block[2] + LANES - 1) / LANES;
  g->epoch = 1;
  g->wave = zeros(g->waves, sizeof *g->wave);
  g->lds = zeros(q->lds_bytes, 1), g->lds_defined = zeros(q->lds_bytes, 1);
  g->landing = zeros(q->lds_bytes, sizeof *g->landing);
  g->wrote = zeros(q->lds_bytes, sizeof *g->wrote), g->read = zeros(q->lds_bytes, sizeof *g->read);
  memset(g->lds, 0xff, q->lds_bytes);
  for (u32 i = 0; i < g->waves; i++) enqueue(new_wave(g, i));
}

static void end_group(Group *g) {
  u32 i = 0;
  while (machine.groups[i] != g) i++;
  machine.groups[i] = machine.groups[--machine.group_count];
  free_group(g);
}

static void release_barrier(Group *g) {
  if (!g->arrived || g->arrived < g->waves - g->ended) return;
  g->arrived = 0;
  g->epoch++;
  for (u32 i = 0; i < g->waves; i++) {
    if (g->wave[i]->state != AT_BARRIER) continue;
    g->wave[i]->state = READY;
    enqueue(g->wave[i]);
    machine.waiting_count--;
  }
  machine.changes++;
  touch_again(g);
}

// FNV over what decides a wave's future, memory aside.
static u64 fingerprint(const Wave *w) {
  u64 h = 0xcbf29ce484222325ull;
  for (u32 r = 0; r < VGPRS; r++) FOR_LANES h = (h ^ w->v[r][l]) * 0x100000001b3ull;
  for (u32 r = 0; r < SGPRS; r++) h = (h ^ w->s[r]) * 0x100000001b3ull;
  return (h ^ w->vm) * 31 ^ w->lgkm;
}

// After Brent's search for a cycle: a wave that is where it was, all registers as they were, goes on so
// for ever unless memory changes. It then sleeps until it does. Longer cycles are for the limit.
static void look_for_a_spin(Wave *w) {
  enum { LONGEST = 4, FORGET = 64 };
  const bool other = w->spin.pc != w->pc + 1;
  if (w->spin.changes != machine.changes || (other && ++w->spin.others > FORGET)) {
    w->spin.changes = machine.changes;
    w->spin.pc = w->pc + 1;
    w->spin.visits = w->spin.others = 0, w->spin.power = 8;
    return;
  }
  if (other) return;
  w->spin.others = 0;
  if (++w->spin.visits < w->spin.power) return;
  const u64 now = fingerprint(w);
  if (w->spin.visits == w->spin.power) {
    w->spin.state = now;
  } else if (w->spin.state == now) {
    w->state = STUCK;
    w->yields = 1;
    machine.stuck_count++;
  } else if (w->spin.visits == w->spin.power + LONGEST) {
    w->spin.power *= 2;
  }
}

static void wake(void) {
  for (u32 g = 0; g < machine.group_count; g++)
    for (u32 i = 0; i < machine.groups[g]->waves; i++) {
      Wave *w = machine.groups[g]->wave[i];
      if (w->state != STUCK || w->spin.changes == machine.changes) continue;
      w->state = READY;
      w->spin.others = 64;
      machine.stuck_count--;
      enqueue(w);
    }
}

static void control(Wave *w, const Ins *i) {
  switch (i->kind) {
    case WAIT:
      wait_for(w, i->vm, i->lgkm);
      w->yields = 1;
      break;
    case BARRIER:
      w->state = AT_BARRIER;
      w->yields = 1;
      w->group->arrived++;
      machine.waiting_count++;
      release_barrier(w->group);
      break;
    case SLEEP: w->yields = 1; break;
    case TRAP: report("the kernel traps");
    case END:
      wait_for(w, 0, 0);
      w->state = ENDED;
      w->yields = 1;
      w->group->ended++;
      machine.changes++;
      release_barrier(w->group);
      break;
  }
}

// Run one wave until it waits or its turn is over.
static void run_wave(Wave *w, u32 turn) {
  const Program *p = machine.request->program;
  machine.by = w;
  w->yields = 0;
  while (!w->yields && turn--) {
    if (w->pc >= p->length) report("the kernel runs past its end");
    const Ins *i = machine.at = &p->code[w->pc++];
    machine.request->executed++;
    if (w->on_the_way) check_on_the_way(w, i);
    switch (i->kind) {
      case NOTHING: break;
      case RUN: step(w, i); break;
      case ACCESS: access_memory(w, i); break;
      case BRANCH: {
        const u32 here = w->pc - 1;
        step(w, i);
        if (w->pc <= here) look_for_a_spin(w);
        break;
      }
      default: control(w, i);
    }
  }
}

static Wave *choose(bool by_priority) {
  u32 at = (u32)(random_bits() % machine.ready_count);
  if (by_priority && !chance(8))  // some waves lag far behind
    for (u32 i = 0; i < machine.ready_count; i++)
      if (machine.ready[i]->priority > machine.ready[at]->priority) at = i;
  Wave *w = machine.ready[at];
  machine.ready[at] = machine.ready[--machine.ready_count];
  w->queued = 0;
  return w;
}

static void stuck_report(void) {
  const Wave *at_barrier = NULL, *spins = NULL;
  for (u32 g = 0; g < machine.group_count; g++)
    for (u32 i = 0; i < machine.groups[g]->waves; i++) {
      const Wave *w = machine.groups[g]->wave[i];
      if (w->state == AT_BARRIER) at_barrier = w;
      if (w->state == STUCK) spins = w;
    }
  const Wave *w = spins ? spins : at_barrier;
  machine.by = w;
  machine.at = &machine.request->program->code[w->pc ? w->pc - (spins == NULL) : 0];
  report("deadlock: every wave waits: %u at a barrier, %u in loops on memory that nobody changes",
         machine.waiting_count, machine.stuck_count);
}

static void run_all(void) {
  Request *q = machine.request;
  const bool by_priority = q->seed & 1;
  const u64 began = q->executed;
  while (machine.group_count || machine.next_group < machine.total_groups) {
    while (machine.group_count < q->resident && machine.next_group < machine.total_groups) start_group();
    if (machine.stuck_count) wake();
    if (!machine.ready_count) {  // as hardware would, given the room
      if (machine.next_group == machine.total_groups) stuck_report();
      start_group();
    }
    Wave *w = choose(by_priority);
    run_wave(w, 1 + (u32)(random_bits() % 512));
    if (by_priority && chance(64)) w->priority = (u8)(random_bits() & 7);
    if (w->state == READY) enqueue(w);
    if (w->state == ENDED && w->group->ended == w->group->waves) end_group(w->group);
    if (q->limit && q->executed - began > q->limit)
      report("the kernel did not end within %llu wave-instructions", (unsigned long long)q->limit);
  }
}

static void free_machine(void) {
  for (u32 g = 0; g < machine.group_count; g++) free_group(machine.groups[g]);
  for (Flight *f = machine.free, *next; f; f = next) next = f->next, free(f);
  free(machine.groups), free(machine.ready);
}

// For the check that both sides mean the same.
EXPORTED const u32 hip_emulator_layout[] = {sizeof(Ins), sizeof(Access), sizeof(Request), sizeof(Allocation)};

// Run a launch: 0, or 1 with a report.
EXPORTED int hip_emulator_launch(Request *q) {
  memset(&machine, 0, sizeof machine);
  machine.request = q;
  machine.random = (q->seed + 1) * 0x9e3779b97f4a7c15ull | 1;
  for (int i = 0; i < 4; i++) random_bits();
  const int failed = setjmp(machine.out);
  if (!failed) {
    const u32 waves = (q->block[0] * q->block[1] * q->block[2] + LANES - 1) / LANES;
    machine.total_groups = q->grid[0] * q->grid[1] * q->grid[2];
    machine.groups = zeros(machine.total_groups, sizeof *machine.groups);
    machine.ready = zeros((size_t)machine.total_groups * waves, sizeof *machine.ready);
    run_all();
  }
  free_machine();
  return failed;
}
