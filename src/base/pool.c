/* The thread pool: one job at a time, entered through a gate.
 *
 * The gate is one atomic word: the job's number, whether it is open, and how many workers are inside. The
 * caller fills in the job, opens the gate and works too. A worker enters an open gate by raising the
 * count. When no chunk is left, the caller closes the gate and waits for the workers inside. A worker that
 * wakes later finds the gate closed and delays nobody.
 *
 * Each thread has an equal, contiguous share of the chunks, so that loops over the same data use the same
 * caches. A thread that has finished its share takes chunks of the others.
 *
 * A waiting thread spins for a short time and then sleeps; with more threads than processors it sleeps at
 * once. */
#include "base/pool.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/group_limit.h"
#include "base/system.h"
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 256 };
#define SPIN_SECONDS 50e-6

/* The parts of the gate. The low half counts the workers inside. */
#define GATE_JOB  ((uint64_t)1 << 34)
#define GATE_OPEN ((uint64_t)1 << 33)
#define GATE_STOP ((uint64_t)1 << 32)
#define GATE_IN   ((uint64_t)UINT32_MAX)

typedef struct Share {
    _Alignas(64) atomic_long next;
    long end;
} Share;

static struct {
    atomic_int threads; /* 0: not set yet; atomic, because another caller may be starting workers */
    int workers;        /* running now: at most threads - 1 */
    bool spins;         /* every thread has a processor of its own */
    bool registered;    /* with atfork and atexit */
    pthread_t worker[MAX_THREADS];

    void (*body)(void *context, long chunk);
    void *context;
    int shares;
    Share share[MAX_THREADS];
    Error failure; /* the first fatal failure of a body */

