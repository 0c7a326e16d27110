/* Keeps a student's code from everything but its own memory and time. Each measure is taken if the
 * system offers it to an ordinary user; src/tools/check/README.md lists what remains possible
 * without it. This is the one file besides base/system.c that knows systems and uses more than
 * POSIX. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A sanitizer keeps the address space to itself. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANDBOX_SANITIZED 1
#elif defined __has_feature
#define SANDBOX_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANDBOX_SANITIZED 0
#endif

/* Sanitizers start processes and read /proc, so nothing is confined under them; musl comes without
 * the kernel's headers. */
#if defined __has_include && !defined LEAST_SYSTEM && !SANDBOX_SANITIZED
#if __has_include(<linux/seccomp.h>) && __has_include(<linux/capability.h>)
#define SANDBOX_CONFINES 1
#endif
#endif

/* Keeps other processes of the same user from reading or changing the memory of this one and of its
 * children. */
void sandbox_protect(void);

/* A confined process needs these besides its folder and the system's libraries; lists end with
 * NULL. */
typedef struct SandboxNeeds {
    /* Files and folders that it reads when it becomes an interpreter; NULL: it becomes none. */
    const char *const *interpreter;
    const char *writable; /* a directory in which it may write; NULL: none */
    /* Programs of which a compiler consists; NULL: it is none. A compiler may start processes,
     * write in its folder, and read the system's headers and tools. */
    const char *const *programs;
    const char *headers; /* a folder that it may read; NULL: none */
} SandboxNeeds;

/* Confines this process before it loads a student's code or reads it as a compiler, for good.
 * Landlock leaves it its needs and the folder, which becomes the working directory. A filter of
 * system calls keeps it from other processes, from terminals and from the network; where there is
 * no Landlock, from writing files too. A superuser becomes a user who owns nothing but the folder.
 */
void sandbox_enter(const char *folder, const SandboxNeeds *needs);

/* The last step of it (sandbox_calls.c): refuses system calls, except execve and those that change
 * files if they are allowed. */
void sandbox_refuse_calls(bool may_execute, bool may_write);

/* Names all that this system does not confine: "the files that the compiler reads, processes";
 * NULL: it confines all. Children that enter the folder try it. */
const char *sandbox_gap(const char *folder);

/* ---- Functions of Linux beyond POSIX, for the processes and libraries of students' code ---- */

/* The path of the running program; false with "" if unknown. */
bool system_program(char *path, size_t size);

/* Whether programs in a directory may be run and loaded: a file system may be mounted noexec. */
bool system_runs_code(const char *folder);

/* Asks the kernel for this signal when the parent ends; sends it now if that has ended. */
void system_end_with_parent(pid_t parent, int signal_number);

/* Whether a child has ended, how, and after how many seconds of processor time. */
bool system_ended(pid_t child, int *status, double *seconds);

/* Lowers a limit of this process (RLIMIT_…), and for good to `most`. */
void system_lower_limit(int resource, double value, double most);
