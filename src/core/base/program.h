/* The start of a program, and the programs' names: ./train in the source tree, tapeformer-train
 * once installed. */
#pragma once

#include "base/error.h"
#include <stddef.h>

#define TAPEFORMER_VERSION "0.1.0"

/* Takes the program's name from argv[0], opens closed standard files, and checks the stack:
 * STATUS_NO_MEMORY. */
bool program_start(const char *argv0, Error *e);

/* "tapeformer-" for an installed program, otherwise "". */
const char *program_prefix(void);

/* The command that starts another of the programs: "./generate", or "tapeformer-generate". */
enum { PROGRAM_COMMAND = 32 };
const char *program_command(const char *program, char out[PROGRAM_COMMAND]);

/* The words as one command for a shell, quoted where it would otherwise change them. The caller
 * frees it; NULL with STATUS_NO_MEMORY. */
char *shell_command(int argc, char *const *argv, Error *e);

/* Prints a text, in which programs are called ./NAME, on stdout. */
void program_print(const char *text, size_t length);
