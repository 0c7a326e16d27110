/* A pool of POSIX threads. It runs one loop at a time, cut into chunks.
 *
 * Results have the same bits for any number of threads. Each chunk writes to memory of its own. A
 * sum is cut into parts by its length alone, and the parts are added in their order, whichever
 * thread computed them. Only the matrix product chooses its chunks by the number of threads: a
 * chunk is a set of elements, and one thread computes each element as one sum in a fixed order
 * (kernels/gemm.c). */
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
