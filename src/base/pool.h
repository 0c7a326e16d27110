/* A pool of POSIX threads that runs the chunks of one loop at a time.
 *
 * Each chunk writes memory of its own. The size of the problem alone decides where a sum is cut, and its parts are added in
 * order. So results have the same bits for any number of threads. The matrix product also counts the threads; there an
 * element of the result is one sum, whatever the blocks (kernels/gemm.c). */
#pragma once

/* Sets the number of threads, the caller included, at least 1. Not while another thread computes. The
 * default is one for each processor. */
void pool_set_threads(int threads);
int pool_threads(void);

/* Runs body(context, i) for every i in [0, chunks), in any order, on all threads, and returns when all are
 * done. Inside a body it runs the chunks in order on the calling thread. If a body fails (error.h), the
 * caller fails after the others. */
void pool_for(long chunks, void (*body)(void *context, long chunk), void *context);

/* The index of the running thread, below pool_threads(); 0 is the caller of pool_for. For scratch memory
 * only: a result must not depend on it. */
int pool_thread_index(void);
