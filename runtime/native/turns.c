/* The turns of a kernel over threads (turns.h): pool.py says the same in Python.

   Threads take ranges from a counter, large ones first, so that a core that is slow, or was taken away, costs
   no more than its last range. They sleep between jobs, and never spin: other pools of the process may want
   their cores. A job begins at once on the caller's thread, and nobody waits for a thread that has not woken
   by the time the turns are taken. While one caller has the threads, others run their turns alone. */

#include "turns.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
typedef unsigned Modes;
static Modes modes(void) { return _mm_getcsr(); }
static void set_modes(Modes wanted) { _mm_setcsr(wanted); }
#elif defined(__aarch64__)
typedef uint64_t Modes;
static Modes modes(void)
{
    Modes found;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    return found;
}
static void set_modes(Modes wanted) { __asm__ volatile("msr fpcr, %0" : : "r"(wanted)); }
#else
typedef int Modes;
static Modes modes(void) { return 0; }
static void set_modes(Modes wanted) { (void)wanted; }
#endif

enum { ALIGN = 64, PARTS = 2 };

typedef struct {
    Kernel kernel;
    const uint64_t *args;
    int64_t turns;
    int threads;
    size_t scratch;
    Modes modes; /* how the caller rounds, and whether it flushes denormals */
    _Atomic int64_t next;
    pthread_mutex_t lock; /* of what follows */
    int64_t failed_at;
    int32_t failed;
} Job;

/* `lock` guards all but `owner`, which is held by the caller whose job the threads have. */
static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static Job *current;
static int started, wanted, active;

typedef struct {
    void *memory;
    size_t size;
} Scratch;

static _Thread_local Scratch own;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *scratch_of(size_t size)
{
    if (own.size < size) {
        size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
        free(own.memory);
        own.memory = aligned_alloc(ALIGN, rounded);
        own.size = own.memory == NULL ? 0 : rounded;
        pthread_setspecific(ending, own.memory); /* freed with its thread */
    }
    return own.memory;
}

static void fail(Job *job, int64_t at, int32_t result)
{
    pthread_mutex_lock(&job->lock);
    if (job->failed == 0 || at < job->failed_at) {
        job->failed_at = at;
        job->failed = result;
    }
    pthread_mutex_unlock(&job->lock);
    atomic_store(&job->next, job->turns); /* those before are taken: the first that fails is among them */
}

static void take(Job *job)
{
    void *scratch = job->scratch ? scratch_of(job->scratch) : NULL;
    if (job->scratch && scratch == NULL) {
        fail(job, -1, NO_MEMORY);
        return;
    }
    for (;;) {
        int64_t begin = atomic_load(&job->next), size;
        do {
            int64_t left = job->turns - begin;
            if (left <= 0)
                return;
            size = job->threads == 1 ? left : left / (PARTS * job->threads);
            size = size ? size : 1;
        } while (!atomic_compare_exchange_weak(&job->next, &begin, begin + size));
        int32_t result = job->kernel(job->args, begin, begin + size, scratch);
        if (result)
            fail(job, begin, result);
    }
}

static void *serve(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (current == NULL || wanted == 0)
            pthread_cond_wait(&work, &lock);
        Job *job = current;
        wanted--;
        active++;
        pthread_mutex_unlock(&lock);
        set_modes(job->modes);
        take(job);
        pthread_mutex_lock(&lock);
        if (--active == 0)
            pthread_cond_signal(&done);
    }
    return NULL;
}

/* A fork has the thread that called it alone; others begin when they are needed. */
static void after_fork(void)
{
    pthread_mutex_init(&owner, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&work, NULL);
    pthread_cond_init(&done, NULL);
    current = NULL;
    started = wanted = active = 0;
}

static void prepare(void)
{
    pthread_key_create(&ending, free);
    pthread_atfork(NULL, NULL, after_fork);
}

/* Signals go to threads that know of them. Where no thread can be made there are fewer. */
static void start(int many)
{
    sigset_t all, before;
    pthread_t made;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < many && pthread_create(&made, NULL, serve, NULL) == 0) {
        pthread_detach(made);
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void share(Job *job)
{
    pthread_mutex_lock(&lock);
    if (started < job->threads - 1)
        start(job->threads - 1);
    current = job;
    wanted = job->threads - 1;
    for (int i = 0; i < wanted; i++)
        pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
    take(job);
    pthread_mutex_lock(&lock);
    current = NULL;
    while (active)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&owner);
}

int32_t run_turns(Kernel kernel, const uint64_t *args, int64_t turns, int threads, size_t scratch)
{
    pthread_once(&once, prepare);
    if (threads > turns)
        threads = (int)turns;
    if (threads > 1 && pthread_mutex_trylock(&owner) != 0)
        threads = 1;
    Job job = {.kernel = kernel, .args = args, .turns = turns, .threads = threads, .scratch = scratch,
               .modes = modes(), .lock = PTHREAD_MUTEX_INITIALIZER};
    if (threads > 1)
        share(&job);
    else
        take(&job);
    return job.failed;
}
