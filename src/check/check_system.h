/* Functions of Linux beyond POSIX, for the processes and libraries of students' code. */
#ifndef CHECK_SYSTEM_H
#define CHECK_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

/* The path of the running program; false with "" if unknown. */
bool system_program(char *path, size_t size);

/* Whether programs in a directory may be run and loaded: a file system may be mounted noexec. */
bool system_runs_code(const char *folder);

/* Asks the kernel to kill this process when its parent ends. */
void system_end_with_parent(void);

/* Whether a child has ended, how, and after how many seconds of processor time. */
bool system_ended(pid_t child, int *status, double *seconds);

/* Lowers a limit of this process (RLIMIT_…), and for good to `most`. */
void system_lower_limit(int resource, double value, double most);

#endif
