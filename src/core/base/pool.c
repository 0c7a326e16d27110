/* The thread pool runs one job at a time.
 *
 * The caller fills in the job, opens it and works too. A worker enters an open job. When no chunk
 * is left, the caller closes the job and waits for the workers inside. A worker that wakes later
 * finds the job closed and delays nobody.
 *
 * Each thread has an equal, contiguous share of the chunks, so that loops over the same data use
 * the same caches. A thread that has finished its share takes chunks of the others.
 *
 * A waiting thread spins for a short time and then sleeps; with more threads than processors it
 * sleeps at once. */
#include "base/pool.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/system.h"
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
    Share share[MAX_THREADS];
    Error failure; /* the first fatal failure of a body */

    pthread_mutex_t mutex; /* held to change what follows */
    pthread_cond_t posted, left;
    atomic_long job;        /* number of the newest job */
    atomic_long inside;     /* workers in it */
    bool open, stop;        /* workers may enter it; they end */
    pthread_mutex_t caller; /* held during a job: a second caller waits */
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .posted = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER,
          .caller = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int thread_index;
static _Thread_local bool in_body;

static inline void pause_briefly(void) {
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Threads hold the mutex for a moment only, so this spins before it sleeps. */
static void lock(void) {
    for (int i = 0; i < 100; i++) {
        if (pthread_mutex_trylock(&pool.mutex) == 0) return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool.mutex);
}

/* Waits until *number is not `seen`. Spins without the mutex, and sleeps until `changed`. */
static void wait_for_change(const atomic_long *number, long seen, pthread_cond_t *changed) {
    if (pool.spins) {
        pthread_mutex_unlock(&pool.mutex);
        double end = clock_seconds() + SPIN_SECONDS;
        int pauses = 0; /* the clock is read after every 64 */
        while (*number == seen && (++pauses % 64 != 0 || clock_seconds() < end)) pause_briefly();
        lock();
    }
    if (*number == seen) pthread_cond_wait(changed, &pool.mutex);
}

/* Runs the chunks that are left of a share. The load spares the other threads a write to the
 * counter of a finished share. */
static void run_share(Share *share) {
    while (atomic_load_explicit(&share->next, memory_order_relaxed) < share->end) {
        long chunk = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
        if (chunk >= share->end) return;
        pool.body(pool.context, chunk);
    }
}

/* Begins with this thread's own share. */
static void run_shares(void) {
    int shares = pool.threads;
    for (int i = 0; i < shares; i++) run_share(&pool.share[(thread_index + i) % shares]);
}

/* A thread whose body fails runs no further chunk. The others do; then the caller of pool_for fails
 * in its place. */
static void record_failure(void *end, Status status, const char *text) {
    lock();
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

/* A worker that wakes too late for a job spins again before it sleeps: a processor may take longer
 * to wake than a job takes, and would miss all of them. */
static void *work(void *index) {
    thread_index = (int)(intptr_t)index;
    in_body = true;
    lock();
    for (long seen = 0; !pool.stop;) {
        if (pool.job == seen) wait_for_change(&pool.job, seen, &pool.posted);
        bool enters = pool.job != seen && pool.open;
        seen = pool.job;
        if (!enters) continue;
        pool.inside++;
        pthread_mutex_unlock(&pool.mutex);
        run_chunks();
        lock();
        if (--pool.inside == 0) pthread_cond_signal(&pool.left);
    }
    pthread_mutex_unlock(&pool.mutex);
    return NULL;
}

/* Gives the workers a job, or the order to stop. */
static void post(bool stop) {
    lock();
    pool.job++;
    pool.open = !stop;
    pool.stop = stop;
    pthread_mutex_unlock(&pool.mutex);
    pthread_cond_broadcast(&pool.posted);
}

static void stop_workers(void) {
    post(true);
    for (int i = 0; i < pool.workers; i++) pthread_join(pool.worker[i], NULL);
    pool.workers = 0;
}

/* exit() may be called from inside a body, where the workers cannot be waited for. */
static void stop_at_exit(void) {
    if (in_body || pthread_mutex_trylock(&pool.caller) != 0) return;
    stop_workers();
    pthread_mutex_unlock(&pool.caller);
}

/* A child process has only the thread that forked: its pool starts anew. */
static void forget_workers(void) {
    thread_index = 0;
    in_body = false;
    pool.workers = 0;
    pool.inside = 0;
    pool.open = false;
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_mutex_init(&pool.caller, NULL);
    pthread_cond_init(&pool.posted, NULL);
    pthread_cond_init(&pool.left, NULL);
}

/* If the system refuses a thread, the pool works with fewer. Workers block all signals, so that the
 * program's handlers run on its own threads. */
static void start_workers(void) {
    if (!pool.registered) {
        pthread_atfork(NULL, NULL, forget_workers);
        atexit(stop_at_exit);
    }
    pool.registered = true;
    pool.spins = pool.threads <= system_processors();
    pool.stop = false;
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
    int shares = pool.threads;
    for (int t = 0; t < shares; t++) {
        pool.share[t].next = chunks * t / shares;
        pool.share[t].end = chunks * (t + 1) / shares;
    }
    post(false);
    run_chunks();
    lock();
    pool.open = false;
    while (pool.inside) wait_for_change(&pool.inside, pool.inside, &pool.left);
    pthread_mutex_unlock(&pool.mutex);
}

void pool_set_threads(int threads) {
    if (threads < 1) threads = 1;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    pthread_mutex_lock(&pool.caller);
    if (threads != pool.threads) stop_workers();
    pool.threads = threads;
    pthread_mutex_unlock(&pool.caller);
}

int pool_threads(void) {
    if (pool.threads == 0) pool_set_threads(system_processors());
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
    if (failed) {
        failure = pool.failure;
        pool.failure.status = STATUS_DONE;
    }
    pthread_mutex_unlock(&pool.caller);
    if (failed) error_fatal(failure.status, "%s", failure.text);
}

int pool_thread_index(void) {
    return thread_index;
}
