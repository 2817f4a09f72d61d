// What registers hold: defined bytes, and loads on their way. No instruction has a rule of its own:
// where an operand is undefined, an instruction is run with several fillings, and what of its result
// then differs is undefined.
#include <stdio.h>
#include "launch.h"

enum { FILLINGS = 4, MOST_WRITTEN = 40 };
static const u32 fillings[FILLINGS] = {0, ~0u, 0x5a3c96e1, 0xa7b1680f};

const char *register_name(bool vector, u32 at) {
  static char names[4][16];
  static int turn;
  char *name = names[turn++ & 3];
  if (vector) snprintf(name, sizeof *names, "%c%u", at < FIRST_AGPR ? 'v' : 'a', at % FIRST_AGPR);
  else if (at == VCC || at == VCC + 1) snprintf(name, sizeof *names, "vcc");
  else if (at == EXEC || at == EXEC + 1) snprintf(name, sizeof *names, "exec");
  else if (at == SCC || at == M0) snprintf(name, sizeof *names, at == SCC ? "scc" : "m0");
  else snprintf(name, sizeof *names, "s%u", at);
  return name;
}

static u64 whole(const Wave *w, u32 r) {
  const u64 *d = w->defined[r];
  return d[0] & d[1] & d[2] & d[3];
}

static void check_span(const Wave *w, const Span *s, bool in_order, const char *what) {
  for (u32 r = s->at; r < (u32)s->at + s->count; r++)
    if (s->vector ? w->pending[r] > (in_order ? w->ordered[r] : 0) : w->spending[r])
      report("%s is %s before the s_waitcnt that lands it", register_name(s->vector, r), what);
}

// A load may go where an earlier one is still to write: they end in order, the compiler knows.
void check_on_the_way(Wave *w, const Ins *i) {
  for (const Span *s = i->reads; s->count; s++) check_span(w, s, false, "read");
  for (const Span *s = i->writes; s->count; s++) check_span(w, s, ends_in_order(i), "written");
}

static u64 lanes_of(const Wave *w, const Ins *i) { return i->flags & ALL ? ~(u64)0 : exec_of(w); }

bool all_defined(const Wave *w, const Ins *i) {
  const u64 lanes = lanes_of(w, i);
  for (const Span *s = i->reads; s->count; s++)
    for (u32 r = s->at; r < (u32)s->at + s->count; r++)
      if (s->vector ? ~whole(w, r) & lanes : ~w->sdefined[r]) return false;
  return true;
}

void mark_written(Wave *w, const Ins *i) {
  const u64 lanes = lanes_of(w, i);
  for (const Span *s = i->writes; s->count; s++)
    for (u32 r = s->at; r < (u32)s->at + s->count; r++)
      if (s->vector)
        for (int byte = 0; byte < 4; byte++) w->defined[r][byte] |= lanes;
      else
        w->sdefined[r] = ~0u;
}

static void fill(Wave *w, const Ins *i, u32 filling) {
  for (const Span *s = i->reads; s->count; s++)
    for (u32 r = s->at; r < (u32)s->at + s->count; r++) {
      if (!s->vector) {
        w->s[r] = (w->s[r] & w->sdefined[r]) | (filling & ~w->sdefined[r]);
        if (r == SCC) w->s[r] &= 1;
        continue;
      }
      const u64 *d = w->defined[r];
      if (whole(w, r) == ~(u64)0) continue;
      FOR_LANES for (int byte = 0; byte < 4; byte++)
        if (!(d[byte] >> l & 1)) {
          const u32 mask = 255u << 8 * byte;
          w->v[r][l] = (w->v[r][l] & ~mask) | (filling & mask);
        }
    }
}

typedef struct {
  u32 v[MOST_WRITTEN][LANES], s[8];
} Written;

