/* What every system does in its own way, each with what is left where a system has nothing. All other
 * files keep to POSIX.1-2017, which tests/programs/installed.sh checks by the symbols of the library. */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Processors that this process may run on, at least 1. */
int system_processors(void);

/* Bytes of memory of the machine; INFINITY where it is not known. */
double system_memory(void);

/* Bytes of memory that the process holds now, and the most that it has held; 0 where it is not known. */
size_t system_resident(void);
size_t system_peak(void);

/* Bytes of a core's own data cache of level 1 or 2, as the system says; 0 or less where it says nothing. */
long system_cache(int level);

/* getrlimit and setrlimit for a process's memory: its addresses, or its data where those have no limit. */
struct rlimit;
bool system_memory_limit(struct rlimit *limit);
void system_limit_memory(const struct rlimit *limit);

/* The path of the running program; false, with the empty string, where it is not known. */
bool system_program(char *path, size_t size);

/* Zeroed memory for munmap, taken from the machine when it is touched; shared with children born later, or
 * not. NULL: not to be had. */
void *system_pages(size_t bytes, bool shared);

/* Whether what lies below a folder may be run and loaded, as far as is known: a file system may be mounted
 * without. */
bool system_runs_code(const char *folder);

/* Asks for large pages; only speed depends on it. */
void system_large_pages(void *pages, size_t bytes);

/* Has the kernel kill this process when the one that bore it ends, where it can. */
void system_end_with_parent(void);

/* Closes what is open of these files: from one up to another. */
void system_close(int from, int to);

/* Locks an open file for this process alone, until it is closed; false with EWOULDBLOCK where another has
 * it. */
bool system_lock(int fd);

/* Has the disk keep room for the first bytes of an open file. 0, or the error's number, which also says
 * that the system cannot do it. */
int system_reserve(int fd, off_t size);

/* Puts an open file on disk; false with errno. */
bool system_sync(int fd);

/* Columns of the terminal; 0 where there is none. */
int system_columns(int fd);

/* getopt_long, which takes the arguments apart, and what makes it start anew. */
int system_option(int argc, char **argv, const char *letters, const struct option *options);
void system_start_options(void);

/* Has the thread, or the process where threads have none of their own, write characters and numbers as in
 * the locale of that name: "C" has plain ones, "" is the user's. Returns what gives back the one before,
 * once; NULL: there is no such locale. */
void *system_locale(const char *name);
void system_locale_back(void *before);

/* What a compiler is asked, besides -shared, to make what this program loads; up to a NULL. What is loaded
 * calls the program, its mallocs become the program's __wrap_malloc where linkers can do that, and of a
 * function that both have it uses its own, or the program's if `open`. */
const char *const *system_loadable(bool open);

#endif
