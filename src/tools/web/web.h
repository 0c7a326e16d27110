/* The modules of the web page. The worker (worker.js) calls their entry points, which read texts
 * from files in memory and print their result as JSON on stdout, then `end`, which prints the
 * error. */
#pragma once

#include "formats/json.h"

/* Bytes of memory that a module may have: the linker's --max-memory. */
#define WEB_MEMORY (1024.0 * 1024 * 1024)

/* The head of a function that the worker calls by its name: WEB_EXPORT(void, step, (int n)) {…} */
#define WEB_EXPORT(type, name, arguments)                                                          \
    type web_##name arguments;                                                                     \
    __attribute__((export_name(#name))) type web_##name arguments

/* The error of the entry point that runs. */
extern Error web_error;

/* Contents of a file, with a NUL behind them; NULL: there is none. */
char *web_file_data(const char *path);
size_t web_file_size(const char *path);