static void copy_written(Wave *w, const Ins *i, Written *to, bool back) {
  u32 v = 0, s = 0;
  for (const Span *p = i->writes; p->count; p++)
    for (u32 r = p->at; r < (u32)p->at + p->count; r++) {
      u32 *reg = p->vector ? w->v[r] : &w->s[r], *kept = p->vector ? to->v[v++] : &to->s[s++];
      const size_t size = p->vector ? LANES * 4 : 4;
      if (back) memcpy(reg, kept, size);
      else memcpy(kept, reg, size);
    }
}

// Lanes in which any operand has an undefined byte.
static u64 tainted(const Wave *w, const Ins *i) {
  u64 lanes = 0;
  for (const Span *s = i->reads; s->count; s++)
    for (u32 r = s->at; r < (u32)s->at + s->count; r++)
      lanes |= s->vector ? ~whole(w, r) : w->sdefined[r] == ~0u ? 0 : ~(u64)0;
  return lanes;
}

static void mark_differing(const Ins *i, const Written *first, const Written *now, u32 (*seen)[LANES], u32 *sseen) {
  u32 v = 0, s = 0;
  for (const Span *p = i->writes; p->count; p++)
    for (u32 r = 0; r < p->count; r++)
      if (p->vector) {
        FOR_LANES seen[v][l] |= first->v[v][l] ^ now->v[v][l];
        v++;
      } else {
        sseen[s] |= first->s[s] ^ now->s[s];
        s++;
      }
}

static const char *undefined_operand(const Wave *w, const Ins *i) {
  for (const Span *s = i->reads; s->count; s++)
    for (u32 r = s->at; r < (u32)s->at + s->count; r++)
      if (s->vector ? ~whole(w, r) & lanes_of(w, i) : ~w->sdefined[r]) return register_name(s->vector, r);
  return "an operand";
}

static void store_definedness(Wave *w, const Ins *i, u32 (*differs)[LANES], const u32 *sdiffers, u64 strict, const char *operand) {
  const u64 lanes = lanes_of(w, i);
  u32 v = 0, s = 0;
  for (const Span *p = i->writes; p->count; p++)
    for (u32 r = p->at; r < (u32)p->at + p->count; r++) {
      if (p->vector) {
        for (int byte = 0; byte < 4; byte++) {
          u64 bad = 0;
          FOR_LANES bad |= (u64)((differs[v][l] >> 8 * byte & 255) != 0) << l;
          w->defined[r][byte] = (w->defined[r][byte] & ~lanes) | (~bad & lanes);
        }
        v++;
        continue;
      }
      u32 bad = sdiffers[s++];
      if (i->flags & STRICT) bad |= r == SCC ? ~0u : (r - p->at) & 1 ? (u32)(strict >> 32) : (u32)strict;
      w->sdefined[r] = ~bad;
      if (bad && (r == EXEC || r == EXEC + 1)) report("exec becomes undefined, by %s", operand);
    }
}

// Run an instruction on operands of which some are undefined.
static void probe(Wave *w, const Ins *i) {
  static Written before, first, now;
  static u32 differs[MOST_WRITTEN][LANES], sdiffers[8];
  const u64 strict = tainted(w, i) & lanes_of(w, i);
  const char *operand = undefined_operand(w, i);
  if (i->kind == BRANCH) report("a branch depends on %s, which is undefined", operand);
  memset(differs, 0, sizeof differs);
  memset(sdiffers, 0, sizeof sdiffers);
  copy_written(w, i, &before, false);
  for (int f = 0; f < FILLINGS; f++) {
    copy_written(w, i, &before, true);
    fill(w, i, fillings[f]);
    i->run(w, i);
    copy_written(w, i, f ? &now : &first, false);
    if (f) mark_differing(i, &first, &now, differs, sdiffers);
  }
  store_definedness(w, i, differs, sdiffers, strict, operand);
}

// Run an instruction that computes on registers.
void step(Wave *w, const Ins *i) {
  if (all_defined(w, i)) {
    i->run(w, i);
    mark_written(w, i);
  } else {
    probe(w, i);
  }
}
