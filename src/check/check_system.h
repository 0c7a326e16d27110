/* Differences between systems for the processes and libraries of students' code, with a fallback for each. */
#ifndef CHECK_SYSTEM_H
#define CHECK_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

/* The path of the running program; false with "" if unknown. */
bool system_program(char *path, size_t size);

/* Whether programs in a directory may be run and loaded, as far as is known: a file system may be mounted
 * noexec. */
bool system_runs_code(const char *folder);

/* Asks the kernel to kill this process when its parent ends. */
void system_end_with_parent(void);

/* Closes the file descriptors in [from, to]. */
void system_close(int from, int to);

/* Lowers this process's limits of processor time, of memory and of a file that it writes, for good. 0 bytes: no limit. Under
 * a sanitizer, which needs terabytes, memory is not limited. */
void system_set_limits(double seconds, size_t memory, size_t file_bytes);

/* The compiler's options, besides -shared, for a library that this program loads; ends with NULL. The
 * library calls functions of the program; its malloc is the program's __wrap_malloc if the linker can
 * wrap. If both define a function, the library uses its own, or the program's if `open`. */
const char *const *system_loadable(bool open);

#endif
