// The machine itself: memory, workgroups, what is on its way, reports.
#pragma once
#include <setjmp.h>
#include "machine.h"

// Addresses say which allocation they are of; apertures are those of gfx9.
enum { ALLOCATION_BITS = 36 };
#define SHARED_APERTURE 0x1000000000000ull
#define PRIVATE_APERTURE 0x2000000000000ull

typedef struct {
  const char *name;
  u8 *bytes;
  u8 *defined;  // a byte each: 0 where nothing wrote; NULL where all of it is defined
  u64 size;
  u32 skew;     // how far its beginning is past a multiple of 4096
  u8 writable;
} Allocation;

typedef struct {
  const Program *program;
  Allocation *allocations;
  u32 allocation_count;
  u32 grid[3], block[3];
  u32 lds_bytes, scratch_bytes;
  u32 resident;         // workgroups at once
  u32 user[16];         // the values of the user SGPRs
  u32 user_count;
  u8 group_ids[3];      // which workgroup ids follow them
  u8 lds_is_large;      // 160 KiB: M0 has more bits
  u8 granule_shift;     // of LDS, as races are looked for
  u64 seed, limit;      // limit: wave-instructions, 0 for none
  u64 executed;
  char report[1024];
} Request;

enum State { READY, AT_BARRIER, STUCK, ENDED };

// One memory instruction that has begun. Its effects are those of its wait.
struct Flight {
  Flight *next;
  const Ins *ins;
  u64 exec;
  u8 vm, lgkm, flat, sampled, vector;
  u8 dwords;
  u64 address[2][LANES];
  u32 data[16][LANES];
  u64 defined[16][4];
  u8 valid[LANES];  // bytes within the buffer
  u32 lds_at;       // of an LDS DMA
  u8 *host, *shadow;  // where `low` is, if all lanes are in one allocation
  u64 low, extent, whole;
};

struct Group {
  u32 id[3];
  u32 waves, ended, arrived, epoch;
  u8 *lds, *lds_defined;
  u16 *landing;       // DMA on its way to each granule
  u32 *wrote, *read;  // epoch << 8 | wave + 1 of each granule's last accesses
  Wave **wave;
};

typedef struct {
  Request *request;
  Group **groups;
  u32 group_count, next_group, total_groups;
  Wave **ready;
  u32 ready_count, stuck_count, waiting_count;
  u64 changes;        // of memory, and of what waves wait for
  u64 random;
  Flight *free;
  jmp_buf out;
  const Ins *at;
  const Wave *by;
} Machine;

extern Machine machine;

u64 random_bits(void);
static inline bool chance(u32 one_in) { return random_bits() % one_in == 0; }
_Noreturn void report(const char *format, ...);

// operands.c: what is undefined or on its way
void step(Wave *, const Ins *);
void check_on_the_way(Wave *, const Ins *);
bool all_defined(const Wave *, const Ins *);
void mark_written(Wave *, const Ins *);
const char *register_name(bool vector, u32 at);

// flights.c
void begin(Wave *, Flight *);
bool ends_in_order(const Ins *);
Flight *new_flight(const Ins *, u64 exec);
void wait_for(Wave *, u32 vm, u32 lgkm);
void land_overlapping(Wave *);
void free_flights(Wave *);

// memory.c
void access_memory(Wave *, const Ins *);
void land(Wave *, Flight *);
void settle(Flight *, u32 dwords);
void take_bytes(Flight *, const u8 *from, const u8 *defined, u32 bytes, u32 first, int lane);

// atomics.c
typedef struct {
  u32 first, count;
} Part;
Part part_of_word(u64 address, u32 bytes);
void load_word(Wave *, Flight *, int lane);
void change_word(Wave *, Flight *, int lane);

// addresses.c
void require_defined(Wave *, u32 reg, u32 count, u64 lanes, const char *what);
void require_scalar(Wave *, u32 reg, u32 count, const char *what);
u64 lanes_defined(const Wave *, u32 reg, u32 count);
const Allocation *allocation_of(u64 address);  // NULL where there is none
i64 byte_of(const Allocation *, u64 address);
u8 *locate_lane(Wave *, u64 address, u32 bytes, bool write, int lane, u8 **defined);
void buffer_addresses(Wave *, const Ins *, Flight *, u8 *valid);
void addresses(Wave *, const Ins *, Flight *);
void find_host(Flight *, bool write);
u8 *place(Wave *, const Flight *, u32 bytes, bool write, int lane, u8 **defined);

// lds.c
void access_lds(Wave *, const Ins *);
void land_lds(Wave *, Flight *);
void start_dma(Wave *, Flight *);
void land_dma(Wave *, Flight *);
void touch_again(Group *);
void touch(Wave *, u32 at, u32 bytes, bool write, int lane);
