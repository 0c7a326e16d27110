/* A pool of POSIX threads that runs the chunks of one loop at a time.
 *
 * The caller splits its work into chunks by the size of the problem alone, never by the number of threads,
 * and each chunk writes memory of its own: so results have the same bits for any number of threads. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

/* Threads that work from now on, the caller included; at least 1. Until the first call: one per online
 * processor. */
void pool_set_threads(int threads);
int pool_threads(void);

/* Runs body(context, i) for every i in [0, chunks), in any order, on all threads, and returns when all are
 * done. Called from inside a body it runs the chunks one after another on the calling thread. */
void pool_for(long chunks, void (*body)(void *context, long chunk), void *context);

/* Which of the pool's threads is running: 0 is the caller of pool_for. For per-thread scratch memory
 * only: a result must not depend on it. */
int pool_thread_index(void);

#endif
