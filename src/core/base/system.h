/* Features of Linux. All other files use only POSIX.1-2017, which
 * tests/programs/installed.sh checks by the symbols of the library; except
 * check/sandbox.c, for students' code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Processors that this process may run on, at least 1; a container's limit is rounded up. */
int system_processors(void);

/* Bytes of memory of the machine; INFINITY: unknown. */
double system_memory(void);

/* Returns a container's limit: of memory, in bytes, if `name` is "memory.max"; of processors if it
 * is "cpu.max". It is the lowest limit of the process's control group (version 2) and its parents;
 * INFINITY: there is none. The file `groups`, /proc/self/cgroup, has a line `0::PATH`, which names
 * the group in the tree `root`, /sys/fs/cgroup. */
double system_group_limit(const char *name, const char *groups, const char *root);

/* The bytes of memory that the process has for itself now, without files that are mapped; the
 * maximum of all its memory so far. 0: unknown. */
size_t system_resident(void);
size_t system_peak(void);

/* Zeroed memory, to be freed with munmap, which the machine provides on first touch, in large pages
 * if it can. NULL: no memory. */
void *system_pages(size_t bytes);

/* Locks an open file until it is closed; false with EWOULDBLOCK if another process has locked it.
 */
bool system_lock(int fd);

/* Reserves disk space for the first `size` bytes of an open file. Returns 0 or the error's number,
 * also if the system cannot reserve. */
int system_reserve(int fd, off_t size);

/* Columns of the terminal; 0: no terminal. */
int system_columns(int fd);
