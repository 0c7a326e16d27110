/* The thread pool runs every chunk once, whatever the threads; nesting, forking and exiting are
 * safe. */
#include "base/pool.h"
#include "test.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { CHUNKS = 1000 };
static atomic_int runs[CHUNKS];

static void count_run(void *context, long chunk) {
    (void)context;
    atomic_fetch_add(&runs[chunk], 1);
}

static void check_runs(long chunks, int times) {
    for (long i = 0; i < CHUNKS; i++) {
        int want = i < chunks ? times : 0, found = atomic_exchange(&runs[i], 0);
        CHECK(found == want, "%ld chunks, %d threads: chunk %ld ran %d times", chunks,
              pool_threads(), i, found);
    }
}

TEST(every_chunk_runs_once) {
    for (int threads = 1; threads <= 9; threads++) {
        pool_set_threads(threads);
        for (long chunks = 0; chunks <= 20; chunks++) {
            pool_for(chunks, count_run, NULL);
            check_runs(chunks, 1);
        }
        pool_for(CHUNKS, count_run, NULL);
        check_runs(CHUNKS, 1);
    }
}

/* Workers that wake too late for one job must not touch it, nor miss the next. */
TEST(many_small_jobs_in_a_row) {
    enum { JOBS = 20000 };
    for (int threads = 2; threads <= 8; threads *= 2) {
        pool_set_threads(threads);
        for (int job = 0; job < JOBS; job++) pool_for(3, count_run, NULL);
        check_runs(3, JOBS);
    }
}

static void wait_for_both(void *context, long chunk) {
    atomic_int *arrived = context;
    (void)chunk;
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < 2) sched_yield();
}

/* Ends only if two threads are inside the loop at once. */
TEST(chunks_run_at_the_same_time) {
    pool_set_threads(2);
    for (int pause = 0; pause < 3; pause++) {
        atomic_int arrived = 0;
        pool_for(2, wait_for_both, &arrived);
        usleep(10000); /* long enough for the worker to fall asleep */
    }
}

static void nest(void *context, long chunk) {
    long *order = context;
    int index = pool_thread_index();
    order[chunk] = 0;
    for (int depth = 0; depth < 2; depth++) pool_for(10, count_run, NULL);
    order[chunk] = index == pool_thread_index();
}

TEST(a_nested_loop_runs_on_its_own_thread) {
    pool_set_threads(4);
    long same[50];
    pool_for(50, nest, same);
    for (int i = 0; i < 50; i++) CHECK(same[i] == 1, "chunk %d changed its thread", i);
    check_runs(10, 100);
}

TEST(a_child_process_has_a_working_pool) {
#ifdef __SANITIZE_THREAD__
    return; /* which cannot follow threads of a process that threads have forked */
#endif
    pool_set_threads(2);
    /* The worker has begun before the first fork: what a thread locks of a sanitizer while it
     * begins would stay locked in a child. */
    atomic_int begun = 0;
    pool_for(2, wait_for_both, &begun);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            atomic_int arrived = 0;
            pool_for(2, wait_for_both, &arrived); /* so the child has a worker */
            pool_for(CHUNKS, count_run, NULL);
            check_runs(CHUNKS, 1);
            exit(test_failures ? 1 : 0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0, "the child's status is %d", status);
        pool_for(CHUNKS, count_run, NULL); /* and the parent still has its own */
        check_runs(CHUNKS, 1);
    }
}

static void leave_from_chunk(void *context, long chunk) {
    (void)context;
    if (chunk == 7) exit(3);
}

TEST(exit_inside_a_body_ends_the_process) {
    fflush(stdout);
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            pool_set_threads(4);
            for (;;) pool_for(8, leave_from_chunk, NULL);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "the child's status is %#x", status);
    }
}

static void *call_from_outside(void *context) {
    for (int i = 0; i < 500; i++) pool_for(CHUNKS, count_run, context);
    return NULL;
}

TEST(two_callers_take_turns) {
    pool_set_threads(3);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, call_from_outside, NULL) == 0, "no thread");
    call_from_outside(NULL);
    pthread_join(other, NULL);
    check_runs(CHUNKS, 1000);
}

TEST(silly_thread_counts_are_clamped) {
    CHECK(pool_threads() >= 1, "found %d", pool_threads());
    pool_set_threads(-5);
    CHECK(pool_threads() == 1, "found %d", pool_threads());
    pool_set_threads(1 << 30);
    CHECK(pool_threads() > 1, "found %d", pool_threads());
    pool_for(CHUNKS, count_run, NULL);
    check_runs(CHUNKS, 1);
}

RUN_TESTS
