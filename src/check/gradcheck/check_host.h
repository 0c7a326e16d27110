/* A case that runs in a process of its own: who judges it is not where the code is that is judged.
 *
 * The host runs the case's build, forward and backward and nothing else. Both processes see one piece of memory, which the
 * judge has made: there the host finds the inputs of the point that the judge has drawn, and there it leaves the output,
 * the gradients, and what it says about them. These are numbers, and all that the judge believes of them is that they are
 * what was computed; verdict, report and expectations are in memory of the judge's own. */
#ifndef GRADCHECK_CHECK_HOST_H
#define GRADCHECK_CHECK_HOST_H

#include "check/gradcheck/child.h"
#include "check/gradcheck/check_run.h"

/* Starts a host. `load` runs in it and returns the case; or ends the process, having said why. Where the host ends, `lost`
 * is called in the judge's process, and does not return. NULL: no memory or no process. */
CheckHost *check_host_start(const ChildLimits *limits, const CheckCase *(*load)(void *context),
                            void (*lost)(void *context, const ChildEnd *end, const CheckRun *r),
                            void *context);
void check_host_stop(CheckHost *h);

/* Where the blocks of the points have to lie. */
CheckMemory *check_host_memory(CheckHost *h);

/* For a run with a host. */
extern const CheckHostCalls check_host_calls;

#endif
