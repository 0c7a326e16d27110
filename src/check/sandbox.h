/* Keeps a student's code from everything but its own memory and time. Each measure is taken if the system
 * offers it to an ordinary user; src/check/README.md lists what remains possible without it. This is
 * the one file besides base/system.c that knows systems. */
#ifndef CHECK_SANDBOX_H
#define CHECK_SANDBOX_H

#include <stdbool.h>

/* Keeps other processes of the same user from reading or changing the memory of this one and of its
 * children. */
void sandbox_protect(void);

/* A confined process needs these besides its folder and the system's libraries; lists end with NULL. */
typedef struct SandboxNeeds {
    /* The process may read these when it becomes an interpreter; NULL: it becomes none. */
    const char *const *interpreter;
    /* Programs of which a compiler consists; NULL: it is none. A compiler may start processes, write in its folder, and read
     * the system's headers and tools. */
    const char *const *programs;
    const char *headers; /* a folder that it may read; NULL: none */
} SandboxNeeds;

/* Confines this process before it loads a student's code or reads it as a compiler, for good. Afterwards it reads only its
 * needs and the folder, which becomes the working directory; it writes no file, and creates and signals no process. A
 * superuser becomes a user who owns nothing but the folder. */
void sandbox_enter(const char *folder, const SandboxNeeds *needs);

/* Names all that this system does not confine: "the files that the compiler reads, processes"; NULL: it confines all.
 * Children that enter the folder try it. */
const char *sandbox_gap(const char *folder);

#endif
