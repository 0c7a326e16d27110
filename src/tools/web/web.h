/* The modules of the web page. The worker (worker.js) calls their entry points, which read texts from files in memory
 * and print their result as JSON on stdout, then `end`, which prints the error. */
#pragma once

#include "base/error.h"
#include "base/real.h"
#include <stddef.h>

/* Bytes of memory that a module may have: the linker's --max-memory. */
#define WEB_MEMORY (1024.0 * 1024 * 1024)

/* The head of a function that the worker calls by its name: WEB_EXPORT(void, step, (int n)) { … } */
#define WEB_EXPORT(type, name, arguments)                                                          \
    type web_##name arguments;                                                                     \
    __attribute__((export_name(#name))) type web_##name arguments

/* The error of the entry point that runs. */
extern Error web_error;

/* Contents of a file, with a NUL behind them; NULL: there is none. */
char *web_file_data(const char *path);
size_t web_file_size(const char *path);

/* A member of a JSON object behind others, `, "name": …`: a number (null where it is not finite), a text, numbers. */
void web_print_number(const char *name, double x);
void web_print_text(const char *name, const char *text);
void web_print_numbers(const char *name, const real *x, long count);
