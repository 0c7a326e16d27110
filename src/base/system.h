/* What every system does in its own way, each with what is left where a system has nothing. All other files keep to
 * POSIX.1-2017, which tests/installed.sh checks by the symbols of the library. */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

struct option;

/* Processors that this process may run on, at least 1. */
int system_processors(void);

/* Bytes of memory of the machine; INFINITY where it is not known. */
double system_memory(void);

/* Bytes of memory that the process holds now; 0 where it is not known. */
size_t system_resident(void);

/* The path of the running program; false, with the empty string, where it is not known. */
bool system_program(char *path, size_t size);

/* Zeroed memory for munmap, taken from the machine when it is touched; shared with children born later, or not. NULL:
 * not to be had. */
void *system_pages(size_t bytes, bool shared);

/* Asks for large pages; only speed depends on it. */
void system_large_pages(void *pages, size_t bytes);

/* Has the kernel kill this process when the one that bore it ends, where it can. */
void system_end_with_parent(void);

/* Locks an open file for this process alone, until it is closed; false with EWOULDBLOCK where another has it. */
bool system_lock(int fd);

/* Columns of the terminal; 0 where there is none. */
int system_columns(int fd);

/* getopt_long, which takes the arguments apart, and what makes it start anew. */
int system_option(int argc, char **argv, const char *letters, const struct option *options);
void system_start_options(void);

#endif
