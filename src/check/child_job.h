/* The child's side of child.h, for child.c. */
#pragma once

#include "check/child.h"
#include <sys/types.h>

/* The last byte that a job sends if it returns. */
#define CHILD_END 'E'

/* Pipes: to the parent what it sends and what it prints, and from the parent what it is told. */
enum { RESULT, PRINTED, REQUEST, PIPES };

/* In a new process: runs the job. */
_Noreturn void child_live(long i, const ChildLimits *limits, int pipe[PIPES][2], pid_t parent,
                          void (*job)(void *context, long i), void *context);

/* The directory of a job's own. */
enum { CHILD_PATH = 4096 + 32 };
const char *child_directory_of(const ChildLimits *limits, pid_t pid, char path[CHILD_PATH]);

/* Processor time after which the system ends a job. */
double child_seconds(const ChildLimits *l);
