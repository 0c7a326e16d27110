/* The start of a program, and the programs' names: ./train in the source tree, tapeformer-train once
 * installed. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stddef.h>

/* Takes the program's name from argv[0], and opens closed standard files. */
void program_start(const char *argv0);

/* "tapeformer-" for an installed program, otherwise "". */
const char *program_prefix(void);

/* The command that starts another of the programs: "./generate", or "tapeformer-generate". */
enum { PROGRAM_COMMAND = 32 };
const char *program_command(const char *program, char out[PROGRAM_COMMAND]);

/* Prints a text, in which programs are called ./NAME, on stdout. */
void program_print(const char *text, size_t length);

#endif