    _Atomic uint64_t gate;
    atomic_int sleepers;      /* workers asleep, or about to be */
    atomic_bool caller_waits; /* the caller sleeps, or is about to */
    pthread_mutex_t mutex;    /* for the two conditions */
    pthread_cond_t opened, left;
    pthread_mutex_t caller; /* held during a job: a second caller waits */
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .opened = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER,
          .caller = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int thread_index;
static _Thread_local bool in_body;

/* The machine's processors, or the limit of a container, rounded up. */
static int processors(void) {
    double groups = ceil(processors_of_groups("/proc/self/cgroup", "/sys/fs/cgroup"));
    return (int)fmin(fmin(system_processors(), groups), MAX_THREADS);
}

static inline void pause_briefly(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Spins until holds(seen) or the time is over; returns whether it holds. */
static bool spin_until(bool (*holds)(uint64_t seen), uint64_t seen) {
    if (holds(seen)) return true;
    if (!pool.spins) return false;
    double end = clock_seconds() + SPIN_SECONDS;
    do
        for (int i = 0; i < 64; i++) {
            if (holds(seen)) return true;
            pause_briefly();
        }
    while (clock_seconds() < end);
    return false;
}

static bool job_waits(uint64_t seen) {
    uint64_t gate = atomic_load(&pool.gate);
    return gate & GATE_STOP || (gate & GATE_OPEN && gate / GATE_JOB != seen);
}

static bool all_left(uint64_t seen) {
    (void)seen;
    return (atomic_load(&pool.gate) & GATE_IN) == 0;
}

/* Runs the chunks of this thread's share, then those left of the others'. */
static void run_shares(void) {
    for (int i = 0; i < pool.shares; i++) {
        Share *share = &pool.share[(thread_index + i) % pool.shares];
        for (;;) {
            if (atomic_load_explicit(&share->next, memory_order_relaxed) >= share->end) break;
            long chunk = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
            if (chunk >= share->end) break;
            pool.body(pool.context, chunk);
        }
    }
}

/* A thread whose body fails runs no further chunk. The others do; then the caller of pool_for fails in its
 * place. */
static void record_failure(void *end, Status status, const char *text) {
    pthread_mutex_lock(&pool.mutex);
    error_set(&pool.failure, status, "%s", text);
    pthread_mutex_unlock(&pool.mutex);
    longjmp(*(jmp_buf *)end, 1);
}

static void run_chunks(void) {
    jmp_buf end;
    FatalHandler before = error_on_fatal((FatalHandler){record_failure, &end});
    if (setjmp(end) == 0) run_shares();
    error_on_fatal(before);
}

/* Waits for a job other than the one seen last, and enters it. False: the pool stops. A worker that wakes
 * too late for a job spins again before it sleeps: a processor may take longer to wake than a job takes,
 * and would miss all of them. */
static bool enter(uint64_t *seen) {
    for (;;) {
        if (!spin_until(job_waits, *seen)) {
            pthread_mutex_lock(&pool.mutex);
            atomic_fetch_add(&pool.sleepers, 1);
            if (!job_waits(*seen)) pthread_cond_wait(&pool.opened, &pool.mutex);
            atomic_fetch_sub(&pool.sleepers, 1);
            pthread_mutex_unlock(&pool.mutex);
        }
        uint64_t gate = atomic_load(&pool.gate);
        if (gate & GATE_STOP) return false;
        while (gate & GATE_OPEN && gate / GATE_JOB != *seen)
            if (atomic_compare_exchange_weak(&pool.gate, &gate, gate + 1)) {
                *seen = gate / GATE_JOB;
                return true;
            }
    }
}

static void leave(void) {
    uint64_t gate = atomic_fetch_sub(&pool.gate, 1) - 1;
    if (gate & (GATE_OPEN | GATE_IN) || !atomic_load(&pool.caller_waits)) return;
    pthread_mutex_lock(&pool.mutex);
    pthread_cond_signal(&pool.left);
    pthread_mutex_unlock(&pool.mutex);
}

static void *work(void *index) {
    thread_index = (int)(intptr_t)index;
    in_body = true;
    for (uint64_t seen = 0; enter(&seen); leave()) run_chunks();
    return NULL;
}

static void wake_workers(void) {
    if (atomic_load(&pool.sleepers) == 0) return;
    pthread_mutex_lock(&pool.mutex);
    pthread_cond_broadcast(&pool.opened);
    pthread_mutex_unlock(&pool.mutex);
}

static void stop_workers(void) {
    atomic_fetch_or(&pool.gate, GATE_STOP);
    wake_workers();
    for (int i = 0; i < pool.workers; i++) pthread_join(pool.worker[i], NULL);
    pool.workers = 0;
    atomic_store(&pool.gate, 0);
}

/* exit() may be called from inside a body, where the workers cannot be waited for. */
static void stop_at_exit(void) {
    if (in_body || pthread_mutex_trylock(&pool.caller) != 0) return;
    stop_workers();
    pthread_mutex_unlock(&pool.caller);
}

/* A child process has only the thread that forked: its pool starts anew. */
static void forget_workers(void) {
    thread_index = 0, in_body = false;
    pool.workers = 0;
    atomic_store(&pool.gate, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.caller_waits, false);
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_mutex_init(&pool.caller, NULL);
    pthread_cond_init(&pool.opened, NULL);
    pthread_cond_init(&pool.left, NULL);
}

/* If the system refuses a thread, the pool works with fewer. Workers block all signals, so that the
 * program's handlers run on its own threads. */
static void start_workers(void) {
    if (!pool.registered) pthread_atfork(NULL, NULL, forget_workers), atexit(stop_at_exit);
    pool.registered = true;
    pool.spins = pool.threads <= processors();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.workers < pool.threads - 1) {
        void *index = (void *)(intptr_t)(pool.workers + 1);
        if (pthread_create(&pool.worker[pool.workers], NULL, work, index) != 0) break;
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pool.threads = pool.workers + 1;
}

static void run_job(long chunks, void (*body)(void *context, long chunk), void *context) {
    pool.body = body;
    pool.context = context;
    pool.shares = pool.threads;
    for (int t = 0; t < pool.shares; t++) {
        atomic_store_explicit(&pool.share[t].next,
                              chunks / pool.shares * t + chunks % pool.shares * t / pool.shares,
                              memory_order_relaxed);
        pool.share[t].end = chunks / pool.shares * (t + 1) + chunks % pool.shares * (t + 1) / pool.shares;
    }
    atomic_fetch_add(&pool.gate, GATE_JOB + GATE_OPEN);
    wake_workers();
    run_chunks();
    atomic_fetch_sub(&pool.gate, GATE_OPEN);
    if (spin_until(all_left, 0)) return;
    pthread_mutex_lock(&pool.mutex);
    atomic_store(&pool.caller_waits, true);
    while (!all_left(0)) pthread_cond_wait(&pool.left, &pool.mutex);
    atomic_store(&pool.caller_waits, false);
    pthread_mutex_unlock(&pool.mutex);
}

void pool_set_threads(int threads) {
    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    pthread_mutex_lock(&pool.caller);
    if (threads != pool.threads) stop_workers();
    pool.threads = threads;
    pthread_mutex_unlock(&pool.caller);
}

int pool_threads(void) {
    if (pool.threads == 0) pool_set_threads(processors());
    return pool.threads;
}

void pool_for(long chunks, void (*body)(void *context, long chunk), void *context) {
    if (in_body || chunks <= 1 || pool_threads() == 1) {
        for (long i = 0; i < chunks; i++) body(context, i);
        return;
    }
    pthread_mutex_lock(&pool.caller);
    if (pool.workers < pool.threads - 1) start_workers();
    in_body = true;
    run_job(chunks, body, context);
    in_body = false;
    bool failed = pool.failure.status != STATUS_DONE;
    Error failure;
    if (failed) failure = pool.failure, pool.failure.status = STATUS_DONE;
    pthread_mutex_unlock(&pool.caller);
    if (failed) error_fatal(failure.status, failure.text);
}

int pool_thread_index(void) {
    return thread_index;
}
