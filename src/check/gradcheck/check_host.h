/* A case that runs in a process of its own, apart from its judge.
 *
 * The host runs the case's build, forward and backward and nothing else. The two processes share memory that
 * the judge allocates. The judge writes the inputs of the point there. The host writes the output and the
 * gradients. The judge checks all sizes that it reads, and keeps verdict, report and expected values in
 * memory of its own. */
#ifndef GRADCHECK_CHECK_HOST_H
#define GRADCHECK_CHECK_HOST_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/child.h"

/* Starts a host. There `load` returns the case, or prints an error and ends the process. If the host ends, the judge calls
 * `lost`, which does not return. NULL: no memory or no process. */
CheckHost *check_host_start(const ChildLimits *limits, const CheckCase *(*load)(void *context),
                            void (*lost)(void *context, const ChildEnd *end, const CheckRun *r),
                            void *context);
void check_host_stop(CheckHost *h);

/* The shared memory for the blocks of points. */
CheckMemory *check_host_memory(CheckHost *h);

#endif
