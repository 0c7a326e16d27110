/* Keeps a student's code from everything but its own memory and time. Each measure is taken if the system
 * offers it to an ordinary user; src/check/README.md lists what remains possible without it. This is
 * the one file besides base/system.c that knows systems. */
#ifndef CHECK_SANDBOX_H
#define CHECK_SANDBOX_H

#include <stdbool.h>

/* Keeps other processes of the same user from reading or changing the memory of this one and of its
 * children. */
void sandbox_protect(void);

/* Confines this process before it loads a student's code, for good. Afterwards it can create no process,
 * signal none, write no file, and read only the folder, which becomes the working directory, and the
 * system's libraries. `interpreter` (NULL: none) lists further paths that can be read, one a line; then this process may
 * become another program. */
void sandbox_enter(const char *folder, const char *interpreter);

/* Hides files, a list that ends with NULL, from this process and its children: they read as empty. For the
 * compiler of a student's file. */
void sandbox_hide(const char *const *files);

/* Whether this system confines files, and processes. */
bool sandbox_has_files(void);
bool sandbox_has_processes(void);

/* The path by which an open file is loaded, even after its name is removed; NULL: this system has none. */
const char *sandbox_open_path(int file);

#endif
