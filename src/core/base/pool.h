/* A pool of POSIX threads. It runs one loop at a time, cut into chunks.
 *
 * Results have the same bits for any number of threads, for three reasons. Each chunk writes to
 * memory of its own. The problem's size alone, never the number of threads, decides where a loop or
 * a sum is cut. The parts of a sum are added in the order of their chunks, whichever thread
 * computed them. The matrix product alone cuts by the number of threads; each element of its result
 * is one sum in a fixed order, computed by one thread (kernels/gemm.c). */
#pragma once

/* Sets the number of threads, at least 1, the caller included. No other thread may compute
 * meanwhile. The default is the number of processors. */
void pool_set_threads(int threads);
int pool_threads(void);

/* Runs body(context, i) for every i in [0, chunks), in any order, on all threads, and returns when
 * all are done. A call inside a body runs its chunks in order, on the calling thread. If a body
 * fails (error.h), the caller fails once the other bodies have ended. */
void pool_for(long chunks, void (*body)(void *context, long chunk), void *context);

/* The index of the running thread, below pool_threads(); 0 is the caller of pool_for. For scratch
 * memory only: a result must not depend on it. */
int pool_thread_index(void);
