/* All that differs between systems, with a fallback for each. The other files use POSIX.1-2017 alone, which
 * tests/programs/installed.sh checks by the symbols of the library. */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Processors that this process may run on, at least 1. */
int system_processors(void);

/* Bytes of memory of the machine; INFINITY: unknown. */
double system_memory(void);

/* Bytes of memory that the process holds now, and at most so far; 0: unknown. */
size_t system_resident(void);
size_t system_peak(void);

/* Bytes of a core's data cache of level 1 or 2, as the system reports them; 0 or less: unknown. */
long system_cache(int level);

/* getrlimit and setrlimit for a process's memory: its address space, or its data if that has no limit. */
struct rlimit;
bool system_memory_limit(struct rlimit *limit);
void system_limit_memory(const struct rlimit *limit);

/* The path of the running program; false with "" if unknown. */
bool system_program(char *path, size_t size);

/* Zeroed memory, to be freed with munmap, which the machine provides on first touch; perhaps shared with
 * later children. NULL: no memory. */
void *system_pages(size_t bytes, bool shared);

/* Whether programs in a directory may be run and loaded, as far as is known: a file system may be mounted
 * noexec. */
bool system_runs_code(const char *folder);

/* Asks for large pages, for speed alone. */
void system_large_pages(void *pages, size_t bytes);

/* Asks the kernel to kill this process when its parent ends. */
void system_end_with_parent(void);

/* Closes the file descriptors in [from, to]. */
void system_close(int from, int to);

/* Locks an open file until it is closed; false with EWOULDBLOCK if another process has locked it. */
bool system_lock(int fd);

/* Reserves disk space for the first `size` bytes of an open file. Returns 0 or the error's number, also if
 * the system cannot reserve. */
int system_reserve(int fd, off_t size);

/* Syncs an open file to disk; false with errno. */
bool system_sync(int fd);

/* Columns of the terminal; 0: no terminal. */
int system_columns(int fd);

/* getopt_long, and the reset before another command line. */
int system_option(int argc, char **argv, const char *letters, const struct option *options);
void system_start_options(void);

/* Sets the locale for characters and numbers, of the thread if the system can, else of the process: "C",
 * or "" for the user's. Returns the previous one, for one system_locale_back; NULL: no such locale. */
void *system_locale(const char *name);
void system_locale_back(void *before);

/* The compiler's options, besides -shared, for a library that this program loads; ends with NULL. The
 * library calls functions of the program; its malloc is the program's __wrap_malloc if the linker can
 * wrap. If both define a function, the library uses its own, or the program's if `open`. */
const char *const *system_loadable(bool open);

#endif
