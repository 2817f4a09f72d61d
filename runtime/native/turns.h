/* The turns of a kernel, by threads that take a range each until none is left. */

#ifndef DSLC_TURNS_H
#define DSLC_TURNS_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t (*Kernel)(const uint64_t *args, int64_t begin, int64_t end, void *scratch);

enum { NO_MEMORY = -1 };

/* Turns 0 to turns - 1 on at most so many threads, the caller's among them: 0, the result of the first turn
   whose result is another, or NO_MEMORY. Each thread has `scratch` bytes. */
int32_t run_turns(Kernel kernel, const uint64_t *args, int64_t turns, int threads, size_t scratch);

#endif
