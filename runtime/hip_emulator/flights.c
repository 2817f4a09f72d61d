// Memory instructions on their way, and the waits that land them.
#include <stdlib.h>
#include "launch.h"

enum { MOST_VM = 63, MOST_LGKM = 15 };  // what the counters hold; hardware stalls there

Flight *new_flight(const Ins *i, u64 exec) {
  Flight *f = machine.free;
  if (f) machine.free = f->next;
  else if (!(f = malloc(sizeof *f))) report("the host has not the memory that this launch needs");
  f->next = NULL, f->ins = i, f->exec = exec;
  f->vm = f->lgkm = f->sampled = f->dwords = 0;
  f->vector = 1, f->whole = 0;
  memset(f->defined, 0, sizeof f->defined);
  return f;
}

// Vector memory gives its results in order (CDNA3 ISA, S_WAITCNT), flat addresses by LDS or by memory.
bool ends_in_order(const Ins *i) {
  const Access *a = i->access;
  return i->kind == ACCESS && (a->space == GLOBAL || a->space == BUFFER || a->space == SCRATCH);
}

static void count_pending(Wave *w, const Flight *f, int step) {
  const bool in_order = ends_in_order(f->ins);
  for (const Span *s = f->ins->writes; s->count; s++)
    for (u32 r = s->at; r < (u32)s->at + s->count; r++) {
      u16 *count = s->vector ? &w->pending[r] : &w->spending[r];
      *count = (u16)(*count + step);
      if (s->vector && in_order) w->ordered[r] = (u16)(w->ordered[r] + step);
      w->on_the_way = (u32)((i32)w->on_the_way + step);
    }
}

void begin(Wave *w, Flight *f) {
  count_pending(w, f, 1);
  if (w->newest) w->newest->next = f;
  else w->oldest = f;
  w->newest = f;
  f->flat = f->vm && f->lgkm;
  w->vm += f->vm, w->lgkm += f->lgkm;
  if (w->vm > MOST_VM) wait_for(w, MOST_VM, MOST_LGKM);
  if (w->lgkm > MOST_LGKM && f->ins->access->space == LDS) wait_for(w, MOST_VM, MOST_LGKM);
}

static void finish(Wave *w, Flight *f) {
  count_pending(w, f, -1);
  w->vm -= f->vm, w->lgkm -= f->lgkm;
  land(w, f);
}

// Vector memory ends in order, LDS in order; scalar loads in any order, and flat accesses on either way,
// so that nothing but a count of 0 tells of them: of both counters, maybe one after the other.
static bool surely_landed(Wave *w, Flight *f, u32 vm, u32 lgkm, u32 younger_vm, u32 younger_lds) {
  if (f->flat) {
    if (!vm) w->vm -= f->vm, f->vm = 0;
    if (!lgkm) w->lgkm -= f->lgkm, f->lgkm = 0;
    return !f->vm && !f->lgkm;
  }
  if (f->vm) return younger_vm >= vm;
  if (f->ins->access->space == SCALAR) return lgkm == 0;
  return younger_lds >= lgkm;
}

void wait_for(Wave *w, u32 vm, u32 lgkm) {
  u32 later_vm = 0, later_lds = 0;
  for (Flight *f = w->oldest; f; f = f->next) {
    later_vm += f->vm && !f->flat;
    later_lds += f->lgkm && f->ins->access->space == LDS;
  }
  Flight **link = &w->oldest, *last = NULL;
  for (Flight *f = w->oldest, *next; f; f = next) {
    next = f->next;
    later_vm -= f->vm && !f->flat;
    later_lds -= f->lgkm && f->ins->access->space == LDS;
    if (!surely_landed(w, f, vm, lgkm, later_vm, later_lds)) {
      last = f;
      link = &f->next;
      continue;
    }
    finish(w, f);
    *link = next;
    f->next = machine.free;
    machine.free = f;
  }
  w->newest = last;
}

void free_flights(Wave *w) {
  for (Flight *f = w->oldest, *next; f; f = next) next = f->next, free(f);
}
