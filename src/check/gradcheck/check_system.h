/* Differences between systems for the processes and libraries of students' code, with a fallback for each. */
#ifndef CHECK_SYSTEM_H
#define CHECK_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

/* The resource of setrlimit that is a process's memory: its address space, or its data if that has no limit. */
#if defined RLIMIT_AS && !defined LEAST_SYSTEM
#define SYSTEM_MEMORY RLIMIT_AS
#else
#define SYSTEM_MEMORY RLIMIT_DATA
#endif

/* The path of the running program; false with "" if unknown. */
bool system_program(char *path, size_t size);

/* Whether programs in a directory may be run and loaded, as far as is known: a file system may be mounted
 * noexec. */
bool system_runs_code(const char *folder);

/* Asks the kernel to kill this process when its parent ends. */
void system_end_with_parent(void);

/* Closes the file descriptors in [from, to]. */
void system_close(int from, int to);

/* The compiler's options, besides -shared, for a library that this program loads; ends with NULL. The
 * library calls functions of the program; its malloc is the program's __wrap_malloc if the linker can
 * wrap. If both define a function, the library uses its own, or the program's if `open`. */
const char *const *system_loadable(bool open);

#endif
